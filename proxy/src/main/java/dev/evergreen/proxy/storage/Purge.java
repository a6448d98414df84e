package dev.evergreen.proxy.storage;

import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;

/**
 * What is to be purged: a URI with all its variants, all that has a tag, or all whose key begins
 * with a prefix.
 *
 * @param kind what the bytes are
 * @param bytes the key, the tag or the prefix
 * @param soft whether it is kept as stale
 */
public record Purge(Kind kind, MemorySegment bytes, boolean soft) {
  /** By what. */
  public enum Kind {
    URI,
    TAG,
    PREFIX
  }

  /** All variants of a key. */
  public static Purge uri(MemorySegment key) {
    return new Purge(Kind.URI, key, false);
  }

  /** All that was stored with the tag. */
  public static Purge tag(String tag) {
    var bytes = MemorySegment.ofArray(tag.getBytes(StandardCharsets.UTF_8));
    return new Purge(Kind.TAG, bytes, false);
  }

  /** All whose key begins with these bytes; all there is, if there are none. */
  public static Purge prefix(MemorySegment prefix) {
    return new Purge(Kind.PREFIX, prefix, false);
  }

  /** The same, but the responses are kept as stale. */
  public Purge softly() {
    return new Purge(kind, bytes, true);
  }
}
