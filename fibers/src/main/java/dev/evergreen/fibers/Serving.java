package dev.evergreen.fibers;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;

/** Accepts and serves connections, in both modes. */
final class Serving {

  private static final System.Logger LOG = System.getLogger(Listener.class.getName());
  private static final Duration PAUSE = Duration.ofMillis(50);

  private Serving() {}

  interface Starter {
    void start(Connection connection, Runnable task);
  }

  static void serve(Fibers fibers, Listener listener, Starter starter, Listener.Handler handler) {
    boolean told = false;
    while (true) {
      try {
        var connection = listener.accept();
        told = false;
        start(connection, starter, handler);
      } catch (ClosedChannelException e) {
        return;
      } catch (IOException e) {
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

  private static void start(Connection connection, Starter starter, Listener.Handler handler) {
    try {
      starter.start(connection, () -> serve(connection, handler));
    } catch (IllegalStateException e) {
      // The runtime is being closed; the next accept will say so.
      connection.close();
    }
  }

  private static void serve(Connection connection, Listener.Handler handler) {
    try (connection) {
      handler.serve(connection);
      connection.flush();
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "a connection ended", e);
    }
  }
}
