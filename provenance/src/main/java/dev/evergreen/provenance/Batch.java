package dev.evergreen.provenance;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Requests, or replies, that lie one after the other in a buffer and are recorded {@linkplain
 * Spool#requests together}. To be used by one thread at a time.
 */
public final class Batch {
  private ByteBuffer bytes = ByteBuffer.allocate(0);
  private int from;
  private int[] ends = new int[64];
  private int count;

  /** Empty. */
  public Batch() {}

  /** Is empty from now on, and begins at a place of a buffer. */
  public void begin(ByteBuffer bytes, int at) {
    this.bytes = bytes;
    from = at;
    count = 0;
  }

  /** Adds what is between the end of the last one and here. */
  public void add(int end) {
    if (count == ends.length) {
      ends = Arrays.copyOf(ends, 2 * count);
    }
    ends[count++] = end;
  }

  /** Keeps only so many of the first ones. */
  public void cut(int count) {
    this.count = count;
  }

  /** How many there are. */
  public int count() {
    return count;
  }

  /** The buffer that they lie in. */
  public ByteBuffer bytes() {
    return bytes;
  }

  /** Where the first one begins. */
  public int from() {
    return from;
  }

  /** Where the last one ends. */
  public int to() {
    return count == 0 ? from : ends[count - 1];
  }

  /** Where one of them begins. */
  public int start(int index) {
    return index == 0 ? from : ends[index - 1];
  }

  /** Where one of them ends. */
  public int end(int index) {
    return ends[index];
  }

  /** How many bytes they have together. */
  public int length() {
    return to() - from;
  }
}
