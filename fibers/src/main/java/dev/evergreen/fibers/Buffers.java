package dev.evergreen.fibers;

import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.atomic.AtomicInteger;
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

  /** Changes only when one is made or left to the garbage collector, which is rare. */
  private static final AtomicInteger count = new AtomicInteger();

  private static volatile int limit = Integer.MAX_VALUE;

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
    try {
      return lend();
    } catch (BuffersExhaustedException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Like {@link #borrow}, for those who can throw what is the matter. */
  static Loan lend() throws BuffersExhaustedException {
    var ready = ready();
    if (ready == null) {
      int most = limit;
      if (count.incrementAndGet() > most) {
        count.decrementAndGet();
        throw new BuffersExhaustedException(most);
      }
    }
    return new Loan(ready != null ? ready : allocate());
  }

  /** Lends one in any case, for what has to be kept. */
  static Loan lendAnyway() {
    var ready = ready();
    if (ready == null) {
      count.incrementAndGet();
    }
    return new Loan(ready != null ? ready : allocate());
  }

  /** Of a processor that has ended. */
  void discard() {
    count.addAndGet(-free.size());
    free.clear();
  }

  private static @Nullable ByteBuffer ready() {
    var processor = Processor.current();
    var buffer = processor == null ? SHARED.pollFirst() : processor.buffers().free.pollFirst();
    return buffer == null ? null : buffer.clear();
  }

  /**
   * Limits how many there may be in this process, lent and lying ready together; by default there
   * is no limit. Where one is needed beyond it, reading and writing throws a {@link
   * BuffersExhaustedException}, and {@link #borrow} one that has it as its cause. Each processor
   * may keep 64 of those ready that others cannot have, so the limit should be well above that.
   *
   * @throws IllegalArgumentException if it is less than 1
   */
  public static void limit(int most) {
    if (most < 1) {
      throw new IllegalArgumentException("at least 1 buffer must be allowed, not " + most);
    }
    limit = most;
  }

  /** How many there are in this process, lent and lying ready together. */
  public static int count() {
    return count.get();
  }

  /** With an arena of its own: else a segment of it would make one each time. */
  private static ByteBuffer allocate() {
    var memory = Arena.ofAuto().allocate(SIZE);
    return memory.asByteBuffer();
  }

  private static void giveBack(ByteBuffer buffer) {
    var processor = Processor.current();
    boolean kept;
    if (processor == null) {
      kept = SHARED.offerFirst(buffer);
    } else {
      kept = processor.buffers().free.size() < KEPT;
      if (kept) {
        processor.buffers().free.addFirst(buffer);
      }
    }
    if (!kept) {
      count.decrementAndGet();
    }
  }
}
