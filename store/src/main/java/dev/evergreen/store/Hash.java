package dev.evergreen.store;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.security.SecureRandom;

/**
 * 64-bit hashes of keys: words are mixed by 128-bit products whose halves are folded. The seed is
 * secret, so that clients cannot choose keys that fall into one bucket.
 */
public final class Hash {
  private static final long WORD = 0x9E3779B97F4A7C15L;
  private static final long END = 0xD1B54A32D192ED03L;

  private final long seed;

  /** Hashes with a seed, equal ones for an equal seed. */
  public Hash(long seed) {
    this.seed = seed;
  }

  /** Hashes with a seed that nobody knows. */
  public static Hash random() {
    return new Hash(new SecureRandom().nextLong());
  }

  /** The hash of a range of bytes. */
  public long of(MemorySegment bytes, long at, int length) {
    long hash = seed ^ (length * END);
    int i = 0;
    for (; i + 8 <= length; i += 8) {
      hash = fold(hash ^ bytes.get(JAVA_LONG_UNALIGNED, at + i), WORD);
    }
    long rest = 0;
    for (; i < length; i++) {
      rest = (rest << 8) | (bytes.get(JAVA_BYTE, at + i) & 0xff);
    }
    return fold(fold(hash ^ rest, WORD) ^ seed, END);
  }

  private static long fold(long a, long b) {
    return Math.multiplyHigh(a, b) ^ (a * b) ^ a;
  }
}
