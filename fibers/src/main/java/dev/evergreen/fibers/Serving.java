package dev.evergreen.fibers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;

/** Accepts and serves connections, in both modes. */
record Serving(
    Fibers fibers,
    Listener listener,
    Served served,
    Starter starter,
    Listener.Handler handler,
    ConnectionLimit limit,
    Listener.Handler refusal) {

  private static final System.Logger LOG = System.getLogger(Listener.class.getName());
  private static final Duration PAUSE = Duration.ofMillis(50);

  /** A connection that is new has room for what a refusal says, unless it is not worth waiting. */
  private static final Duration REFUSAL = Duration.ofMillis(10);

  interface Starter {
    void start(Connection connection, Runnable task);
  }

  void serve() {
    boolean told = false;
    while (true) {
      try {
        var connection = listener.accept();
        told = false;
        if (limit.enter()) {
          start(connection);
        } else {
          refuse(connection);
        }
      } catch (ClosedChannelException | WaitCancelledException | DeadlineException e) {
        return;
      } catch (IOException | OutOfMemoryError e) {
        if (!told) {
          told = true;
          LOG.log(Level.WARNING, "no connection can be accepted for now: {0}", e.getMessage());
        }
        try {
          fibers.sleep(PAUSE);
        } catch (InterruptedException interrupted) {
          Thread.currentThread().interrupt();
          return;
        }
      }
    }
  }

  private void start(Connection connection) {
    if (!served.add(connection)) {
      // The listener was closed; the next accept will say so.
      connection.close();
      limit.leave();
      return;
    }
    try {
      starter.start(connection, () -> serveAdmitted(connection));
    } catch (RuntimeException | Error e) {
      served.remove(connection);
      limit.leave();
      connection.close();
      // Where the runtime is being closed, the next accept will say so.
      if (!(e instanceof FibersClosedException)) {
        LOG.log(Level.ERROR, "a connection was closed, as nobody can serve it", e);
      }
    }
  }

  private void serveAdmitted(Connection connection) {
    try {
      serve(connection, handler);
    } finally {
      served.remove(connection);
      limit.leave();
    }
  }

  private void refuse(Connection connection) {
    connection.writeTimeout(REFUSAL);
    try {
      serve(connection, refusal);
    } catch (RuntimeException | Error e) {
      LOG.log(Level.ERROR, "a connection beyond the limit was refused without a word", e);
    }
  }

  private static void serve(Connection connection, Listener.Handler handler) {
    try (connection) {
      handler.serve(connection);
      // What another fiber writes is not ours to touch; it leaves when that one ends.
      connection.flushOwn();
    } catch (IOException | UncheckedIOException e) {
      LOG.log(Level.DEBUG, "a connection ended", e);
    }
  }
}
