package dev.evergreen.fibers;

import java.io.IOException;
import java.net.SocketAddress;
import java.time.Duration;

/** A socket that takes connections. */
public sealed interface Listener extends AutoCloseable permits ListenerBase {

  /** Talks with one peer, from the first byte to the last. */
  @FunctionalInterface
  interface Handler {
    /** Returns, or throws, when the connection is to be closed. Output is flushed if it returns. */
    void serve(Connection connection) throws IOException;
  }

  /** Where it listens; with the port that was chosen if any was wanted. */
  SocketAddress address();

  /**
   * Waits for the next connection. One fiber at a time may do so.
   *
   * @throws java.nio.channels.ClosedChannelException if the listener is closed, before or meanwhile
   * @throws IOException if there are too many open files
   */
  Connection accept() throws IOException;

  /** Serves without a limit; see {@link #serve(Handler, ConnectionLimit, Handler)}. */
  default void serve(Handler handler) {
    serve(handler, new ConnectionLimit(Integer.MAX_VALUE), _ -> {});
  }

  /**
   * Accepts until the listener is closed or a {@link CancelScope} ends it, and serves each
   * connection by a fiber of its own, on the processors in turn. Blocks until then, and while it is
   * {@linkplain #drain drained} until the connections have ended: who closes the runtime next ends
   * none of them too soon. If there are too many open files it goes on when some are closed.
   * However many connect, fibers that are ready run in between.
   *
   * @param limit how many are served at a time, here and at other listeners that have the same one
   * @param refusal talks with each connection beyond it, before that is closed: a few words, as it
   *     runs in this fiber, nothing is made for the connection, and what is not sent at once is not
   *     waited for
   */
  void serve(Handler handler, ConnectionLimit limit, Handler refusal);

  /**
   * Is cancelled when the listener is {@linkplain #drain drained}. The wait of a handler for its
   * client's next request belongs in this scope: it ends then, while requests that have begun are
   * answered. Whether it is {@linkplain CancelScope#cancelled cancelled} says whether a reply
   * should tell the client that it is the last. The first request of a new connection may be on its
   * way when its listener is drained: the wait for that belongs outside, with a time limit.
   */
  CancelScope draining();

  /**
   * Stops listening, and lets the connections that {@link #serve(Handler, ConnectionLimit, Handler)
   * serve} serves come to their end; after a time those that are left are closed. Blocks until all
   * have ended or are closed. Any thread may call this.
   *
   * <p>What the system has accepted for this listener before is served, too. If another one listens
   * at the same port ({@link SocketOptions#reusePort}), it gets all new connections from now on,
   * and for half a second, within the grace, those that were just being made are completed here. So
   * no client is refused or reset. In mode JDK that holds only for those that came some
   * milliseconds before the end, and the system goes on spreading new ones until then.
   *
   * @param grace how long they may go on
   * @return whether all have ended by themselves
   */
  boolean drain(Duration grace);

  /** Stops listening. Connections that were accepted stay. */
  @Override
  void close();
}
