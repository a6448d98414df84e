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
        told = told || tell(e);
        if (!pause()) {
          return;
        }
      }
    }
  }

  /** Says whether it was told: there may be no memory for that, either. */
  private static boolean tell(Throwable obstacle) {
    try {
      LOG.log(Level.WARNING, "no connection can be accepted for now: {0}", obstacle.getMessage());
      return true;
    } catch (OutOfMemoryError e) {
      return false;
    }
  }

  /** Waits a little; false if the acceptor was interrupted. */
  private boolean pause() {
    try {
      fibers.sleep(PAUSE);
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } catch (OutOfMemoryError e) {
      // Nor for sleeping: others may let go of some.
      Fibers.letOthersRun();
      return true;
    }
  }

  private void start(Connection connection) {
    try {
      if (served.add(connection)) {
        starter.start(connection, () -> serveAdmitted(connection));
      } else {
        // The listener was closed; the next accept will say so.
        connection.close();
        limit.leave();
      }
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
