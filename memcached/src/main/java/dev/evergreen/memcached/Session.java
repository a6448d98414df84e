package dev.evergreen.memcached;

import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.WriteTimeoutException;
import dev.evergreen.memcached.Watchers.Topic;
import dev.evergreen.memcached.live.LiveItem;
import dev.evergreen.memcached.live.LiveItemException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One client's connection. All that came is answered before the replies leave together; while it
 * waits for more it keeps no buffer, only what is left of an incomplete command.
 */
final class Session {
  /** A time that does not come. */
  static final Duration FOR_EVER = Duration.ofSeconds(Long.MAX_VALUE);

  private static final int MOST_WAITS = 1500;
  private static final Duration WAIT = Duration.ofMillis(2);

  /** Tells it from others, in lists for people. */
  final int number;

  final Connection connection;
  private final MemcachedServer server;

  /** Whether the client may say anything but who he is. */
  boolean authenticated;

  private byte[] rest = Input.NOTHING;
  private boolean begun;
  private Workers workers;
  private int lastActive;
  private boolean answering;

  /** Who is amid a request of this connection. */
  private @Nullable Protocol pending;

  private @Nullable Set<Topic> watched;

  Session(MemcachedServer server, Connection connection) {
    this.server = server;
    this.connection = connection;
    number = server.lastNumber.incrementAndGet();
    workers = server.textWorkers;
    authenticated = !server.authentication.isRequired();
  }

  /** The second in which the last request came. */
  int lastActive() {
    return lastActive;
  }

  /** What it is doing, by memcached's names; a moment ago is good enough. */
  String state() {
    if (watched != null) {
      return "conn_watch";
    }
    if (server.blockedWriters.keepFor(connection)) {
      return "conn_mwrite";
    }
    if (server.valueHolders.keepFor(connection)) {
      return "conn_nread";
    }
    return answering ? "conn_parse_cmd" : "conn_read";
  }

  /** From now on the connection only watches. */
  void watch(Set<Topic> topics) {
    watched = topics;
  }

  /** Serves the client until it or the protocol ends. */
  void serve() throws IOException {
    connection.writeTimeout(server.settings.writeTimeout);
    connection.whileWriterWaits(server.blockedWriters);
    server.sessions.add(this);
    tell("new client connection");
    try {
      do {
        answering = false;
        awaitInput();
        lastActive = server.clock.second();
        answering = true;
      } while (answerAll());
      if (watched != null && !server.watchers.watch(server, connection, watched)) {
        connection.write(TextProtocol.bytes("WATCHER_TOO_MANY log watcher limit reached\r\n"));
      }
    } finally {
      server.sessions.remove(this);
      tell("connection closed.");
      if (pending != null) {
        pending.close();
      }
    }
  }

  private void tell(String what) {
    if (server.settings.verbosity > 1) {
      server.tell("<" + number + " " + what);
    }
  }

  private void awaitInput() throws IOException {
    connection.readTimeout(patience());
    try {
      connection.awaitInput();
    } catch (WriteTimeoutException e) {
      // A client that does not take its replies is not idle.
      throw e;
    } catch (SocketTimeoutException e) {
      server.statistics.idleKicks.increment();
      throw e;
    }
  }

  /** One that keeps memory for a value must go on with it. */
  private Duration patience() {
    var idle = server.settings.idleTimeout;
    if (pending != null && (idle.isZero() || idle.compareTo(server.settings.writeTimeout) > 0)) {
      return server.settings.writeTimeout;
    }
    return idle.isZero() ? FOR_EVER : idle;
  }

  /**
   * Waits a moment for others to let go of what they hold, after all that was answered has left.
   *
   * @param tries how often it has waited for the same
   * @return false if that was long enough
   */
  boolean awaitRoom(int tries) throws IOException {
    if (tries == MOST_WAITS) {
      return false;
    }
    connection.flush();
    server.hangUpOnSlowestHolder();
    try {
      Thread.sleep(WAIT);
    } catch (InterruptedException e) {
      throw closing(e);
    }
    return true;
  }

  /** Waits for a live item's first result, after all that was answered has left. */
  void awaitFirst(LiveItem item) throws IOException, LiveItemException {
    connection.flush();
    try {
      item.await();
    } catch (InterruptedException e) {
      throw closing(e);
    }
  }

  private static IOException closing(InterruptedException e) {
    Thread.currentThread().interrupt();
    return (IOException) new InterruptedIOException("the server is closing").initCause(e);
  }

  /** Answers what is there, letting others go first now and then; false if that was the last. */
  private boolean answerAll() throws IOException {
    while (true) {
      var lender = workers;
      var protocol = pending != null ? pending : lender.borrow();
      pending = protocol;
      boolean going = answer(protocol);
      boolean turnOver = protocol.isTurnOver();
      if (!protocol.isPending()) {
        pending = null;
        lender.giveBack(protocol);
      }
      if (turnOver) {
        server.statistics.yields.increment();
        connection.flush();
        Fibers.letOthersRun();
      } else if (lender == workers) {
        return going;
      }
    }
  }

  private boolean answer(Protocol protocol) throws IOException {
    protocol.begin(this, rest);
    try {
      int n;
      do {
        n = protocol.in.fill();
        if (n > 0) {
          server.statistics.read.add(n);
        }
        if (begins(protocol.in)) {
          boolean binary = isBinary(protocol.in);
          if (binary ? !server.settings.speaksBinary : !server.settings.speaksText) {
            return false;
          }
          if (binary) {
            workers = server.binaryWorkers;
            return true;
          }
        }
        if (!protocol.answer(n <= 0) || (n == 0 && protocol.isStuck())) {
          return false;
        }
      } while (n > 0 && !protocol.isTurnOver());
      return n >= 0;
    } finally {
      rest = protocol.end();
    }
  }

  private boolean begins(Input in) {
    boolean first = !begun && in.available() > 0;
    begun |= first;
    return first;
  }

  /** The first byte tells; with an authentication file there is only text, as in memcached. */
  private boolean isBinary(Input in) {
    return in.byteAt(in.at) == BinaryProtocol.REQUEST && !server.authentication.isRequired();
  }
}
