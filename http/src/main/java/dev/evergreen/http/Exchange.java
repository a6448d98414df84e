package dev.evergreen.http;

import dev.evergreen.fibers.Connection;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * A request and its response, on the server's side; the same for HTTP/1.1 and HTTP/2. It is the
 * {@link Handler}'s until that returns, with all that it gives.
 *
 * <p>One fiber answers; another one may read the request's body at the same time.
 *
 * <p>Of the fields that a handler gives, those that belong to one connection (Connection,
 * Keep-Alive, Proxy-Connection, Transfer-Encoding, Upgrade, and what Connection lists) are left
 * out; framing is this room's. Content-Length is the body's length if it is there, else the body
 * has chunks, or lasts until the connection ends, as the client's version demands.
 */
public interface Exchange {

  /** What is asked. */
  RequestHead request();

  /**
   * The request's body; it has ended at once if there is none. If the client waits for 100
   * (Continue) and was told nothing yet, the first wait for the body tells it.
   */
  BodyReader body();

  /** Whether the client waits for 100 (Continue) before it sends the body. */
  boolean awaitsContinue();

  /**
   * Sends an informational response (1xx, but for 101) at once; nothing to a client of HTTP/1.0,
   * nor by HTTP/2 to one that takes too little at present, unless it is the 100 that the client
   * waits for.
   *
   * @throws IllegalArgumentException if it is none
   * @throws IllegalStateException if the response has begun
   */
  void inform(ResponseHead head) throws IOException;

  /**
   * To be told before who answers waits for somebody else, such as an origin, and nobody reads the
   * body: so no buffer is kept meanwhile of what has come already, which others may need.
   */
  default void keepNoBuffer() {}

  /** Whether the response has begun: its head was given. */
  boolean responded();

  /**
   * Begins the response. The head is copied.
   *
   * @throws IllegalStateException if it has begun
   * @throws IllegalArgumentException if the status is informational
   */
  BodyWriter respond(ResponseHead head) throws IOException;

  /**
   * Sends a response of which nothing follows the head, no trailers either. By HTTP/2 that is not
   * the same as an end that comes behind the head: gRPC takes such a head for trailers.
   */
  default void respondByHeadAlone(ResponseHead head) throws IOException {
    respond(head).end();
  }

  /**
   * Sends a whole response; Content-Length is what remains in the buffers, unless it is one without
   * a body: to HEAD, or of status 304, when it is that of the head, if any. What is in native
   * memory may be sent without a copy; when this returns, the buffers may be used for something
   * else.
   */
  void respond(ResponseHead head, ByteBuffer... body) throws IOException;

  /**
   * Sends a whole response whose fields are kept as lines that are ready to be sent: without
   * Content-Length and those that are left out of heads; nothing checks that. To HEAD it tells the
   * length of the body, which is not sent.
   *
   * @param lines names and values as in HTTP/1.1, each line ended by CR LF
   * @param more lines that follow them
   */
  void respond(int status, ByteBuffer lines, Fields more, ByteBuffer... body) throws IOException;

  /**
   * Leaves HTTP: answers 101 to a request with Upgrade (then the head's Upgrade is sent, too), or
   * 2xx to CONNECT.
   *
   * @throws IllegalStateException if the request is neither, or the response has begun
   * @throws MalformedMessageException if the head does not accept the WebSocket that an extended
   *     CONNECT of HTTP/2 stands for; nothing was sent
   */
  Tunnel tunnel(ResponseHead head) throws IOException;

  /**
   * After the response this connection ends, instead of taking another request; in HTTP/2 it is
   * drained.
   */
  void closeAfterwards();

  /**
   * Has something run when the client leaves before it is answered: it resets the stream, or its
   * connection ends, or by HTTP/1.1 just its side of that; at once if that is known already. It may
   * run more than once, by any thread, and must not block. By HTTP/1.1 only sockets in mode
   * PROCESSORS tell it.
   *
   * @param told what is run, or null for nothing any more; to be taken back before the handler
   *     returns
   */
  void whenClientLeaves(@Nullable Runnable told) throws IOException;

  /** The client's connection, to ask for addresses and what TLS agreed on; not to read or write. */
  Connection connection();
}
