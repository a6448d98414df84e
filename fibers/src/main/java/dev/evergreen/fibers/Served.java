package dev.evergreen.fibers;

import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * The connections that a listener serves.
 *
 * <p>Invariant: none is added once the end is {@linkplain #drain awaited}, so that who sees none
 * left then has seen the last. All is guarded by this.
 */
final class Served {
  private final Set<Connection> connections = new HashSet<>();
  private final CancelScope draining = CancelScope.open();
  private boolean drained;

  CancelScope draining() {
    return draining;
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

  /** See {@link Listener#drain}. */
  boolean drain(Duration grace) {
    synchronized (this) {
      drained = true;
    }
    draining.cancel();
    boolean interrupted = false;
    boolean byThemselves = true;
    try {
      byThemselves = await(System.nanoTime() + Nanos.of(grace));
    } catch (InterruptedException e) {
      interrupted = true;
      byThemselves = false;
    }
    synchronized (this) {
      connections.forEach(Connection::close);
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return byThemselves;
  }

  private synchronized boolean await(long until) throws InterruptedException {
    while (!connections.isEmpty()) {
      long nanos = until - System.nanoTime();
      if (nanos <= 0) {
        return false;
      }
      TimeUnit.NANOSECONDS.timedWait(this, nanos);
    }
    return true;
  }
}
