package dev.evergreen.fibers;

import com.sun.management.HotSpotDiagnosticMXBean;
import dev.evergreen.fibers.BufferQueue.Turn;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.concurrent.ConcurrentLinkedDeque;
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

  /** So long who waits for one leaves others in peace. */
  private static final long GRACE_NANOS = 1_000_000_000;

  /** So long it waits at most. */
  private static final long PATIENCE_NANOS = 3 * GRACE_NANOS;

  /** As long after one has ended its wait so, the next one may; and so often they look. */
  private static final long APART_NANOS = GRACE_NANOS / 10;

  /** While there is a limit, all buffers but those that were ready before. */
  private static final BufferQueue QUEUE = new BufferQueue(count, Buffers::allocate);

  /** While there is a limit: those that hold one for a peer that does not read. */
  static final SlowPeers BLOCKED_WRITERS = new SlowPeers();

  /** The last given back is taken first, as it may still be in the core's cache. */
  private final ArrayDeque<ByteBuffer> free = new ArrayDeque<>();

  Buffers() {}

  private static final LinkedBlockingDeque<ByteBuffer> SHARED = new LinkedBlockingDeque<>(KEPT);

  /**
   * Those that are left to the garbage collector. Whoever would make one takes one of them as long
   * as it is there: it has its memory, and there may be none for another one until the collector
   * has been waited for.
   */
  private static final ConcurrentLinkedDeque<WeakReference<ByteBuffer>> LEFT =
      new ConcurrentLinkedDeque<>();

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
   * Lends an empty one, of the current processor's if there is one. Where there is a {@linkplain
   * #limit limit} it may wait for one.
   *
   * @throws UncheckedIOException if none was given back in time; its cause tells more
   */
  public static Loan borrow() {
    try {
      var ready = ready();
      return new Loan(ready != null ? ready : more(false, null));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Like {@link #borrow}, for what goes on at a connection, whose end ends the wait. */
  static Loan lend(Connection at) throws IOException {
    var ready = ready();
    return new Loan(ready != null ? ready : more(true, at.wire()));
  }

  private static ByteBuffer more(boolean goesOn, @Nullable Connection wire) throws IOException {
    if (!limited()) {
      return oneMore();
    }
    var turn = new Turn(goesOn, wire);
    QUEUE.enter(turn);
    var given = turn.given();
    return given != null ? given : await(turn);
  }

  private static ByteBuffer await(Turn turn) throws IOException {
    var scope = CancelScope.current();
    Runnable wake = turn::wake;
    if (scope != null) {
      scope.begin(wake);
    }
    try {
      await(turn, scope, System.nanoTime());
    } catch (IOException e) {
      var late = QUEUE.leave(turn);
      if (late != null) {
        QUEUE.give(late);
      }
      throw e;
    } finally {
      if (scope != null) {
        scope.end(wake);
      }
    }
    return Objects.requireNonNull(turn.given());
  }

  private static void await(Turn turn, CancelScope.@Nullable Bound scope, long began)
      throws IOException {
    while (turn.given() == null) {
      if (turn.wire != null) {
        turn.wire.checkNotClosed();
      }
      if (scope != null) {
        scope.checkWait("borrow a buffer");
      }
      long now = System.nanoTime();
      if (now - began >= PATIENCE_NANOS && QUEUE.mayEnd(now, APART_NANOS)) {
        throw new BuffersExhaustedException(QUEUE.limit());
      }
      if (now - began >= GRACE_NANOS) {
        BLOCKED_WRITERS.hangUp(QUEUE.waiting(), Duration.ofNanos(GRACE_NANOS), Long.MAX_VALUE);
        QUEUE.lookAgain(); // There may be memory by now that was refused.
      }
      long next = now - began < GRACE_NANOS ? began + GRACE_NANOS : now + APART_NANOS;
      long until = scope != null && scope.until() - next < 0 ? scope.until() : next;
      if (!turn.await(until)) {
        if (turn.wire != null) {
          turn.wire.close();
        }
        throw new ClosedByInterruptException();
      }
    }
  }

  static boolean limited() {
    return QUEUE.limited();
  }

  /** A connection was closed: nobody waits for its sake any more. */
  static void closed(Connection wire) {
    if (QUEUE.waiting() > 0) {
      QUEUE.wake(wire);
    }
  }

  /** Lends one in any case, for what has to be kept. */
  static Loan lendAnyway() {
    var ready = ready();
    return new Loan(ready != null ? ready : oneMore());
  }

  /**
   * It counts before it is there, as the JVM may wait for memory: many could begin meanwhile who
   * are told that there are few.
   */
  private static ByteBuffer oneMore() {
    count.incrementAndGet();
    try {
      var left = left();
      return left != null ? left : allocate();
    } catch (Throwable e) {
      count.decrementAndGet();
      throw e;
    }
  }

  /** One that the garbage collector has not come for yet; null if there is none. */
  private static @Nullable ByteBuffer left() {
    for (var ref = LEFT.pollFirst(); ref != null; ref = LEFT.pollFirst()) {
      var buffer = ref.get();
      if (buffer != null) {
        return buffer.clear();
      }
    }
    return null;
  }

  private static void leave(ByteBuffer buffer) {
    count.decrementAndGet();
    LEFT.addFirst(new WeakReference<>(buffer));
    // The collector takes all at once: so no more places are kept than there were buffers.
    for (var last = LEFT.peekLast(); last != null && last.refersTo(null); last = LEFT.peekLast()) {
      LEFT.removeLastOccurrence(last);
    }
  }

  /** Of a processor that has ended. */
  void discard() {
    count.addAndGet(-free.size());
    free.clear();
    QUEUE.lookAgain();
  }

  private static @Nullable ByteBuffer ready() {
    var processor = Processor.current();
    var buffer = processor == null ? SHARED.pollFirst() : processor.buffers().free.pollFirst();
    return buffer == null ? null : buffer.clear();
  }

  /**
   * Limits how many there may be in this process, lent and lying ready together; by default there
   * is no limit. To be called at the start: what lies ready at a processor by then is for that one
   * only.
   *
   * <p>Who needs one beyond the limit waits, and those that wait come in the order of their coming.
   * A quarter is for output and the like, whose fibers may hold one already. After a second those
   * connections are closed whose writers have waited for their peers for as long, the slowest
   * first. After three seconds who still waits, be it because all hold one and wait for another,
   * gets a {@link BuffersExhaustedException}: one in a tenth of a second, the one that has waited
   * longest first, so that what it held goes to the others. {@link CancelScope}s end the wait, and
   * so does closing the connection that is written or read.
   *
   * @throws IllegalArgumentException if it is less than 1
   */
  public static void limit(int most) {
    if (most < 1) {
      throw new IllegalArgumentException("at least 1 buffer must be allowed, not " + most);
    }
    QUEUE.limit(most);
  }

  /** How many fibers wait for one, as there may be no more of them. */
  public static int waiting() {
    return QUEUE.waiting();
  }

  /** How many there are in this process, lent and lying ready together. */
  public static int count() {
    return count.get();
  }

  /** For how many of them the JVM has memory, if nothing else takes any of that kind. */
  public static int capacity() {
    var bean = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
    long set = Long.parseLong(bean.getVMOption("MaxDirectMemorySize").getValue());
    long bytes = set != 0 ? set : Runtime.getRuntime().maxMemory();
    return Math.clamp(bytes / SIZE, 1, Integer.MAX_VALUE);
  }

  /** With an arena of its own: else a segment of it would make one each time. */
  private static ByteBuffer allocate() {
    var memory = Arena.ofAuto().allocate(SIZE);
    return memory.asByteBuffer();
  }

  private static void giveBack(ByteBuffer buffer) {
    if (limited()) {
      QUEUE.give(buffer);
      return;
    }
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
      leave(buffer);
    }
  }
}
