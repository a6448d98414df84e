package dev.evergreen.http;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * Inputs that a fuzzer has found, one of each kind of outcome: they are tried again in every run. A
 * file of them has a line for each, in which all but ordinary characters are {@code %XX}.
 *
 * <p>With {@code -Devergreen.http.grow=FOLDER} the file there is replaced by one with all that has
 * led to anything new.
 */
final class Corpus {
  private static final String FOLDER = System.getProperty("evergreen.http.grow", "");

  /** Whether what is new is wanted. */
  static final boolean GROWS = !FOLDER.isEmpty();

  private final String name;
  private final List<String> inputs = new ArrayList<>();
  private final Set<String> outcomes = new HashSet<>();

  Corpus(String name) throws IOException {
    this.name = name;
    try (var in = Corpus.class.getResourceAsStream("corpus/" + name)) {
      for (var line :
          new String(Objects.requireNonNull(in, name).readAllBytes(), US_ASCII).lines().toList()) {
        inputs.add(decode(line));
      }
    }
  }

  List<String> inputs() {
    return List.copyOf(inputs);
  }

  /** Something was tried; it is kept if nothing before has led to the same. */
  void tried(String input, String outcome) {
    if (outcomes.add(outcome) && !inputs.contains(input)) {
      inputs.add(input);
    }
  }

  /** Writes what there is, if that is wanted. */
  void save() throws IOException {
    if (GROWS) {
      Files.write(Path.of(FOLDER, name), inputs.stream().map(Corpus::encode).toList(), US_ASCII);
    }
  }

  private static String encode(String input) {
    var line = new StringBuilder();
    input
        .chars()
        .forEach(
            each -> {
              if (each > ' ' && each < 0x7f && each != '%') {
                line.append((char) each);
              } else {
                line.append("%%%02X".formatted(each));
              }
            });
    return line.toString();
  }

  private static String decode(String line) {
    var input = new StringBuilder();
    for (int i = 0; i < line.length(); i++) {
      if (line.charAt(i) == '%') {
        input.append((char) Integer.parseInt(line, i + 1, i + 3, 16));
        i += 2;
      } else {
        input.append(line.charAt(i));
      }
    }
    return input.toString();
  }
}
