package dev.evergreen.settings;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What one file or the environment says. A file has lines {@code key = value}, as {@link
 * Properties} reads them, in UTF-8. In the environment the key {@code max-views} of a prefix such
 * as {@code EVERGREEN_WEB_} is the variable {@code EVERGREEN_WEB_MAX_VIEWS}. Blanks around a value
 * do not belong to it.
 *
 * <p>Whoever takes settings refuses those that it does not know, as they may be misspelt ones.
 * Whatever is refused is named as it was written, with where that was.
 */
public final class Settings {

  private final SortedMap<String, String> values;
  private final String prefix;
  private final String where;

  private Settings(SortedMap<String, String> values, String prefix, String where) {
    this.values = values;
    this.prefix = prefix;
    this.where = where;
  }

  /** Those of a file; one that cannot be read is an {@link UncheckedIOException}. */
  public static Settings of(Path file) {
    var properties = new Properties();
    try (var text = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
      properties.load(text);
    } catch (IOException e) {
      throw new UncheckedIOException("The configuration " + file + " cannot be read: " + e, e);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("The configuration " + file + ": " + e.getMessage(), e);
    }
    var values = new TreeMap<String, String>();
    properties
        .stringPropertyNames()
        .forEach(key -> values.put(key, properties.getProperty(key).strip()));
    return new Settings(values, "", "in " + file);
  }

  /** Those of the variables whose names begin with a prefix. */
  public static Settings of(Map<String, String> environment, String prefix) {
    var values = new TreeMap<String, String>();
    environment.forEach(
        (variable, value) -> {
          if (variable.startsWith(prefix)) {
            var key = variable.substring(prefix.length()).toLowerCase(Locale.ROOT);
            values.put(key.replace('_', '-'), value.strip());
          }
        });
    return new Settings(values, prefix, "in the environment");
  }

  /** The keys that were given, in the order of the alphabet. */
  public SortedSet<String> keys() {
    return Collections.unmodifiableSortedSet(new TreeSet<>(values.keySet()));
  }

  /** The value of a key, or null if it was not given. */
  public @Nullable String get(String key) {
    return values.get(key);
  }

  /** The value of a key that others need. */
  public String needed(String key) {
    var value = values.get(key);
    if (value == null) {
      throw refusal(key, "is missing, which those given need: " + keys(), null);
    }
    return value;
  }

  /**
   * Hands each value to the taker of its key, in the order of the alphabet. A key that has no taker
   * is refused, and so is a value that its taker refuses by an {@link IllegalArgumentException}.
   */
  public void apply(Map<String, Consumer<String>> takers) {
    knowOnly(takers.keySet());
    values.forEach(
        (key, value) -> {
          try {
            takers.getOrDefault(key, _ -> {}).accept(value);
          } catch (IllegalArgumentException e) {
            throw refusal(key, "is '" + value + "': " + e.getMessage(), e);
          }
        });
  }

  /** Refuses keys that are none of these. */
  public void knowOnly(Set<String> known) {
    for (var key : values.keySet()) {
      if (!known.contains(key)) {
        throw refusal(key, "is none of " + String.join(", ", new TreeSet<>(known)), null);
      }
    }
  }

  /** Says what is wrong with a key, by its name as it was written and where that was. */
  public IllegalArgumentException refusal(String key, String what, @Nullable Exception cause) {
    var name = prefix.isEmpty() ? key : prefix + key.toUpperCase(Locale.ROOT).replace('-', '_');
    return new IllegalArgumentException("%s %s %s".formatted(name, where, what), cause);
  }

  /** Reads a whole number. */
  public static int number(String value) {
    try {
      return Integer.parseInt(value);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("it must be a whole number", e);
    }
  }

  /** Reads {@code true} or {@code false}. */
  public static boolean yes(String value) {
    return switch (value) {
      case "true" -> true;
      case "false" -> false;
      default -> throw new IllegalArgumentException("it must be true or false");
    };
  }

  /** Reads what is separated by commas; blanks around them do not count. */
  public static List<String> list(String value) {
    return List.of(value.split("\\s*,\\s*", -1));
  }
}
