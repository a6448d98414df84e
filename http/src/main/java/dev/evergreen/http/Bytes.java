package dev.evergreen.http;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Looks for bytes, eight at a time. */
final class Bytes {
  private static final VarHandle WORD =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long ONES = 0x0101010101010101L;
  private static final long HIGHS = 0x8080808080808080L;

  private Bytes() {}

  /** Where a byte first is, or {@code to} if it is not before that. */
  static int find(ByteBuffer in, byte wanted, int from, int to) {
    int i = from;
    for (; i + 8 <= to; i += 8) {
      long word = (long) WORD.get(in, i) ^ (ONES * wanted);
      long zeros = (word - ONES) & ~word & HIGHS;
      if (zeros != 0) {
        return i + (Long.numberOfTrailingZeros(zeros) >>> 3);
      }
    }
    while (i < to && in.get(i) != wanted) {
      i++;
    }
    return i;
  }
}
