package dev.evergreen.shims.redis;

import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.FibersClosedException;
import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Notices that a client goes away while it waits for a connection to Redis, when nobody reads what
 * it says. The end of what it says may be that of its half only, and whoever has said all may wait
 * for the replies: so it is given up when nothing has come of its wait for some time more. In mode
 * JDK it is not noticed.
 */
final class Departure implements AutoCloseable {
  private final Connection connection;
  private final Fibers fibers;
  private final Duration patience;
  private final Runnable gone;

  // Guarded by this.
  private Fibers.@Nullable Timer timer;
  private boolean closed;

  /**
   * From now on it is noticed.
   *
   * @param patience how long it is waited for when it has said all
   * @param gone is run when it is given up; must not block
   */
  Departure(Connection connection, Fibers fibers, Duration patience, Runnable gone)
      throws IOException {
    this.connection = connection;
    this.fibers = fibers;
    this.patience = patience;
    this.gone = gone;
    connection.whenPeerEnds(this::hasSaidAll);
  }

  private synchronized void hasSaidAll() {
    if (timer == null && !closed) {
      try {
        timer = fibers.schedule(patience, this::giveUp);
      } catch (FibersClosedException e) {
        // The shim ends, and every wait with it.
        closed = true;
      }
    }
  }

  private void giveUp() {
    if (!isClosed()) {
      gone.run();
    }
  }

  private synchronized boolean isClosed() {
    return closed;
  }

  /** It does not wait any more. */
  @Override
  public void close() {
    try {
      connection.whenPeerEnds(null);
    } catch (IOException e) {
      // It is closed, and tells nothing any more.
    }
    synchronized (this) {
      closed = true;
      if (timer != null) {
        timer.cancel();
      }
    }
  }
}
