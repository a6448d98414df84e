package dev.evergreen.fibers;

import java.nio.ByteBuffer;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedSet;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Who is given a buffer, and when, as there is a limit for them. Who finds none waits; of those
 * that wait for the same {@link Need}, the first is given the first for which there is room.
 *
 * <p>Invariant: of the buffers some are left that those never get who begin something, of these
 * some that are only for those who have enough to write, and so on up to those who need no other
 * one. So whatever they wait for with what they hold, such as a lock or their processor, those who
 * go on find one when it is their turn, end, and give all back. That needs no other order as long
 * as nobody waits for one of the kind that it holds, or of an earlier one; such waits end by time.
 *
 * <p>While there are plenty and nobody waits, all that is done without turns, and processors keep
 * what is given back. From then on they give all that they have: see {@link #plenty}.
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

  /** So many times as long one waits though others are given some. */
  private static final int MOST_PATIENCE = 10;

  /** What a buffer is needed for; see above. */
  enum Need {
    /** What begins; whoever does so may need all the others for it. */
    BEGIN(4),
    /** To collect output, which may have to be encrypted. */
    WRITE(8),
    /** To take records that are to be decrypted, for which others may be needed. */
    DECRYPT(16),
    /** What ends without another one. */
    END(Integer.MAX_VALUE);

    /** One of so many is left to later ones. */
    private final int part;

    Need(int part) {
      this.part = part;
    }

    /** How many may be used when one more is taken, so that enough are left. */
    int most(int limit) {
      return limit - limit / part;
    }
  }

  /** Of somebody who wants a buffer. */
  static final class Turn {
    final Need need;
    final @Nullable Connection wire;
    private final Gate gate = new Gate();
    private volatile @Nullable ByteBuffer given;

    /**
     * One that has not begun.
     *
     * @param wire the connection whose end ends the wait
     */
    Turn(Need need, @Nullable Connection wire) {
      this.need = need;
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

  /** Those that wait, the latest needs first. */
  private final Map<Need, SequencedSet<Turn>> turns = new TreeMap<>(Comparator.reverseOrder());

  /** Written under the monitor. */
  private volatile int limit;

  private volatile int waiting;

  /** While fewer are used nobody need wait for a turn; 0 while anybody does. */
  private volatile int plenty;

  /** Whether somebody has one made. */
  private boolean making;

  /** When there was no memory for one more, if that was the last answer. */
  private volatile @Nullable Long refusedAt;

  private final Interval endings = new Interval();
  private final Interval searches = new Interval();

  /** When one was given, other than of plenty. */
  private long gave;

  private boolean gaveBefore;

  /**
   * One for all of a stock.
   *
   * @param limit how many may be used
   * @param hasMemory whether the JVM has memory for one more by itself
   */
  BufferQueue(BufferStock stock, int limit, BooleanSupplier hasMemory) {
    this.stock = stock;
    this.hasMemory = hasMemory;
    this.limit = limit;
    for (var need : Need.values()) {
      turns.put(need, new LinkedHashSet<>());
    }
    count();
  }

  int limit() {
    return limit;
  }

  /** How many wait. */
  int waiting() {
    return waiting;
  }

  /** Whether there was no memory for one more, and none has been made since. */
  boolean refused() {
    return refusedAt != null;
  }

  /**
   * Whether so many are used, or anybody waits, that what is given back is not to be kept for one's
   * own use: those who begin would take what those who go on need. It is asked with each that is
   * given back, and costs next to nothing.
   */
  boolean isShort() {
    return stock.used() >= plenty;
  }

  /** Some may wait for one that can be {@linkplain #make made} then. */
  synchronized void limit(int most) {
    limit = most;
    hand();
  }

  /** One without a turn, made if need be, if there are plenty of them and the JVM has memory. */
  @Nullable ByteBuffer takeOfPlenty() {
    if (isRefused() || !stock.promise(plenty)) {
      return null;
    }
    try {
      return stock.takePromised();
    } catch (OutOfMemoryError e) {
      // It is waited for, as others give some back.
      refusedAt = System.nanoTime();
      return null;
    }
  }

  /** One that lies there, if it is nobody else's turn. */
  synchronized @Nullable ByteBuffer takeAtOnce(Need need) {
    var next = next();
    boolean first = next == null || next.compareTo(need) < 0;
    return first ? takeLying(need) : null;
  }

  /**
   * From now on it is its turn some time; what it is given may be there at once. If not, one may
   * have to be {@linkplain #make made} for it.
   */
  synchronized void enter(Turn turn) {
    line(turn.need).add(turn);
    hand();
  }

  /** It waits no more. Answers what it was given all the same. */
  synchronized @Nullable ByteBuffer leave(Turn turn) {
    line(turn.need).remove(turn);
    hand();
    return turn.given;
  }

  private SequencedSet<Turn> line(Need need) {
    return Objects.requireNonNull(turns.get(need));
  }

  /**
   * Says whether somebody may end its wait: if it was in vain for as long as its patience lasts, or
   * has lasted many times as long. As long as others are given some it is not in vain, as its turn
   * comes, too. One in a while, so that others can be given first what it held.
   */
  synchronized boolean mayEnd(long began, long now, long patience, long apart) {
    long waited = now - began;
    long inVain = gaveBefore ? Math.min(waited, now - gave) : waited;
    return (inVain >= patience || waited / MOST_PATIENCE >= patience) && endings.passes(now, apart);
  }

  /** Says whether somebody may look for peers that are slow: all that wait would find the same. */
  synchronized boolean maySearch(long now, long apart) {
    return searches.passes(now, apart);
  }

  /** Of things that are to be some time apart; under the monitor. */
  private static final class Interval {
    private boolean before;
    private long last;

    boolean passes(long now, long apart) {
      boolean passes = !before || now - last >= apart;
      if (passes) {
        before = true;
        last = now;
      }
      return passes;
    }
  }

  /**
   * One of those that there are is not used any more. Who begins to wait says so before it looks
   * for one, and this looks who waits when it is there: one of them sees the other.
   */
  void give(ByteBuffer buffer) {
    try {
      stock.leave(buffer);
    } finally {
      lookAgain();
    }
  }

  /** There may be more of them, or fewer are used. */
  void lookAgain() {
    if (waiting > 0) {
      handAll();
    }
  }

  private synchronized void handAll() {
    hand();
  }

  /** Wakes those that wait for a connection's sake. */
  synchronized void wake(Connection wire) {
    turns.values().stream()
        .flatMap(SequencedSet::stream)
        .filter(turn -> turn.wire == wire)
        .forEach(Turn::wake);
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
    var next = next();
    // Others must not be given it meanwhile as well.
    if (making || next == null || isRefused() || !stock.promise(next.most(limit))) {
      return false;
    }
    making = true;
    return true;
  }

  /** What the next one is needed for; null if nobody waits. */
  private @Nullable Need next() {
    for (var line : turns.entrySet()) {
      if (!line.getValue().isEmpty()) {
        return line.getKey();
      }
    }
    return null;
  }

  private boolean isRefused() {
    var at = refusedAt;
    return at != null && System.nanoTime() - at < REFUSED_NANOS && !hasMemory.getAsBoolean();
  }

  private void hasMade(@Nullable ByteBuffer made) {
    hasEndedMaking(made != null);
    if (made != null) {
      // Not under the monitor, which processors enter: it may have to have a task run later.
      give(made);
    }
  }

  private synchronized void hasEndedMaking(boolean made) {
    making = false;
    refusedAt = made ? null : System.nanoTime();
    if (!made) {
      hand();
      turns.values().forEach(line -> line.forEach(Turn::wake));
    }
  }

  private void hand() {
    // Before it looks what there is: see give.
    count();
    for (var need = next(); need != null; need = next()) {
      var buffer = takeLying(need);
      if (buffer == null) {
        break;
      }
      var first = line(need).removeFirst();
      first.given = buffer;
      first.wake();
    }
    count();
  }

  private @Nullable ByteBuffer takeLying(Need need) {
    var lying = stock.takeLying(need.most(limit));
    if (lying != null) {
      gaveBefore = true;
      gave = System.nanoTime();
    }
    return lying;
  }

  private void count() {
    int all = 0;
    for (var line : turns.values()) {
      all += line.size();
    }
    waiting = all;
    plenty = waiting > 0 ? 0 : Need.BEGIN.most(limit);
  }
}
