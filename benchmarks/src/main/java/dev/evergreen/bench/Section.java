package dev.evergreen.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A part of a document that is written by a program, between two marks. */
final class Section {

  private final Path file;
  private final String begin;
  private final String end;

  private Section(Path file, String name) {
    this.file = file;
    this.begin = "<!-- begin " + name + " -->\n";
    this.end = "<!-- end " + name + " -->";
  }

  /**
   * Finds it.
   *
   * @throws IOException if there is no such file, or the marks are not in it
   */
  static Section of(Path file, String name) throws IOException {
    var section = new Section(file, name);
    section.split(Files.readString(file));
    return section;
  }

  /**
   * Finds it in one of a folder's pages.
   *
   * @throws IOException if no page has the marks
   */
  static Section in(Path folder, String name) throws IOException {
    try (var pages = Files.newDirectoryStream(folder, "*.md")) {
      for (var page : pages) {
        var section = new Section(page, name);
        if (Files.readString(page).contains(section.begin)) {
          return of(page, name);
        }
      }
    }
    throw new IOException(
        "no page of %s has a place for the table: put the lines '<!-- begin %s -->' and '<!-- end %s -->' where it shall be"
            .formatted(folder, name, name));
  }

  private String[] split(String document) throws IOException {
    int from = document.indexOf(begin);
    int to = document.indexOf(end, Math.max(from, 0));
    if (from < 0 || to < 0) {
      throw new IOException(
          "%s has no place for the table: put the lines '%s' and '%s' where it shall be"
              .formatted(file, begin.strip(), end));
    }
    return new String[] {document.substring(0, from + begin.length()), document.substring(to)};
  }

  /** Writes it anew; the rest of the document stays. */
  void replace(String text) throws IOException {
    var around = split(Files.readString(file));
    Files.writeString(file, around[0] + "\n" + text.strip() + "\n\n" + around[1]);
  }
}
