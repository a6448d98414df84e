package dev.evergreen.fibers;

import com.sun.management.HotSpotDiagnosticMXBean;
import dev.evergreen.fibers.BufferQueue.Need;
import dev.evergreen.fibers.BufferQueue.Turn;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Buffers of native memory, 64 KiB each, on loan. Each processor has some lying ready, used by what
 * runs on it only. A fiber should hold one only while it works, not while it waits: with many
 * connections that is what their memory would go to.
 *
 * <p>What lies ready nowhere and is not lent is kept for all. So there are never more than were
 * lent and ready at once: who sees to it that {@link #count} stays below {@link #capacity} never
 * has the JVM look for memory. What was kept for nothing for ten seconds goes back to the garbage
 * collector, an eighth each time. An eighth of the JVM's direct memory is never taken: it is for
 * what else needs some, such as channels of the JDK.
 *
 * <p>Who needs one while all are used waits, and those that wait come in the order of their coming.
 * It may be for a moment only: fibers that hold one each may stand at a lock whose holder has lost
 * its processor. A quarter of them is for output and the like, whose fibers may hold one already.
 * After a second those connections are closed whose writers have waited for their peers for as
 * long, the slowest first. When nobody was given one for three seconds, be it because all hold one
 * and wait for another, one that has waited so long gets a {@link BuffersExhaustedException}, and
 * another one each tenth of a second, so that what it held goes to the others; and who has waited
 * for thirty seconds gets it in any case. {@link CancelScope}s end the wait, and so does closing
 * the connection that is written or read.
 */
public final class Buffers {

  /** Of each buffer, in bytes: the most that leaves in one write. */
  public static final int SIZE = 64 << 10;

  /** What is not needed for so long may go back to the garbage collector. */
  private static final long KEPT_SECONDS = 10;

  /** So many lie ready at a processor. More of them are for all. */
  private static final int KEPT = 64;

  /** Those that are for all. They are asked for when none lies ready, which is rare. */
  private static final BufferStock STOCK =
      new BufferStock(
          Buffers::allocate,
          capacity(),
          CompletableFuture.delayedExecutor(KEPT_SECONDS, TimeUnit.SECONDS, Runnable::run));

  /** So long who waits for one leaves others in peace. */
  private static final long GRACE_NANOS = 1_000_000_000;

  /** So long it waits in vain. */
  private static final long PATIENCE_NANOS = 3 * GRACE_NANOS;

  /** As long after one has ended its wait so, the next one may; and so often they look. */
  private static final long APART_NANOS = GRACE_NANOS / 10;

  /** All buffers but those that lie ready. */
  private static final BufferQueue QUEUE = new BufferQueue(STOCK, capacity(), Buffers::hasMemory);

  /** Those that hold one for a peer that does not read. */
  static final SlowPeers BLOCKED_WRITERS = new SlowPeers();

  /**
   * Of a processor: only what runs there uses it. The last given back is taken first, as it may
   * still be in the core's cache.
   *
   * <p>Invariant: what lies at processors and what is held by those who begin is at most what these
   * may have, so that the rest is for those who go on. For nothing comes here while {@link
   * BufferQueue#isShort}. Nor does anybody wait for what lies here: a processor looks at short
   * intervals whether somebody waits, and also when it has said that it goes to sleep; and who
   * begins to wait says so before it wakes those that sleep.
   */
  private final ArrayDeque<ByteBuffer> free = new ArrayDeque<>();

  Buffers() {}

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
   * Lends an empty one, of the current processor's if there is one. It may wait for one.
   *
   * @throws UncheckedIOException if none was given back in time; its cause tells more
   */
  public static Loan borrow() {
    try {
      var ready = ready();
      return new Loan(ready != null ? ready : more(Need.BEGIN, null));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Like {@link #borrow}, for output that is collected for a connection, by whoever may hold a
   * borrowed one already. The connection's end ends the wait.
   *
   * @throws BuffersExhaustedException if none was given back in time: checked, as who collects
   *     output has more to put in order then than who only begins
   */
  public static Loan borrowToWrite(Connection at) throws IOException {
    return lend(at, Need.WRITE);
  }

  /** Like {@link #borrow}, for what goes on at a connection, whose end ends the wait. */
  static Loan lend(Connection at, Need need) throws IOException {
    var ready = ready();
    return new Loan(ready != null ? ready : more(need, at.wire()));
  }

  private static ByteBuffer more(Need need, @Nullable Connection wire) throws IOException {
    var one = QUEUE.takeOfPlenty();
    if (one == null) {
      one = QUEUE.takeAtOnce(need);
    }
    if (one != null) {
      return one;
    }
    return await(new Turn(need, wire));
  }

  private static ByteBuffer await(Turn turn) throws IOException {
    try {
      QUEUE.enter(turn);
      if (turn.given() == null) {
        QUEUE.make();
      }
      if (turn.given() == null) {
        Processor.wakeThoseWithBuffers();
        await(turn, CancelScope.current());
      }
    } catch (Throwable e) {
      // Whatever it is: what is given to a turn that stays is nobody's any more.
      var late = QUEUE.leave(turn);
      if (late != null) {
        QUEUE.give(late);
      }
      throw e;
    }
    return Objects.requireNonNull(turn.given());
  }

  private static void await(Turn turn, CancelScope.@Nullable Bound scope) throws IOException {
    Runnable wake = turn::wake;
    if (scope != null) {
      scope.begin(wake);
    }
    try {
      await(turn, scope, System.nanoTime());
    } finally {
      if (scope != null) {
        scope.end(wake);
      }
    }
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
      awaitNext(turn, scope, began, System.nanoTime());
      QUEUE.make();
    }
  }

  /** Waits until it is given one, or is to look again. */
  private static void awaitNext(Turn turn, CancelScope.@Nullable Bound scope, long began, long now)
      throws IOException {
    if (now - began >= PATIENCE_NANOS && QUEUE.mayEnd(began, now, PATIENCE_NANOS, APART_NANOS)) {
      throw new BuffersExhaustedException(QUEUE.limit());
    }
    boolean inGrace = now - began < GRACE_NANOS;
    if (!inGrace && QUEUE.maySearch(now, APART_NANOS)) {
      BLOCKED_WRITERS.hangUp(QUEUE.waiting(), Duration.ofNanos(GRACE_NANOS), Long.MAX_VALUE);
    }
    // Memory that was refused tells nobody when it is there.
    long next = inGrace && !QUEUE.refused() ? began + GRACE_NANOS : now + APART_NANOS;
    long until = scope != null && scope.until() - next < 0 ? scope.until() : next;
    if (!turn.await(until)) {
      if (turn.wire != null) {
        turn.wire.close();
      }
      throw new ClosedByInterruptException();
    }
  }

  /** Whether who needs one may have to wait for it. */
  public static boolean areShort() {
    return QUEUE.isShort();
  }

  /** A connection was closed: nobody waits for its sake any more. */
  static void closed(Connection wire) {
    if (QUEUE.waiting() > 0) {
      QUEUE.wake(wire);
    }
  }

  /**
   * Lends one in any case, for what has to be kept.
   *
   * @throws OutOfMemoryError if there is none
   */
  static Loan lendAnyway() {
    var ready = ready();
    if (ready != null) {
      return new Loan(ready);
    }
    try {
      return new Loan(STOCK.take());
    } catch (OutOfMemoryError e) {
      // It was counted for a moment.
      QUEUE.lookAgain();
      throw e;
    }
  }

  /** Of a processor: gives what lies here to those that wait, if any do. */
  void giveIfWanted() {
    if (QUEUE.waiting() > 0) {
      discard();
    }
  }

  /** Of a processor that keeps none from now on. */
  void discard() {
    for (var buffer = free.pollFirst(); buffer != null; buffer = free.pollFirst()) {
      QUEUE.give(buffer);
    }
  }

  /** Whether none lies here: certain only while the processor sleeps. */
  boolean isEmpty() {
    return free.isEmpty();
  }

  private static @Nullable ByteBuffer ready() {
    var processor = Processor.current();
    var buffer = processor == null ? null : processor.buffers().free.pollFirst();
    return buffer == null ? null : buffer.clear();
  }

  /**
   * Limits how many there may be in this process, lent and lying ready together; by default, and at
   * most, it is the {@link #capacity}.
   *
   * @throws IllegalArgumentException if it is less than 1
   */
  public static void limit(int most) {
    if (most < 1) {
      throw new IllegalArgumentException("at least 1 buffer must be allowed, not " + most);
    }
    QUEUE.limit(Math.min(most, capacity()));
    QUEUE.make();
  }

  /** How many fibers wait for one, as there may be no more of them. */
  public static int waiting() {
    return QUEUE.waiting();
  }

  /**
   * How many there are in this process, lent and lying ready together. Beside them there may be as
   * many kept for all as there were more of them at another time.
   */
  public static int count() {
    return STOCK.used();
  }

  /** How many there are, those included that are kept for all. */
  static int made() {
    return STOCK.made();
  }

  /** How many there may be: seven eighths of the JVM's direct memory. */
  public static int capacity() {
    return Math.clamp(Memory.MOST / 8 * 7 / SIZE, 1, Integer.MAX_VALUE);
  }

  /** Whether one more may be made, and the JVM has memory for it without looking for some. */
  private static boolean hasMemory() {
    return STOCK.mayMake()
        && Memory.DIRECT.stream().allMatch(pool -> pool.getTotalCapacity() <= Memory.MOST - SIZE);
  }

  /** The JVM's memory of this kind. */
  private static final class Memory {
    static final List<BufferPoolMXBean> DIRECT =
        ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
            .filter(pool -> pool.getName().equals("direct"))
            .toList();

    /** In bytes. */
    static final long MOST = most();

    private Memory() {}

    private static long most() {
      var bean = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
      long set = Long.parseLong(bean.getVMOption("MaxDirectMemorySize").getValue());
      return set != 0 ? set : Runtime.getRuntime().maxMemory();
    }
  }

  /** With an arena of its own: else a segment of it would make one each time. */
  private static ByteBuffer allocate() {
    var memory = Arena.ofAuto().allocate(SIZE);
    return memory.asByteBuffer();
  }

  private static void giveBack(ByteBuffer buffer) {
    var processor = Processor.current();
    if (processor == null || QUEUE.isShort() || processor.buffers().free.size() >= KEPT) {
      QUEUE.give(buffer);
    } else {
      processor.buffers().free.addFirst(buffer);
    }
  }
}
