package dev.evergreen.proxy;

import dev.evergreen.proxy.storage.Lease;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A request to the origin that others who want the same wait for (collapsed forwarding). Its first
 * client makes it; what becomes of that client does not matter, as the body is received by a fiber
 * of its own.
 *
 * <p>Invariant: it is decided exactly once, before it is taken from the {@link Fetches}; so whoever
 * found it there is woken.
 */
final class Fetch {

  /** What came of it, for those who wait. */
  sealed interface Outcome {}

  /** The response is being stored, and can be read meanwhile. */
  record Arriving(Arrival arrival) implements Outcome {}

  /** Something was stored or freshened: look again. */
  record LookAgain() implements Outcome {}

  /** The response is for the first client alone: all others ask for themselves. */
  record Released() implements Outcome {}

  /** There is no answer: all fare alike. */
  record Failed(OriginFailure failure) implements Outcome {}

  private final boolean alone;
  private final CountDownLatch decided = new CountDownLatch(1);
  private volatile @Nullable Outcome outcome;

  // Guarded by this.
  /** Who waits, and has not begun to follow what arrives. */
  private int waiting;

  /** Keeps the beginning of what arrives for them, so that they need not each ask for it anew. */
  private @Nullable Lease beginning;

  /** One that others may wait for. */
  Fetch() {
    this(false);
  }

  private Fetch(boolean alone) {
    this.alone = alone;
  }

  /** One that nobody waits for but its client. */
  static Fetch alone() {
    return new Fetch(true);
  }

  /** Whether its client is the only one that it is for, until there is something for others. */
  boolean isAlone() {
    return alone;
  }

  /** Says what came of it; only the first call counts. */
  synchronized void decide(Outcome came) {
    if (outcome == null) {
      if (came instanceof Arriving(var arrival) && waiting > 0) {
        beginning = arrival.follow();
      }
      outcome = came;
      decided.countDown();
    }
  }

  boolean decided() {
    return outcome != null;
  }

  /** Somebody waits for what comes of it, until it is closed. */
  synchronized Waiter join() {
    boolean early = outcome == null;
    waiting += early ? 1 : 0;
    return new Waiter(early);
  }

  private synchronized void leave() {
    if (--waiting == 0 && beginning != null) {
      beginning.close();
      beginning = null;
    }
  }

  /**
   * One who waits. If it came before anything was decided, what arrives keeps its beginning until
   * this is done, but not for longer than for a reader that takes nothing.
   */
  final class Waiter implements AutoCloseable {
    private final boolean early;
    private boolean counts;

    private Waiter(boolean early) {
      this.early = early;
      counts = early;
    }

    /** Whether it came before anything was decided, so that it fares as the others do. */
    boolean isEarly() {
      return early;
    }

    /**
     * Waits.
     *
     * @return {@link Released} if that takes too long
     */
    Outcome await(long millis) {
      try {
        var _ = decided.await(millis, TimeUnit.MILLISECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      var came = outcome;
      return came == null ? new Released() : came;
    }

    /** It waits no more, or has a lease of its own. */
    void done() {
      if (counts) {
        counts = false;
        leave();
      }
    }

    @Override
    public void close() {
      done();
    }
  }
}
