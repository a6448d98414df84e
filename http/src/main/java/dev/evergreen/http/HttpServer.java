package dev.evergreen.http;

import dev.evergreen.fibers.BuffersExhaustedException;
import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.SlowPeers;
import java.io.IOException;

/** The server's side of HTTP on connections: HTTP/1.1, HTTP/1.0, and HTTP/2. */
public final class HttpServer {
  private static final System.Logger LOG = System.getLogger(HttpServer.class.getName());

  final Fibers fibers;
  final Handler handler;
  final HttpSettings settings;
  private final SlowPeers slowPeers;

  /**
   * One that has its requests answered.
   *
   * @param fibers where the fibers of requests run
   */
  public HttpServer(Fibers fibers, Handler handler, HttpSettings settings) {
    this(fibers, handler, settings, new SlowPeers());
  }

  /**
   * One whose clients count, while they do not take output, among some that others have, too: so a
   * server can be made for one connection.
   */
  public HttpServer(Fibers fibers, Handler handler, HttpSettings settings, SlowPeers slowPeers) {
    this.fibers = fibers;
    this.handler = handler;
    this.settings = settings;
    this.slowPeers = slowPeers;
  }

  /** Why a request could not be answered. The log tells of it, but for a want of buffers. */
  static Throwable reason(RuntimeException failure) {
    if (failure.getCause() instanceof BuffersExhaustedException want) {
      return want;
    }
    LOG.log(System.Logger.Level.WARNING, "a request could not be answered", failure);
    return failure;
  }

  /** Clients for which output is kept, as they do not take it at present. */
  public SlowPeers slowPeers() {
    return slowPeers;
  }

  /**
   * Serves one connection until it ends. With TLS the version is the one that ALPN chose, or
   * HTTP/1.1; without it HTTP/2 is spoken with clients that begin with its preface.
   *
   * @param draining ends the wait for a next request when it is cancelled: that of the connection's
   *     listener
   */
  public void serve(Connection connection, CancelScope draining) throws IOException {
    connection.writeTimeout(settings.write());
    connection.whileWriterWaits(slowPeers);
    boolean secure = connection.tlsSession().isPresent();
    try (var in = new Input(connection)) {
      connection.readTimeout(settings.idle());
      if (Http2Session.isChosen(connection, in, settings, draining)) {
        new Http2Session(this, connection, in, draining, secure).serve();
      } else {
        new Http1Session(this, connection, in, draining, secure).serve();
      }
    }
  }
}
