package dev.evergreen.memcached;

import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.memcached.Watchers.Topic;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * One client's connection. All that came is answered before the replies leave together; while it
 * waits for more it keeps no buffer, only what is left of an incomplete command.
 */
final class Session {
  private static final AtomicInteger LAST_NUMBER = new AtomicInteger();

  /** Tells it from others, in lists for people. */
  final int number = LAST_NUMBER.incrementAndGet();

  final MemcachedServer server;
  final Connection connection;
  final Input input;
  final Output output;
  final Lookup lookup;
  private int lastActive;
  private @Nullable Set<Topic> watched;

  /** Null before the first byte, which tells it. */
  private @Nullable Protocol protocol;

  Session(MemcachedServer server, Connection connection) {
    this.server = server;
    this.connection = connection;
    input = new Input(connection);
    output = new Output(connection, server.statistics);
    lookup = new Lookup(this);
  }

  /** The second in which the last request came. */
  int lastActive() {
    return lastActive;
  }

  /** From now on the connection only watches. */
  void watch(Set<Topic> topics) {
    watched = topics;
  }

  /** Serves the client until it or the protocol ends. */
  void serve() throws IOException {
    var idle = server.settings.idleTimeout;
    connection.writeTimeout(server.settings.writeTimeout);
    if (idle.compareTo(Duration.ZERO) > 0) {
      connection.readTimeout(idle);
    }
    server.sessions.add(this);
    try {
      boolean going = true;
      while (going) {
        await();
        lastActive = server.clock.second();
        going = answerAll();
      }
      if (watched != null && !server.watchers.watch(server, connection, watched)) {
        connection.write(TextProtocol.bytes("WATCHER_TOO_MANY log watcher limit reached\r\n"));
      }
    } catch (SocketTimeoutException e) {
      server.statistics.idleKicks.increment();
      throw e;
    } finally {
      server.sessions.remove(this);
      if (protocol != null) {
        protocol.close();
      }
    }
  }

  /** Waits for input; if some was left because it was others' turn, only until it is ours again. */
  private void await() throws IOException {
    if (protocol != null && protocol.isTurnOver()) {
      server.statistics.yields.increment();
      connection.flush();
      Fibers.letOthersRun();
    } else {
      connection.awaitInput();
    }
  }

  /** Answers what is there; false if the connection is to be closed. */
  private boolean answerAll() throws IOException {
    input.open();
    try {
      int n;
      boolean turnOver;
      do {
        n = input.fill();
        if (n > 0) {
          server.statistics.read.add(n);
        }
        if (input.available() == 0) {
          return n >= 0;
        }
        var spoken = protocol();
        if (!spoken.answer(n <= 0)) {
          return false;
        }
        turnOver = spoken.isTurnOver();
      } while (n > 0 && !turnOver);
      return n >= 0 || turnOver;
    } finally {
      if (protocol != null) {
        protocol.rest();
      }
      output.detach();
      input.close();
    }
  }

  private Protocol protocol() {
    var spoken = protocol;
    if (spoken == null) {
      // With an authentication file there is only text, as in memcached.
      boolean binary =
          input.byteAt(input.at) == BinaryProtocol.REQUEST && !server.authentication.isRequired();
      spoken = binary ? new BinaryProtocol(this) : new TextProtocol(this);
      protocol = spoken;
    }
    return spoken;
  }
}
