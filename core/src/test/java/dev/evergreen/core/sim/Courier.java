package dev.evergreen.core.sim;

import dev.evergreen.core.KeyedGrain;
import dev.evergreen.core.ReadOnly;
import java.time.Duration;
import java.util.List;

/** Writes other grains, has timers, and makes computations of its own. */
interface Courier extends KeyedGrain<Courier.Key> {

  /** A key of two parts. */
  record Key(String name, int number) {}

  /** A courier's state; as {@link Cell.Contents}. */
  record Contents(long ticks, long version, List<Long> applied) {
    static final Contents EMPTY = new Contents(0, 0, List.of());
  }

  /** How often its timers have run. */
  @ReadOnly
  long ticks();

  @ReadOnly
  Contents contents();

  /** Moves an amount from one cell to another; two writes inside of a write. */
  long move(long action, String from, String to, long amount);

  /**
   * Calls the first of these couriers to do the same with the rest. Returns only if none of them
   * occurs twice.
   */
  void relay(List<Key> path);

  /** Sets a cell to what a computation yields that it makes meanwhile. Returns the new version. */
  long survey(long action, Ref ref, String cell) throws Refused;

  /** Sets what must never be shown, has a computation look at it, and fails. */
  void draft() throws Refused;

  /** Starts a timer that runs so often. */
  void tick(int times, Duration period);

  /** Starts a computation, tracked by this grain, instead of the one before. */
  void watch(Ref ref);

  /** Ends the computation. */
  void unwatch();

  /** What its computation yields at last; empty if it has none. */
  List<Watched> watched();

  /**
   * A result.
   *
   * @param seen empty if there is none yet
   */
  record Watched(Ref ref, String seen) {}
}
