package dev.evergreen.pages;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The files of a page for operators: its own, from the class path, and those that all such pages
 * share ({@code page.css}, {@code page.js}, {@code icon.svg}). All are to be served side by side,
 * since scripts import each other by names without a path. There are no others.
 */
public final class PageFiles {

  /**
   * What every file is to be sent with as {@code Content-Security-Policy}: nothing inline, nothing
   * from elsewhere, no frames around it.
   */
  public static final String CONTENT_SECURITY_POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
          + " img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

  private static final List<String> SHARED = List.of("page.css", "page.js", "icon.svg");

  private static final Map<String, String> TYPES =
      Map.of(
          "html", "text/html;charset=utf-8",
          "css", "text/css;charset=utf-8",
          "js", "text/javascript;charset=utf-8",
          "svg", "image/svg+xml");

  /**
   * A file.
   *
   * @param contentType as of HTTP, with its charset
   * @param text to be sent as UTF-8
   */
  public record PageFile(String contentType, String text) {}

  private final Map<String, PageFile> files = new HashMap<>();

  private PageFiles() {}

  /**
   * The shared files and those named, which are read now.
   *
   * @param anchor a class in whose package the page's own files lie as resources
   * @param names such as {@code index.html}; HTML, CSS, JavaScript or SVG
   * @throws IllegalStateException if one is missing
   */
  public static PageFiles of(Class<?> anchor, String... names) {
    var made = new PageFiles();
    SHARED.forEach(name -> made.add(PageFiles.class, name));
    List.of(names).forEach(name -> made.add(anchor, name));
    return made;
  }

  /** The file of this name, which is compared as it is. */
  public Optional<PageFile> find(String name) {
    return Optional.ofNullable(files.get(name));
  }

  private void add(Class<?> anchor, String name) {
    var type = TYPES.get(name.substring(name.lastIndexOf('.') + 1));
    if (type == null) {
      throw new IllegalArgumentException(
          "A page's files end with one of " + TYPES.keySet() + ", not as " + name + ".");
    }
    files.put(name, new PageFile(type, read(anchor, name)));
  }

  private static String read(Class<?> anchor, String name) {
    try (var in = anchor.getResourceAsStream(name)) {
      if (in == null) {
        throw new IllegalStateException(
            "The resource " + name + " of " + anchor.getPackageName() + " is missing.");
      }
      return new String(in.readAllBytes(), UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException("The resource " + name + " cannot be read.", e);
    }
  }
}
