package dev.evergreen.fibers;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
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

  private static final Duration PATIENCE = Duration.ofSeconds(5);

  private static volatile long patienceNanos = PATIENCE.toNanos();

  /** Who waits for one looks so often whether there is one without that one was given back. */
  private static final long LOOK_MILLIS = 10;

  /** Its permit is that to be the first of those who wait. */
  private static final Semaphore QUEUE = new Semaphore(1, true);

  /** Somebody waits: what is given back is his, on whichever processor. */
  private static volatile boolean wanted;

  /** Those who keep one that their peers do not take, as long as there is a limit. */
  private static final SlowPeers BLOCKED_WRITERS = new SlowPeers();

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

  /**
   * Lends an empty one, of the current processor's if there is one. At the {@linkplain #limit
   * limit} it waits for one.
   */
  public static Loan borrow() {
    try {
      return lend();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Like {@link #borrow}, for those who can throw what is the matter. */
  static Loan lend() throws IOException {
    var buffer = readyOrNew();
    return new Loan(buffer != null ? buffer : await());
  }

  private static @Nullable ByteBuffer readyOrNew() {
    var ready = ready();
    if (ready == null && count.incrementAndGet() > limit) {
      count.decrementAndGet();
      return null;
    }
    return ready != null ? ready : allocate();
  }

  /**
   * Waits until one is given back, in the order of those who came. The first in the queue has only
   * a part of the time: if all who have a buffer wait for another one, he is refused and gives his
   * back while the others still wait.
   */
  private static ByteBuffer await() throws IOException {
    // A carrier runs no fiber at present, and has others to run.
    if (Thread.currentThread() instanceof Carrier) {
      throw new BuffersExhaustedException(limit);
    }
    long now = System.nanoTime();
    var scope = CancelScope.current();
    long until = now + patienceNanos;
    if (scope != null && scope.limited()) {
      until = Nanos.earlier(until, scope.until());
    }
    try {
      if (QUEUE.tryAcquire(until - now, TimeUnit.NANOSECONDS)) {
        try {
          return awaitAsFirst(Nanos.earlier(until, System.nanoTime() + patienceNanos / 4));
        } finally {
          wanted = false;
          QUEUE.release();
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw (IOException) new InterruptedIOException("interrupted amid a wait").initCause(e);
    }
    CancelScope.check("have a buffer");
    throw new BuffersExhaustedException(limit);
  }

  private static ByteBuffer awaitAsFirst(long until) throws IOException, InterruptedException {
    wanted = true;
    do {
      CancelScope.check("have a buffer");
      var buffer = readyOrNew();
      if (buffer == null) {
        var _ = BLOCKED_WRITERS.hangUp(1, Duration.ofNanos(patienceNanos / 8), Long.MAX_VALUE);
        buffer = SHARED.pollFirst(LOOK_MILLIS, TimeUnit.MILLISECONDS);
      }
      if (buffer != null) {
        return buffer.clear();
      }
    } while (until - System.nanoTime() > 0);
    CancelScope.check("have a buffer");
    throw new BuffersExhaustedException(limit);
  }

  /**
   * Says that a connection's writer waits for its peer, and keeps a buffer; null without a limit.
   */
  static SlowPeers.@Nullable Hold hold(Connection connection) {
    return limit == Integer.MAX_VALUE
        ? null
        : BLOCKED_WRITERS.hold(connection, SlowPeers.Direction.SENDING);
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
   * Limits how many there may be in this process, as {@link #limit(int, Duration)} does, with a
   * patience of 5 seconds. By default there is no limit.
   */
  public static void limit(int most) {
    limit(most, PATIENCE);
  }

  /**
   * Limits how many there may be in this process, lent and lying ready together. Who needs one
   * beyond it waits until one is given back, and not for longer than its {@link CancelScope}
   * allows. Meanwhile the connection is closed whose writer has waited longest for how little its
   * peer takes, one at a time, if that is more than an eighth of the patience: it keeps a buffer.
   * Who has waited in vain gets a {@link BuffersExhaustedException} from reading and writing, and
   * one that has it as its cause from {@link #borrow}.
   *
   * <p>So nobody waits for ever. If all who have a buffer wait for another one, the first of them
   * is refused after a quarter of the patience, and what he gives back is the next one's.
   *
   * <p>Each processor may keep 64 of those ready that others cannot have, so the limit should be
   * well above that.
   *
   * @param patience how long one waits at most
   * @throws IllegalArgumentException if fewer than 1 are allowed
   */
  public static void limit(int most, Duration patience) {
    if (most < 1) {
      throw new IllegalArgumentException("at least 1 buffer must be allowed, not " + most);
    }
    patienceNanos = Nanos.of(patience);
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
    if (processor == null || wanted) {
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
