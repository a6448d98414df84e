package dev.evergreen.proxy.storage;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * A response to be stored.
 *
 * @param key the bytes of the URI's normalised key, 1 to {@value #MAX_KEY}; copied
 * @param variant what the request was like in the fields that the response varies on, as the proxy
 *     writes it for its {@link Selector}, at most {@value #MAX_VARIANT} bytes; empty if it does not
 *     vary. A response replaces the one of the same key and variant; one that does not vary
 *     replaces all variants, and the first that varies the one that does not. None replaces what
 *     was asked for later.
 * @param head all that the proxy needs to know and to send beside the body, at most {@value
 *     #MAX_HEAD} bytes; kept, not copied, so it must not change
 * @param tags by which it can be purged, at most {@value #MAX_TAGS}
 * @param stamp of before the origin was asked
 * @param length of the body in bytes, or -1 if it is not known
 */
public record Entry(
    MemorySegment key, byte[] variant, byte[] head, List<String> tags, long stamp, long length) {
  public static final int MAX_KEY = 16 << 10;
  public static final int MAX_VARIANT = 4 << 10;
  public static final int MAX_HEAD = 256 << 10;
  public static final int MAX_TAGS = 256;

  /** An entry that does not vary and has no tags. */
  public Entry(MemorySegment key, byte[] head, long stamp, long length) {
    this(key, new byte[0], head, List.of(), stamp, length);
  }

  /**
   * Checks the sizes.
   *
   * @throws IllegalArgumentException if one is out of its range
   */
  public Entry {
    check("key", key.byteSize(), 1, MAX_KEY);
    check("variant", variant.length, 0, MAX_VARIANT);
    check("head", head.length, 0, MAX_HEAD);
    check("number of tags", tags.size(), 0, MAX_TAGS);
    check("length", length, -1, Long.MAX_VALUE);
    tags = List.copyOf(tags);
  }

  static void check(String what, long is, long least, long most) {
    if (is < least || is > most) {
      throw new IllegalArgumentException(
          "the %s is %d; give %d to %d".formatted(what, is, least, most));
    }
  }
}
