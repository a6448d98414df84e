package dev.evergreen.shims.redis;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Requests that lie one after the other in a buffer, and are to follow each other on one upstream.
 */
final class Batch {
  ByteBuffer bytes = ByteBuffer.allocate(0);
  int from;
  int to;
  int count;
  private int[] ends = new int[64];

  /** Empty, and to begin at a place of a buffer. */
  void begin(ByteBuffer bytes, int at) {
    this.bytes = bytes;
    from = at;
    to = at;
    count = 0;
  }

  /** Adds a request, from where the last one ended to here. */
  void add(int end) {
    if (count == ends.length) {
      ends = Arrays.copyOf(ends, 2 * count);
    }
    ends[count++] = end;
    to = end;
  }

  /** Keeps only so many of the first ones. */
  void cut(int count) {
    this.count = count;
    to = count == 0 ? from : ends[count - 1];
  }

  int start(int index) {
    return index == 0 ? from : ends[index - 1];
  }

  int end(int index) {
    return ends[index];
  }

  int length() {
    return to - from;
  }
}
