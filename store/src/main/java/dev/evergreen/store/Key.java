package dev.evergreen.store;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.MemorySegment;

/**
 * Where the bytes of a key are. Belongs to one caller, who sets it again for each request; not safe
 * for several threads.
 *
 * <p>The store reads the bytes during a call only and never keeps the reference.
 */
public final class Key {
  /** The most bytes that a key may have. */
  public static final int MAX_LENGTH = 250;

  MemorySegment bytes = MemorySegment.NULL;
  long at;
  int length;
  long hash;

  /** A key that says nothing yet. */
  public Key() {}

  /**
   * Sets the key to a range of bytes.
   *
   * @return this
   * @throws IllegalArgumentException if the length is not 1 to {@value #MAX_LENGTH}
   */
  public Key set(MemorySegment bytes, long at, int length) {
    if (length < 1 || length > MAX_LENGTH) {
      throw new IllegalArgumentException(
          "a key has 1 to " + MAX_LENGTH + " bytes, but this one " + length);
    }
    this.bytes = bytes;
    this.at = at;
    this.length = length;
    return this;
  }

  /** How many bytes the key has. */
  public int length() {
    return length;
  }

  /** The bytes, where they are. */
  public MemorySegment bytes() {
    return bytes.asSlice(at, length);
  }

  /** Whether the same bytes are at another place. */
  boolean equalsAt(MemorySegment other, long otherAt) {
    int i = 0;
    for (; i + 8 <= length; i += 8) {
      if (bytes.get(JAVA_LONG_UNALIGNED, at + i) != other.get(JAVA_LONG_UNALIGNED, otherAt + i)) {
        return false;
      }
    }
    for (; i < length; i++) {
      if (bytes.get(JAVA_BYTE, at + i) != other.get(JAVA_BYTE, otherAt + i)) {
        return false;
      }
    }
    return true;
  }
}
