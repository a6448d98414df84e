package dev.evergreen.memcached;

import dev.evergreen.fibers.Connection;
import dev.evergreen.memcached.Protocol.Step;
import dev.evergreen.memcached.Watchers.Topic;
import dev.evergreen.memcached.live.LiveItem;
import dev.evergreen.memcached.live.LiveItemException;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One client's connection: waits for requests, has them answered, and waits again. All that came is
 * answered before the replies leave together.
 */
final class Session {
  /** A time that does not come. */
  static final Duration FOR_EVER = Duration.ofSeconds(Long.MAX_VALUE);

  /** So many waits for room last three seconds together. */
  private static final int MOST_WAITS = 196;

  /** Tells it from others, in lists for people. */
  final int number;

  final Connection connection;
  final Input in;
  private final MemcachedServer server;

  /** Whether the client may say anything but who he is. */
  boolean authenticated;

  /** Whether the request that is read was logged when a part of it had come. */
  boolean told;

  private @Nullable Set<Topic> watched;

  Session(MemcachedServer server, Connection connection, int number) {
    this.server = server;
    this.connection = connection;
    this.number = number;
    in = new Input(server, connection);
    authenticated = !server.authentication.isRequired();
  }

  /** What it is doing, by memcached's names; a moment ago is good enough. */
  String state() {
    if (watched != null) {
      return "conn_watch";
    }
    if (in.isAmidValue()) {
      return "conn_nread";
    }
    if (server.blockedWriters.keepFor(connection) || server.valueHolders.keepFor(connection)) {
      return "conn_mwrite";
    }
    return in.isWaiting() ? "conn_read" : "conn_parse_cmd";
  }

  /** From now on the connection only watches. */
  void watch(Set<Topic> topics) {
    watched = topics;
  }

  /**
   * Serves the client until it or the protocol ends.
   *
   * @return whether the client ended it, and not the protocol because of what the client said
   */
  boolean serve() throws IOException {
    var idle = server.settings.idleTimeout;
    connection.readTimeout(idle.isZero() ? FOR_EVER : idle);
    connection.writeTimeout(server.settings.writeTimeout);
    connection.whileWriterWaits(server.blockedWriters);
    server.sessions.put(number, this);
    tell("new client connection");
    try {
      boolean inOrder = answerAll();
      if (watched != null && !server.watchers.watch(server, connection, watched)) {
        connection.write(TextProtocol.bytes("WATCHER_TOO_MANY log watcher limit reached\r\n"));
      }
      return inOrder;
    } finally {
      server.sessions.remove(number, this);
      tell("connection closed.");
    }
  }

  private boolean answerAll() throws IOException {
    try (in) {
      if (!in.awaitRequest()) {
        return true;
      }
      boolean binary = isBinary();
      if (!binary && !server.settings.speaksText) {
        return false;
      }
      return answerAll(binary ? server.binaryWorkers : server.textWorkers);
    } catch (EOFException e) {
      tell("gone amid a request");
      return true;
    }
  }

  /** Answers whether the client ended that. */
  private boolean answerAll(Workers workers) throws IOException {
    while (true) {
      switch (answerSome(workers)) {
        case DONE -> {
          if (!in.awaitRequest()) {
            return true;
          }
        }
        case PART -> in.more();
        case LEAVE -> {
          return true;
        }
        case CLOSE -> {
          return false;
        }
      }
    }
  }

  /**
   * The first byte tells, if both are spoken; with an authentication file there is only text, as in
   * memcached.
   */
  private boolean isBinary() {
    return in.byteAt(in.at) == BinaryProtocol.REQUEST
        && server.settings.speaksBinary
        && !server.authentication.isRequired();
  }

  private Step answerSome(Workers workers) throws IOException {
    var worker = workers.borrow();
    try {
      return worker.answer(this);
    } finally {
      workers.giveBack(worker);
    }
  }

  private void tell(String what) {
    if (server.verbosity > 1) {
      server.tell("<" + number + " " + what);
    }
  }

  /**
   * Waits a moment for others to let go of what they hold, after all that was answered has left.
   * Nobody is told when they do: each who lets go would wake all who wait, of whom there may be
   * hundreds, for what one of them gets; and in order they would wait for one that needs more.
   * Those who hold too long are to be looked for now and then in any case.
   *
   * @param tries how often it has waited for the same
   * @return false if that was long enough, or if too many buffers are held for such waits
   */
  boolean awaitRoom(int tries) throws IOException {
    // Also if it does not wait itself: else who holds too long would never be hung up on.
    server.hangUpOnSlowestHolder();
    if (tries == MOST_WAITS || server.isShortOfBuffers()) {
      return false;
    }
    connection.flush();
    server.pause(tries);
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

  /** What ends a connection whose fiber was interrupted. */
  static IOException closing(InterruptedException e) {
    Thread.currentThread().interrupt();
    return (IOException) new InterruptedIOException("the server is closing").initCause(e);
  }
}
