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
 *   exchange.send(RequestHead.of("GET", "/", Fields.of("Host", "origin.example"))).end();
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
   * as in {@link Exchange}; with Upgrade and {@code Connection: upgrade} in the head it is a
   * request to leave HTTP, and both are sent. With Content-Length the body is that long; without it
   * has chunks, if {@code Transfer-Encoding: chunked} says so, else there is none.
   */
  BodyWriter send(RequestHead head) throws IOException;

  /**
   * Receives the next head: informational ones (1xx), as they come, and then the final one.
   *
   * @throws MalformedMessageException if it is none, or framed such that its end is unclear
   * @throws IncompleteMessageException if the connection ended before
   */
  ResponseHead receive() throws IOException;

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
   * Ends it: if request and response are whole the connection serves another one, else it is closed
   * (the stream of HTTP/2 is reset). Any thread may call this; only the first call counts.
   */
  @Override
  void close();
}
