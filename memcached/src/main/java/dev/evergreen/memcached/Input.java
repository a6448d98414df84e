package dev.evergreen.memcached;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.Connection;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * What a connection has received and not yet used up, in a buffer on loan; while the connection
 * waits, what is left of it lies in an array of just its length.
 */
final class Input {
  static final byte[] NOTHING = {};

  private @Nullable Connection connection;
  private Buffers.@Nullable Loan loan;

  /** The bytes; those from {@link #at} to {@link #end} are to be used. */
  MemorySegment memory = MemorySegment.NULL;

  int at;
  int end;

  /** Borrows a buffer for what a connection sends, and begins it with what was left. */
  void open(Connection connection, byte[] rest) {
    var borrowed = Buffers.borrow();
    this.connection = connection;
    loan = borrowed;
    memory = MemorySegment.ofBuffer(borrowed.buffer());
    MemorySegment.copy(rest, 0, memory, JAVA_BYTE, 0, rest.length);
    at = 0;
    end = rest.length;
  }

  /**
   * Receives what is there, without waiting.
   *
   * @return how many bytes, or -1 if there will be no more
   */
  int fill() throws IOException {
    if (loan == null || connection == null) {
      throw new IllegalStateException("the input is not open");
    }
    var into = loan.buffer();
    if (at > 0) {
      MemorySegment.copy(memory, at, memory, 0, end - at);
      end -= at;
      at = 0;
    }
    int n = connection.tryRead(into.limit(Buffers.SIZE).position(end));
    end += Math.max(0, n);
    return n;
  }

  /** Gives the buffer back, and answers what is left. */
  byte[] close() {
    var rest = NOTHING;
    if (at < end) {
      rest = new byte[end - at];
      MemorySegment.copy(memory, JAVA_BYTE, at, rest, 0, rest.length);
    }
    if (loan != null) {
      loan.close();
    }
    connection = null;
    loan = null;
    memory = MemorySegment.NULL;
    return rest;
  }

  int available() {
    return end - at;
  }

  byte byteAt(int index) {
    return memory.get(JAVA_BYTE, index);
  }

  /** Takes bytes out of the middle. */
  void remove(int from, int bytes) {
    MemorySegment.copy(memory, from + bytes, memory, from, end - from - bytes);
    end -= bytes;
  }

  private static final ValueLayout.OfLong WORD =
      JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final long ONES = 0x0101010101010101L;
  private static final long HIGHS = 0x8080808080808080L;

  /** Where a byte first is, or {@code to} if it is not before that. Looks at eight at a time. */
  static int find(MemorySegment memory, byte wanted, int from, int to) {
    int i = from;
    for (; i + 8 <= to; i += 8) {
      long word = memory.get(WORD, i) ^ (ONES * wanted);
      long zeros = (word - ONES) & ~word & HIGHS;
      if (zeros != 0) {
        return i + (Long.numberOfTrailingZeros(zeros) >>> 3);
      }
    }
    while (i < to && memory.get(JAVA_BYTE, i) != wanted) {
      i++;
    }
    return i;
  }
}
