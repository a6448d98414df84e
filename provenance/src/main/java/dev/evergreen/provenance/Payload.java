package dev.evergreen.provenance;

import org.jspecify.annotations.Nullable;

/**
 * The body of a request or reply on its way into the store.
 *
 * @param content all of it; of one that is too large to be kept, the beginning
 * @param length of all of it, in bytes
 * @param hash of all of it by SHA-256; null if it is in its row whole, or not known
 */
record Payload(Bytes content, long length, byte @Nullable [] hash) {
  /** Longer ones are not in the row, but in the table of bodies by their hash. */
  static final int LARGEST_IN_ROW = 64 << 10;

  /** So much of what is too large to be kept is in its row. */
  static final int HEAD = 4 << 10;

  static final Payload NONE = new Payload(Bytes.EMPTY, 0, null);

  static Payload of(byte[] content) {
    var hash = content.length <= LARGEST_IN_ROW ? null : SpooledBody.sha256().digest(content);
    return new Payload(Bytes.of(content), content.length, hash);
  }

  /** One that came in pieces, of which only the first are there if it was too large. */
  static Payload of(byte[] pieces, long length, byte[] hash) {
    boolean whole = length <= pieces.length;
    return new Payload(Bytes.of(pieces), length, whole && length <= LARGEST_IN_ROW ? null : hash);
  }

  /** The same with another content, of which the length and hash are its own. */
  Payload with(Bytes other) {
    if (other.equals(content)) {
      return this;
    }
    return cut()
        ? new Payload(other, Math.max(length, other.length() + 1L), null)
        : of(other.toArray());
  }

  /**
   * The same as it is kept: if something is missing, the beginning.
   *
   * @param seen how many bytes of it there were for the rules that hide some: the beginning of what
   *     they hide may have been the last of these, and is not kept
   */
  Payload kept(int seen) {
    if (!cut()) {
      return this;
    }
    int there = seen > 2 * HEAD ? Math.max(0, content.length() - HEAD) : content.length();
    int beginning = Math.min(HEAD, there);
    return beginning == content.length()
        ? this
        : new Payload(content.slice(0, beginning), length, hash);
  }

  /** Whether only the beginning is there. */
  boolean cut() {
    return content.length() < length;
  }

  /** Whether it belongs to the table of bodies. */
  boolean apart() {
    return hash != null && content.length() == length;
  }

  /** What is in the row: all of it, its beginning, or nothing. */
  byte @Nullable [] inRow() {
    return apart() ? null : content.toArray();
  }
}
