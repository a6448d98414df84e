package dev.evergreen.memcached;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.SlowPeers.Direction;
import dev.evergreen.store.Outcome;
import dev.evergreen.store.Reservation;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Takes the value that follows the head of a request, and stores it by the request's key and
 * change. A value that is there whole, or about to be, is stored from the input; another one goes
 * into memory of the store as it comes.
 */
final class ValueReceiver {

  private final Protocol protocol;
  private Outcome outcome = Outcome.STORED;

  ValueReceiver(Protocol protocol) {
    this.protocol = protocol;
  }

  /** What came of the value that was received last. */
  Outcome outcome() {
    return outcome;
  }

  /**
   * Receives a value, all of it even if it is refused, and stores it. Waits for what is not there
   * yet, and then also for memory.
   *
   * @param terminator what must come behind it
   * @param replaces whether the old item must go when this one is refused, so that nobody takes it
   *     for this one
   * @return false if something else came behind it, and so nothing became of it
   */
  boolean receive(long length, byte[] terminator, boolean replaces) throws IOException {
    long whole = length + terminator.length;
    if (!protocol.store.takes(protocol.key.length(), length, protocol.change.flags())) {
      refuse(Outcome.TOO_LARGE, length, terminator, replaces);
      return true;
    }
    if (protocol.in.available() < whole) {
      protocol.keepHead();
      if (!comes(whole)) {
        protocol.in.amidLargeValue = true;
        try {
          return receiveInPieces((int) length, terminator, replaces);
        } finally {
          protocol.in.amidLargeValue = false;
        }
      }
    }
    var in = protocol.in;
    int from = in.at;
    in.at += (int) whole;
    if (!ends(from + (int) length, terminator)) {
      return false;
    }
    protocol.observer.tellLook();
    settle(
        protocol.store.store(
            protocol.key, in.memory, from, (int) length, protocol.change, protocol.item),
        length,
        replaces);
    return true;
  }

  /** Receives what is there; says whether that is all. */
  private boolean comes(long bytes) throws IOException {
    var in = protocol.in;
    boolean more = bytes <= Buffers.SIZE;
    while (more && in.available() < bytes) {
      more = in.fill();
    }
    return in.available() >= bytes;
  }

  private boolean receiveInPieces(int length, byte[] terminator, boolean replaces)
      throws IOException {
    var reservation = reserve(length);
    if (reservation == null) {
      refuse(Outcome.OUT_OF_MEMORY, length, terminator, replaces);
      return true;
    }
    var in = protocol.in;
    // As long as the memory is kept for it, its client is one of those that must not be too slow.
    try (reservation;
        var _ =
            protocol.server.valueHolders.hold(protocol.session().connection, Direction.RECEIVING)) {
      take(reservation);
      while (reservation.missing() > 0 || in.available() < terminator.length) {
        in.more();
        take(reservation);
      }
      int end = in.at;
      in.at += terminator.length;
      if (!ends(end, terminator)) {
        return false;
      }
      protocol.observer.tellLook();
      settle(reservation.commit(protocol.change, protocol.item), length, replaces);
      return true;
    }
  }

  private void take(Reservation reservation) {
    var in = protocol.in;
    int n = Math.min(reservation.missing(), in.available());
    reservation.fill(in.memory, in.at, n);
    in.at += n;
  }

  /**
   * Reserves memory. If others hold too much, it waits for a few seconds until they let go of some,
   * or the slowest of them is hung up on.
   *
   * @return null if there is none
   */
  private @Nullable Reservation reserve(int length) throws IOException {
    var store = protocol.store;
    Reservation reservation = null;
    boolean heldUp = true;
    for (int i = 0; heldUp && (i == 0 || protocol.session().awaitRoom(i)); i++) {
      long refusals = store.refusals();
      reservation = store.reserve(protocol.key, length);
      // Others may have let go since; somebody else's refusal costs a moment.
      heldUp = reservation == null && (store.isHeldUp() || store.refusals() != refusals);
    }
    return reservation;
  }

  /** Counts the value that has come, and says whether what must come behind it is there. */
  private boolean ends(int at, byte[] terminator) {
    protocol.statistics.sets.increment();
    int same = 0;
    while (same < terminator.length && protocol.in.byteAt(at + same) == terminator[same]) {
      same++;
    }
    return same == terminator.length;
  }

  private void settle(Outcome settled, long length, boolean replaces) {
    // That a value fits was looked at before: what it was to be joined with makes it too large.
    outcome = settled == Outcome.TOO_LARGE ? Outcome.NOT_STORED : settled;
    tell(length);
    if (outcome == Outcome.OUT_OF_MEMORY) {
      deleteOld(replaces);
    }
  }

  private void refuse(Outcome outcome, long length, byte[] terminator, boolean replaces)
      throws IOException {
    this.outcome = outcome;
    tell(0); // nothing was stored, and that is what memcached tells
    deleteOld(replaces);
    protocol.in.drop(length + terminator.length);
  }

  private void tell(long length) {
    if (protocol.server.isObserved()) {
      protocol.observer.stored(outcome, length);
    }
  }

  private void deleteOld(boolean replaces) {
    if (replaces) {
      protocol.store.delete(protocol.key, protocol.change.clear(), protocol.item);
    }
  }
}
