package dev.evergreen.fibers;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.LinkedHashSet;
import java.util.SequencedSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The buffers of a process that has a limit for them. Who finds none waits; of those that wait, the
 * first is given the first for which there is room.
 *
 * <p>A quarter of them is only for those that go on with what they have begun. They hold something
 * already and give that back when they get on, so they also come before those that begin.
 *
 * <p>No wake-up is lost: whoever wants one enters its turn, and then all are given what there is;
 * so is it whenever there is more. All that is done under the monitor, in which nobody waits.
 */
final class BufferQueue {

  /** So long nobody asks again for memory of which there was none. */
  private static final long REFUSED_NANOS = 1_000_000_000;

  /** Of somebody who wants a buffer. */
  static final class Turn {
    final boolean goesOn;
    final @Nullable Connection wire;
    private final Gate gate = new Gate();
    private volatile @Nullable ByteBuffer given;

    /**
     * One that has not begun.
     *
     * @param goesOn whether it may hold something already
     * @param wire the connection whose end ends the wait
     */
    Turn(boolean goesOn, @Nullable Connection wire) {
      this.goesOn = goesOn;
      this.wire = wire;
    }

    @Nullable ByteBuffer given() {
      return given;
    }

    /** Has who waits look again; any thread may call it. */
    void wake() {
      gate.open();
    }

    /**
     * Returns at a time at the latest, or when it was woken; false if the thread is interrupted.
     */
    boolean await(long until) {
      return gate.await(until);
    }
  }

  private final AtomicInteger count;
  private final Supplier<ByteBuffer> make;
  private final ArrayDeque<ByteBuffer> ready = new ArrayDeque<>();
  private final LinkedHashSet<Turn> goingOn = new LinkedHashSet<>();
  private final LinkedHashSet<Turn> beginning = new LinkedHashSet<>();

  /** Written under the monitor. */
  private volatile int limit = Integer.MAX_VALUE;

  private volatile int waiting;

  /** When there was no memory for one more, if that was the last answer. */
  private @Nullable Long refusedAt;

  private boolean endedBefore;
  private long ended;

  /**
   * One without a limit.
   *
   * @param count of all that there are, here and elsewhere
   */
  BufferQueue(AtomicInteger count, Supplier<ByteBuffer> make) {
    this.count = count;
    this.make = make;
  }

  int limit() {
    return limit;
  }

  boolean limited() {
    return limit != Integer.MAX_VALUE;
  }

  /** How many wait. */
  int waiting() {
    return waiting;
  }

  synchronized void limit(int most) {
    limit = most;
    hand();
    while (!ready.isEmpty() && (!limited() || count.get() > most)) {
      ready.removeFirst();
      count.decrementAndGet();
    }
  }

  /** From now on it is its turn some time; what it is given may be there at once. */
  synchronized void enter(Turn turn) {
    (turn.goesOn ? goingOn : beginning).add(turn);
    hand();
  }

  /** It waits no more. Answers what it was given all the same. */
  synchronized @Nullable ByteBuffer leave(Turn turn) {
    goingOn.remove(turn);
    beginning.remove(turn);
    hand();
    return turn.given;
  }

  /**
   * Says whether somebody who has lost patience may end its wait. One in a while, so that others
   * can be given first what it held.
   */
  synchronized boolean mayEnd(long now, long apart) {
    boolean may = !endedBefore || now - ended >= apart;
    if (may) {
      endedBefore = true;
      ended = now;
    }
    return may;
  }

  /** One of those that there are is not used any more. */
  synchronized void give(ByteBuffer buffer) {
    if (!limited() || count.get() > limit) {
      count.decrementAndGet();
    } else {
      ready.addFirst(buffer);
    }
    hand();
  }

  /** There may be fewer of them elsewhere. */
  synchronized void lookAgain() {
    hand();
  }

  /** Wakes those that wait for a connection's sake. */
  synchronized void wake(Connection wire) {
    goingOn.stream().filter(turn -> turn.wire == wire).forEach(Turn::wake);
  }

  private void hand() {
    int most = limit;
    handTo(goingOn, most);
    if (goingOn.isEmpty()) {
      handTo(beginning, most - most / 4);
    }
    waiting = goingOn.size() + beginning.size();
  }

  /**
   * Null if there is no memory for it. That must befall neither who gives one nor a turn that is
   * entered, which would stay without anybody who waits: all wait on for those that are given back.
   * As it takes the JVM half a second to say no, in which all others wait for the monitor, it is
   * not asked again for a while.
   */
  private @Nullable ByteBuffer oneMore() {
    if (refusedAt != null && System.nanoTime() - refusedAt < REFUSED_NANOS) {
      return null;
    }
    try {
      var made = make.get();
      count.incrementAndGet();
      refusedAt = null;
      return made;
    } catch (OutOfMemoryError e) {
      refusedAt = System.nanoTime();
      return null;
    }
  }

  private void handTo(SequencedSet<Turn> turns, int most) {
    while (!turns.isEmpty() && count.get() - ready.size() < most) {
      var buffer = ready.isEmpty() ? oneMore() : ready.removeFirst();
      if (buffer == null) {
        return;
      }
      var first = turns.removeFirst();
      first.given = buffer.clear();
      first.wake();
    }
  }
}
