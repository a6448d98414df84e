package dev.evergreen.fibers;

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * The connections that a listener serves.
 *
 * <p>Invariant: none is added once the end is {@linkplain #drain awaited}, so that who sees none
 * left then has seen the last. All is guarded by this, which is notified when an acceptor or the
 * last connection has gone, and at the end.
 */
final class Served {
  private final Set<Connection> connections = new HashSet<>();
  private final CancelScope draining = CancelScope.open();
  private int acceptors;
  private boolean drains;
  private boolean drained;
  private boolean over;

  CancelScope draining() {
    return draining;
  }

  synchronized void acceptorBegins() {
    acceptors++;
  }

  synchronized void acceptorEnds() {
    acceptors--;
    notifyAll();
  }

  synchronized boolean accepting() {
    return acceptors > 0;
  }

  /** Says whether it may be served. */
  synchronized boolean add(Connection connection) {
    return !drained && connections.add(connection);
  }

  synchronized void remove(Connection connection) {
    connections.remove(connection);
    if (drained && connections.isEmpty()) {
      notifyAll();
    }
  }

  /** From now on a {@link #drain} is to come. */
  void beginDrain() {
    synchronized (this) {
      drains = true;
    }
    draining.cancel();
  }

  /** If this is being drained, waits until that has ended, or the thread is interrupted. */
  void awaitDrain() {
    var _ = await(() -> over || !drains, System.nanoTime() + Nanos.FOREVER);
  }

  /** Waits until nobody accepts any more, or it is too late, or the thread is interrupted. */
  void awaitAcceptors(long until) {
    var _ = await(() -> acceptors == 0, until);
  }

  /** Waits until all have ended, then closes those that are left; says whether there were none. */
  boolean drain(long until) {
    synchronized (this) {
      drained = true;
    }
    boolean byThemselves = await(connections::isEmpty, until);
    synchronized (this) {
      connections.forEach(Connection::close);
      over = true;
      notifyAll();
    }
    return byThemselves;
  }

  /** Says whether it came to hold in time; the thread stays interrupted if it was. */
  private synchronized boolean await(BooleanSupplier what, long until) {
    while (!what.getAsBoolean()) {
      long nanos = until - System.nanoTime();
      if (nanos <= 0) {
        return false;
      }
      try {
        TimeUnit.NANOSECONDS.timedWait(this, nanos);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return false;
      }
    }
    return true;
  }
}
