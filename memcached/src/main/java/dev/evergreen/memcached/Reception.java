package dev.evergreen.memcached;

import dev.evergreen.fibers.SlowPeers;
import dev.evergreen.memcached.store.Change;
import dev.evergreen.memcached.store.Item;
import dev.evergreen.memcached.store.Outcome;
import dev.evergreen.memcached.store.Reservation;

/**
 * A large value on its way into the store's memory. As long as that is kept for it, its client is
 * one of those that must not be too slow.
 */
final class Reception implements AutoCloseable {
  private final Reservation reservation;
  private final SlowPeers.Hold hold;

  Reception(Reservation reservation, SlowPeers.Hold hold) {
    this.reservation = reservation;
    this.hold = hold;
  }

  /**
   * Takes what has come of the value out of the input, where it begins; says whether that is all.
   */
  boolean take(Input in, int at) {
    int n = Math.min(reservation.missing(), in.end - at);
    reservation.fill(in.memory, at, n);
    in.remove(at, n);
    return reservation.missing() == 0;
  }

  /** Stores the value, which is complete. */
  Outcome commit(Change change, Item item) {
    return reservation.commit(change, item);
  }

  @Override
  public void close() {
    hold.close();
    reservation.close();
  }
}
