package dev.evergreen.fibers;

import java.lang.foreign.Arena;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.concurrent.LinkedBlockingDeque;
import org.jspecify.annotations.Nullable;

/**
 * Buffers of native memory, 64 KiB each, on loan. Each processor has some lying ready, used by what
 * runs on it only; threads that run on none share some. A fiber should hold one only while it
 * works, not while it waits: with many connections that is what their memory would go to.
 */
public final class Buffers {

  /** Of each buffer, in bytes: the most that leaves in one write. */
  public static final int SIZE = 64 << 10;

  /** More of them are left to the garbage collector. */
  private static final int KEPT = 64;

  /** The last given back is taken first, as it may still be in the core's cache. */
  private final ArrayDeque<ByteBuffer> free = new ArrayDeque<>();

  Buffers() {}

  private static final LinkedBlockingDeque<ByteBuffer> SHARED = new LinkedBlockingDeque<>(KEPT);

  /**
   * A buffer that was lent to one borrower. Closing gives it back, on whichever processor; who did
   * so must not touch it any more, as another one may have it. Only the first close counts, so that
   * no buffer is ever lent to two.
   */
  public static final class Loan implements AutoCloseable {
    private static final VarHandle BUFFER;

    static {
      try {
        BUFFER = MethodHandles.lookup().findVarHandle(Loan.class, "buffer", ByteBuffer.class);
      } catch (ReflectiveOperationException e) {
        throw new ExceptionInInitializerError(e);
      }
    }

    private @Nullable ByteBuffer buffer;

    private Loan(ByteBuffer buffer) {
      this.buffer = buffer;
    }

    /**
     * The buffer.
     *
     * @throws IllegalStateException if it was given back
     */
    public ByteBuffer buffer() {
      var lent = buffer;
      if (lent == null) {
        throw new IllegalStateException("the buffer was given back");
      }
      return lent;
    }

    @Override
    public void close() {
      if (BUFFER.getAndSet(this, (ByteBuffer) null) instanceof ByteBuffer lent) {
        giveBack(lent);
      }
    }
  }

  /** Lends an empty one, of the current processor's if there is one. */
  public static Loan borrow() {
    var processor = Processor.current();
    var buffer = processor == null ? SHARED.pollFirst() : processor.buffers().free.pollFirst();
    return new Loan(buffer != null ? buffer.clear() : allocate());
  }

  /** With an arena of its own: else a segment of it would make one each time. */
  private static ByteBuffer allocate() {
    return Arena.ofAuto().allocate(SIZE).asByteBuffer();
  }

  private static void giveBack(ByteBuffer buffer) {
    var processor = Processor.current();
    if (processor == null) {
      var _ = SHARED.offerFirst(buffer);
    } else if (processor.buffers().free.size() < KEPT) {
      processor.buffers().free.addFirst(buffer);
    }
  }
}
