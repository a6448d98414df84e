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
  abstract Connection begin() throws IOException;

  /** Listens until it has ended. */
  abstract void listen(Connection connection) throws IOException;

  /** Nobody knows what was not told since the last one has ended. */
  abstract void beginsAgain();

  /** Listens until the shim ends. */
  final void run(Connection first) {
    var connection = first;
    while (!shim.isClosed()) {
      try (var present = connection) {
        listen(present);
      } catch (IOException | UncheckedIOException | IllegalStateException e) {
        LOG.log(Level.DEBUG, "nothing is told any more", e);
      }
      connection = beginAgain();
      beginsAgain();
    }
  }

  private Connection beginAgain() {
    while (true) {
      try {
        shim.fibers.sleep(PAUSE);
        return begin();
      } catch (IOException e) {
        LOG.log(Level.DEBUG, "nothing is told yet", e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("the shim ends", e);
      }
    }
  }
}
