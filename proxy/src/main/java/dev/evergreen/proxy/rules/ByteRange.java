package dev.evergreen.proxy.rules;

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

  boolean overlaps(ByteRange other) {
    return first <= other.last && other.first <= last;
  }
}
