package dev.evergreen.shims.redis;

import dev.evergreen.fibers.Connection;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What the shim learns by a connection of its own, which is made again whenever it has ended. */
abstract class Watch {
  private static final System.Logger LOG = System.getLogger(Watch.class.getName());
  private static final Duration PAUSE = Duration.ofMillis(100);

  /** Before it is tried again what has failed as nobody knew that it could. */
  static final Duration AFTER_FAULT = Duration.ofSeconds(1);

  final RedisShim shim;

  /** By which it listens. */
  private volatile @Nullable Connection present;

  Watch(RedisShim shim) {
    this.shim = shim;
  }

  /** Makes the connection, and asks for what is to be told. */
  final Connection begin() throws IOException {
    var made = shim.connect(List.of()).connection();
    try {
      ask(made);
      return made;
    } catch (IOException | RuntimeException | Error e) {
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

  /** How a connection comes to be. */
  @FunctionalInterface
  private interface Opening {
    Connection open() throws IOException;
  }

  /** Listens until the shim ends, whatever fails: who waits for what is told does not know. */
  final void run(Connection first) {
    try {
      for (Opening next = () -> first; !shim.isClosed(); next = this::beginAgain) {
        shim.fibers.sleep(listen(next) ? PAUSE : AFTER_FAULT);
      }
    } catch (InterruptedException e) {
      LOG.log(Level.DEBUG, "the shim ends", e);
      Thread.currentThread().interrupt();
    }
  }

  /** Answers whether nothing has failed but the connection. */
  private boolean listen(Opening opening) {
    try (var connection = opening.open()) {
      present = connection;
      listen(connection);
      return true;
    } catch (IOException | UncheckedIOException e) {
      LOG.log(Level.DEBUG, "nothing is told any more, or not yet", e);
      return true;
    } catch (RuntimeException | Error e) {
      LOG.log(level(shim), "what the store tells could not be taken", e);
      return false;
    } finally {
      present = null;
    }
  }

  /** It is to listen to another store. */
  final void cut() {
    var connection = present;
    if (connection != null) {
      connection.close();
    }
  }

  private Connection beginAgain() throws IOException {
    var connection = begin();
    try {
      beginsAgain();
      return connection;
    } catch (RuntimeException | Error e) {
      connection.close();
      throw e;
    }
  }

  /** How loud a fault is told of: of a shim that ends much may fail. */
  static Level level(RedisShim shim) {
    return shim.isClosed() ? Level.DEBUG : Level.ERROR;
  }
}
