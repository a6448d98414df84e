package dev.evergreen.proxy.rules;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * An entity tag (RFC 9110 §8.8.3).
 *
 * @param opaque what is between the quotes, and they
 */
public record EntityTag(String opaque, boolean weak) {

  /** Reads one; empty if the text is none. */
  public static Optional<EntityTag> parse(String text) {
    boolean weak = text.startsWith("W/");
    var opaque = weak ? text.substring(2) : text;
    boolean good =
        opaque.length() >= 2
            && opaque.startsWith("\"")
            && opaque.indexOf('"', 1) == opaque.length() - 1
            && opaque.chars().allMatch(c -> c > ' ' && c != 0x7F);
    return good ? Optional.of(new EntityTag(opaque, weak)) : Optional.empty();
  }

  /** Reads the tags of an If-None-Match or If-Match; what is none is passed over. */
  static List<EntityTag> parseList(List<String> lines) {
    var tags = new ArrayList<EntityTag>();
    for (var line : lines) {
      for (int begin = 0; begin < line.length(); ) {
        int open = line.indexOf('"', begin);
        int close = open < 0 ? -1 : line.indexOf('"', open + 1);
        // A tag may contain commas and backslashes, which quote nothing.
        int end = close < 0 ? line.length() : close + 1;
        var text = line.substring(begin, end).replaceFirst("^[\\s,]+", "");
        parse(text).ifPresent(tags::add);
        begin = end;
      }
    }
    return tags;
  }

  /** Whether both are strong and the same (RFC 9110 §8.8.3.2). */
  public boolean equalsStrongly(EntityTag other) {
    return !weak && !other.weak && opaque.equals(other.opaque);
  }

  /** Whether both are the same but for weakness. */
  public boolean equalsWeakly(EntityTag other) {
    return opaque.equals(other.opaque);
  }

  @Override
  public String toString() {
    return weak ? "W/" + opaque : opaque;
  }
}
