package dev.evergreen.proxy.rules;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A part of a body.
 *
 * @param first the position of its first byte
 * @param last that of its last byte
 */
public record ByteRange(long first, long last) {

  /** How many bytes it has. */
  public long length() {
    return last - first + 1;
  }

  /** The value of its Content-Range (RFC 9110 §14.4). */
  public String contentRange(long complete) {
    return "bytes " + first + "-" + last + "/" + complete;
  }

  /**
   * What is missing of it: from the first byte to the last that is in none of the others; null if
   * nothing is.
   */
  public @Nullable ByteRange gap(List<ByteRange> others) {
    long from = first;
    for (var next = at(from, others); next != null && from <= last; next = at(from, others)) {
      from = next.last + 1;
    }
    if (from > last) {
      return null;
    }
    long to = last;
    for (var next = at(to, others); next != null; next = at(to, others)) {
      to = next.first - 1; // It does not pass the first one, which is in none of them.
    }
    return new ByteRange(from, to);
  }

  /** Whether the byte at a position is one of it. */
  public boolean contains(long position) {
    return first <= position && position <= last;
  }

  private static @Nullable ByteRange at(long position, List<ByteRange> ranges) {
    for (var range : ranges) {
      if (range.contains(position)) {
        return range;
      }
    }
    return null;
  }

  boolean overlaps(ByteRange other) {
    return first <= other.last && other.first <= last;
  }
}
