package dev.evergreen.fibers;

import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * The peers for which a server keeps something that others need, such as memory for a message that
 * is half received or half sent; and what becomes of those that keep it too long.
 *
 * <p>Each {@link Hold} measures how long the server has waited for the peer since then, and how
 * many bytes it has moved. The time that a fiber waits for anything else, its processor included,
 * is not the peer's. So a peer is judged by its rate, not by its last byte: one that moves a byte
 * now and then is as slow as one that moves none. How long that is remembered its {@link Pace}
 * says. When something is short, the slowest pays, by its connection: see {@link #hangUp}. The
 * fiber that holds gets the exception of a connection that was closed, and lets go.
 */
public final class SlowPeers {

  /** What a connection is waited for. */
  public enum Direction {
    /** Its peer is to send. */
    RECEIVING,
    /** Its peer is to take what is sent. */
    SENDING
  }

  /** Of those that have moved nothing, the one that was waited for longest. */
  private static final Comparator<Look> SLOWEST_FIRST =
      Comparator.comparingDouble(Look::rate)
          .thenComparing(Comparator.comparingLong(Look::waitedNanos).reversed());

  private final Set<Hold> holds = ConcurrentHashMap.newKeySet();

  /** How often something is kept for each. */
  private final Map<Connection, Integer> wires = new ConcurrentHashMap<>();

  private final LongAdder hungUp = new LongAdder();

  /** None at first. */
  public SlowPeers() {}

  /**
   * Says that something is kept for a connection's peer from now on. To be called, and to be ended,
   * by the fiber that reads or writes there.
   */
  public Hold hold(Connection connection, Direction direction) {
    var wire = connection.wire();
    return add(
        new Hold(
            wire.measure(direction), wire, connection::close, () -> wire.endMeasure(direction)));
  }

  /**
   * Says that something is kept from now on for a peer that shares its connection with others.
   *
   * @param pace of that peer alone, which the caller measures
   * @param hangUp has the fiber let go that waits for the peer; any thread may run it
   */
  public Hold hold(Pace pace, Runnable hangUp) {
    return add(new Hold(pace, null, hangUp, () -> {}));
  }

  /** If there is no memory for that, nothing is left of it: nobody would end it. */
  private Hold add(Hold hold) {
    if (hold.wire != null) {
      wires.merge(hold.wire, 1, Integer::sum);
    }
    try {
      holds.add(hold);
      return hold;
    } catch (Throwable e) {
      hold.forget();
      throw e;
    }
  }

  /** For how many peers something is kept. */
  public int count() {
    return holds.size();
  }

  /** How many peers were hung up on. */
  public long hungUp() {
    return hungUp.sum();
  }

  /** Whether something is kept for a connection's peer. */
  public boolean keepFor(Connection connection) {
    return wires.containsKey(connection.wire());
  }

  /**
   * Closes the connections of those that have kept the server waiting for longer than a time of
   * grace and than their bytes take at a rate; the slowest first.
   *
   * @param most how many at most, those included that have not let go since an earlier call
   * @param bytesPerSecond {@link Long#MAX_VALUE} for as fast as can be
   * @return how many these were, those of an earlier call included
   * @throws IllegalStateException if some could not be closed; as many others were, if there are,
   *     and they are tried again with the next call
   */
  public int hangUp(int most, Duration grace, long bytesPerSecond) {
    return hangUp(most, grace, bytesPerSecond, System.nanoTime());
  }

  int hangUp(int most, Duration grace, long bytesPerSecond, long now) {
    int hungUp = (int) holds.stream().filter(hold -> hold.hungUp).count();
    if (hungUp >= most) {
      return hungUp;
    }
    var slowest =
        holds.stream()
            .filter(hold -> !hold.hungUp)
            .map(hold -> hold.look(now))
            .filter(look -> look.isLate(grace, bytesPerSecond))
            .sorted(SLOWEST_FIRST)
            .toList();
    return hangUp(slowest, hungUp, most);
  }

  private static int hangUp(List<Look> slowest, int gone, int most) {
    @Nullable Throwable failure = null;
    for (var look : slowest) {
      if (gone == most) {
        break;
      }
      try {
        look.hold.hangUp();
        gone++;
      } catch (RuntimeException | Error e) {
        failure = e; // the others are not spared for that
      }
    }
    if (failure != null) {
      throw new IllegalStateException("a slow peer could not be hung up on", failure);
    }
    return gone;
  }

  /** A hold at a moment. */
  private record Look(Hold hold, long bytes, long waitedNanos) {

    boolean isLate(Duration grace, long bytesPerSecond) {
      double seconds = (waitedNanos - grace.toNanos()) / (double) TimeUnit.SECONDS.toNanos(1);
      return seconds > bytes / (double) bytesPerSecond;
    }

    double rate() {
      return bytes / (double) waitedNanos;
    }
  }

  /** That something is kept for a connection's peer. */
  public final class Hold implements AutoCloseable {
    private final Pace pace;
    private final @Nullable Connection wire;
    private final Runnable letGo;
    private final Runnable end;
    private final long bytesBefore;
    private final long waitedBefore;
    private volatile boolean hungUp;
    private @Nullable Hold other;

    private Hold(Pace pace, @Nullable Connection wire, Runnable letGo, Runnable end) {
      this.pace = pace;
      this.wire = wire;
      this.letGo = letGo;
      this.end = end;
      bytesBefore = pace.bytes();
      waitedBefore = pace.waited(System.nanoTime());
    }

    private Look look(long now) {
      var since = pace.since(now);
      return new Look(
          this,
          pace.bytes() - Math.max(bytesBefore, since.bytes()),
          pace.waited(now) - Math.max(waitedBefore, since.waitedNanos()));
    }

    private void hangUp() {
      hungUp = true;
      try {
        letGo.run();
      } catch (RuntimeException | Error e) {
        hungUp = false;
        throw e;
      }
      SlowPeers.this.hungUp.increment();
    }

    /** Another one, if there is one, ends with this. */
    Hold with(@Nullable Hold another) {
      other = another;
      return this;
    }

    /** Says that nothing is kept any more. Only the first call counts. */
    @Override
    public void close() {
      if (holds.remove(this)) {
        forget();
        SlowPeers.end(other);
      }
    }

    private void forget() {
      if (wire != null) {
        wires.computeIfPresent(wire, (_, kept) -> kept == 1 ? null : Integer.valueOf(kept - 1));
      }
      end.run();
    }
  }

  /** Ends a hold, if there is one. */
  static void end(@Nullable Hold hold) {
    if (hold != null) {
      hold.close();
    }
  }
}
