package dev.evergreen.http;

import dev.evergreen.fibers.Connection;
import java.io.IOException;

/**
 * A request and its response, on the client's side; the same for HTTP/1.1 and HTTP/2.
 *
 * <p>One fiber sends; another one may receive at the same time, so that an answer is seen that
 * comes before the request is whole.
 *
 * {@snippet :
 * try (var exchange = upstreams.open(origin)) {
 *   exchange.send(RequestHead.of("GET", "/", Fields.of("Host", "origin.example")));
 *   var head = exchange.receive();
 *   while (head.isInformational()) {
 *     head = exchange.receive();
 *   }
 *   while (exchange.body().read(buffer) >= 0) {
 *     ...
 *   }
 * }
 * }
 */
public interface ClientExchange extends AutoCloseable {

  /**
   * Sends the request's head, which is copied. Fields that belong to one connection are left out,
   * as in {@link Exchange}, and Content-Length is written anew. A request to leave HTTP keeps its
   * Upgrade if Connection says so, too.
   *
   * @param length of the body that follows, as {@link BodyReader#length} tells it: -1 if it is not
   *     known, 0 if there is none
   * @throws HeadTooLargeException if it does not fit into a buffer, by HTTP/1.1
   * @throws NoWebSocketException if that is asked for by HTTP/2 and the origin does not take it
   */
  BodyWriter send(RequestHead head, long length) throws IOException;

  /** Sends a request without a body. */
  default void send(RequestHead head) throws IOException {
    send(head, 0).end();
  }

  /**
   * Receives the next head: informational ones (1xx), as they come, and then the final one.
   *
   * @throws MalformedMessageException if it is none, or framed such that its end is unclear
   * @throws IncompleteMessageException if the connection ended before
   * @throws java.net.SocketTimeoutException if nothing comes for as long as a peer may pause;
   *     unless that is {@linkplain #amidHead amid a head} this may be called again
   */
  ResponseHead receive() throws IOException;

  /** Whether {@link #receive} has failed when a part of a head had come. */
  boolean amidHead();

  /** The body of the final response. */
  BodyReader body();

  /** What follows 101, or 2xx to CONNECT. */
  Tunnel tunnel();

  /** Whether the connection was used before: its end may have been on the way already. */
  boolean reused();

  /**
   * Whether anything of the request may have reached the origin. If not, it can be sent again in
   * any case; an idempotent one also if nothing was {@linkplain #anyReceived received}.
   */
  boolean anySent();

  /** Whether anything of an answer was received. */
  boolean anyReceived();

  /** The connection, to ask for addresses and what TLS agreed on; not to read or write. */
  Connection connection();

  /**
   * Gives it up: whoever waits in it gets an exception, and the origin learns that it is not wanted
   * any more. Any thread may call this; {@link #close} is still to be called.
   */
  void abort();

  /**
   * Ends it: if request and response are whole the connection serves another one, else it is closed
   * (the stream of HTTP/2 is reset). To be called when no fiber uses it any more. Only the first
   * call counts.
   */
  @Override
  void close();
}
