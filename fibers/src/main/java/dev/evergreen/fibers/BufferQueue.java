package dev.evergreen.fibers;

import java.nio.ByteBuffer;
import java.util.LinkedHashSet;
import java.util.SequencedSet;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The buffers of a process that has a limit for them. Who finds none waits; of those that wait, the
 * first is given the first for which there is room.
 *
 * <p>A quarter of them is only for those that go on with what they have begun. They hold something
 * already and give that back when they get on, so they also come before those that begin.
 *
 * <p>No wake-up is lost: whoever wants one enters its turn, and then all are given what there is;
 * so is it whenever there is more. All that is done under the monitor, in which nobody waits. Only
 * who waits has more of them made, outside of it: when the JVM has little memory it may take half a
 * second to say no, and what others give back meanwhile is handed on. One does so at a time, for
 * all whose turn it is. Who comes meanwhile relies on that one, which looks for more turns when it
 * has one made, and wakes all when there is no memory, so that each looks for itself from then on.
 */
final class BufferQueue {

  /**
   * So long the JVM is not asked again to look for memory when it had none: each time it stops all
   * for a collection. What it has by itself is taken at once.
   */
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

  private final BufferStock stock;
  private final BooleanSupplier hasMemory;
  private final LinkedHashSet<Turn> goingOn = new LinkedHashSet<>();
  private final LinkedHashSet<Turn> beginning = new LinkedHashSet<>();

  /** Written under the monitor. */
  private volatile int limit = Integer.MAX_VALUE;

  private volatile int waiting;

  /** Whether somebody has one made. */
  private boolean making;

  /** When there was no memory for one more, if that was the last answer. */
  private volatile @Nullable Long refusedAt;

  private boolean endedBefore;
  private long ended;

  /**
   * One without a limit.
   *
   * @param hasMemory whether the JVM has memory for one more by itself
   */
  BufferQueue(BufferStock stock, BooleanSupplier hasMemory) {
    this.stock = stock;
    this.hasMemory = hasMemory;
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

  /** Whether there was no memory for one more, and none has been made since. */
  boolean refused() {
    return refusedAt != null;
  }

  /** Some may wait for one that can be {@linkplain #make made} then. */
  synchronized void limit(int most) {
    limit = most;
    hand();
  }

  /**
   * One that lies there, if it is nobody else's turn: most who come find one, and need no turn.
   *
   * @param goesOn whether who wants it may hold something already
   */
  synchronized @Nullable ByteBuffer takeAtOnce(boolean goesOn) {
    boolean first = goingOn.isEmpty() && (goesOn || beginning.isEmpty());
    return first && stock.used() < (goesOn ? limit : mostBegun()) ? stock.takeLying() : null;
  }

  /**
   * From now on it is its turn some time; what it is given may be there at once. If not, one may
   * have to be {@linkplain #make made} for it.
   */
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
    stock.leave(buffer);
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

  /** Has those made that are to be given and lie nowhere, if nobody does so already. */
  void make() {
    while (beginsToMake()) {
      @Nullable ByteBuffer made = null;
      try {
        made = stock.takePromised();
      } catch (OutOfMemoryError e) {
        // All wait on for those that are given back.
      } finally {
        hasMade(made);
      }
    }
  }

  private synchronized boolean beginsToMake() {
    hand();
    if (making || !someMayHaveOne() || isRefused()) {
      return false;
    }
    // Others must not be given it meanwhile as well.
    stock.promise();
    making = true;
    return true;
  }

  private boolean someMayHaveOne() {
    return goingOn.isEmpty() ? mayHaveOne(beginning, mostBegun()) : mayHaveOne(goingOn, limit);
  }

  private boolean mayHaveOne(SequencedSet<Turn> turns, int most) {
    return !turns.isEmpty() && stock.used() < most;
  }

  private int mostBegun() {
    return limit - limit / 4;
  }

  private boolean isRefused() {
    var at = refusedAt;
    return at != null && System.nanoTime() - at < REFUSED_NANOS && !hasMemory.getAsBoolean();
  }

  private synchronized void hasMade(@Nullable ByteBuffer made) {
    making = false;
    if (made != null) {
      refusedAt = null;
      give(made);
    } else {
      refusedAt = System.nanoTime();
      hand();
      goingOn.forEach(Turn::wake);
      beginning.forEach(Turn::wake);
    }
  }

  private void hand() {
    handTo(goingOn, limit);
    if (goingOn.isEmpty()) {
      handTo(beginning, mostBegun());
    }
    waiting = goingOn.size() + beginning.size();
  }

  private void handTo(SequencedSet<Turn> turns, int most) {
    while (mayHaveOne(turns, most)) {
      var buffer = stock.takeLying();
      if (buffer == null) {
        return;
      }
      var first = turns.removeFirst();
      first.given = buffer;
      first.wake();
    }
  }
}
