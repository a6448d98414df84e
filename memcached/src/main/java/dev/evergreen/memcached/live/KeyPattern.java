package dev.evergreen.memcached.live;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The keys of a view: text with names in braces, such as {@code timeline:{user}}. A name stands for
 * one byte or more: as few as possible, but all that is left at the end.
 */
final class KeyPattern {

  private static final Pattern NAME = Pattern.compile("\\{([a-zA-Z][a-zA-Z0-9_]*)}");

  private final String text;
  private final byte[] prefix;
  private final Pattern pattern;
  private final List<String> names = new ArrayList<>();

  /**
   * @throws IllegalArgumentException if the pattern has a brace that names nothing, no text before
   *     its first name, two names without text between them, or a name twice
   */
  KeyPattern(String text) {
    this.text = text;
    var regex = new StringBuilder();
    int end = 0;
    for (var name = NAME.matcher(text); name.find(); end = name.end()) {
      regex.append(literal(end, name.start())).append("(.+?)");
      add(name);
    }
    int first = names.isEmpty() ? text.length() : text.indexOf('{');
    if (end < text.length() || text.isEmpty()) {
      regex.append(literal(end, text.length()));
    }
    this.prefix = text.substring(0, first).getBytes(StandardCharsets.UTF_8);
    this.pattern = Pattern.compile(regex.toString(), Pattern.DOTALL);
  }

  private void add(Matcher name) {
    if (names.contains(name.group(1))) {
      throw wrong("names " + name.group(1) + " twice");
    }
    names.add(name.group(1));
  }

  private String literal(int from, int to) {
    var literal = text.substring(from, to);
    if (literal.isEmpty()) {
      throw wrong(
          from == 0 ? "begins with no text of its own" : "has no text between two of its names");
    }
    if (literal.indexOf('{') >= 0 || literal.indexOf('}') >= 0) {
      throw wrong("has a brace that belongs to no name");
    }
    if (literal.chars().anyMatch(c -> c <= ' ' || c == 0x7f)) {
      throw wrong("has a blank or a control character, which keys have not");
    }
    return Pattern.quote(literal);
  }

  private IllegalArgumentException wrong(String how) {
    return new IllegalArgumentException(
        "The key pattern '%s' %s; it should look like timeline:{user}".formatted(text, how));
  }

  /** Whether a key may be one of these; says no to most others, at little cost. */
  boolean mayMatch(MemorySegment key) {
    if (key.byteSize() < prefix.length) {
      return false;
    }
    for (int i = 0; i < prefix.length; i++) {
      if (key.get(JAVA_BYTE, i) != prefix[i]) {
        return false;
      }
    }
    return true;
  }

  /** What the names stand for in a key, by name; nothing if the key is none of these. */
  Optional<Map<String, String>> match(String key) {
    var matcher = pattern.matcher(key);
    if (!matcher.matches()) {
      return Optional.empty();
    }
    var values = new LinkedHashMap<String, String>();
    for (int i = 0; i < names.size(); i++) {
      values.put(names.get(i), matcher.group(i + 1));
    }
    return Optional.of(values);
  }

  @Override
  public String toString() {
    return text;
  }
}
