package dev.evergreen.shims.redis;

import dev.evergreen.fibers.Connection;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.time.Duration;

/** What the shim learns by a connection of its own, which is made again whenever it has ended. */
abstract class Watch {
  private static final System.Logger LOG = System.getLogger(Watch.class.getName());
  private static final Duration PAUSE = Duration.ofMillis(100);

  final RedisShim shim;

  Watch(RedisShim shim) {
    this.shim = shim;
  }

  /** Makes the connection, and asks for what is to be told. */
  final Connection begin() throws IOException {
    var made = shim.connect();
    try {
      ask(made);
      return made;
    } catch (IOException | RuntimeException e) {
      made.close();
      throw e;
    }
  }

  /** Asks on a new connection for what is to be told. */
  abstract void ask(Connection made) throws IOException;

  /** Listens until it has ended. */
  abstract void listen(Connection connection) throws IOException;

  /** Nobody knows what was not told since the last one has ended. */
  abstract void beginsAgain();

  /** Listens until the shim ends. */
  final void run(Connection first) {
    try {
      for (var connection = first; !shim.isClosed(); connection = beginAgain()) {
        listenTo(connection);
      }
    } catch (InterruptedException e) {
      LOG.log(Level.DEBUG, "the shim ends", e);
      Thread.currentThread().interrupt();
    }
  }

  private void listenTo(Connection connection) {
    try (connection) {
      listen(connection);
    } catch (IOException | UncheckedIOException | IllegalStateException e) {
      LOG.log(Level.DEBUG, "nothing is told any more", e);
    }
  }

  private Connection beginAgain() throws InterruptedException {
    while (true) {
      shim.fibers.sleep(PAUSE);
      try {
        var connection = begin();
        beginsAgain();
        return connection;
      } catch (IOException e) {
        LOG.log(Level.DEBUG, "nothing is told yet", e);
      }
    }
  }
}
