package dev.evergreen.http;

import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.FibersClosedException;
import dev.evergreen.fibers.WaitCancelledException;
import java.io.IOException;
import java.net.SocketTimeoutException;

/** A client's connection by HTTP/1.1, whose requests are answered in their order. */
final class Http1Session {
  /** After so many that came together others have their turn. */
  private static final int REQUESTS_PER_TURN = 32;

  private final HttpServer server;
  private final Connection connection;
  private final Input in;
  private final CancelScope draining;
  private final Http1Exchange exchange;
  private final boolean secure;
  private int inTurn;
  private boolean begun;

  Http1Session(
      HttpServer server, Connection connection, Input in, CancelScope draining, boolean secure) {
    this.server = server;
    this.connection = connection;
    this.in = in;
    this.draining = draining;
    this.secure = secure;
    exchange = new Http1Exchange(connection, in, server.settings, draining, secure);
  }

  /** Serves the client until it, or the protocol, ends. */
  void serve() throws IOException {
    boolean going = true;
    while (going && awaitRequest()) {
      begun = true;
      going = answer();
    }
    if (going && secure) {
      // Else nobody could tell this end from one that was cut off.
      connection.shutdownOutput();
    } else {
      connection.flush();
    }
  }

  /** Waits until something of the next request is there; false if there will be none. */
  private boolean awaitRequest() throws IOException {
    if (in.available() > 0) {
      if (++inTurn % REQUESTS_PER_TURN == 0) {
        connection.flush();
        Fibers.letOthersRun();
      }
      return true;
    }
    connection.readTimeout(server.settings.idle());
    try {
      do {
        draining.run(in::awaitMore);
        if (in.fill()) {
          return true;
        }
      } while (!in.ended());
    } catch (WaitCancelledException e) {
      // The first request of a new connection may be on its way.
      return !begun && in.awaitFirst(server.settings.lingering());
    } catch (SocketTimeoutException e) {
      // Nothing was asked.
    }
    return false;
  }

  private boolean answer() throws IOException {
    connection.readTimeout(server.settings.read());
    try {
      exchange.receive();
    } catch (MalformedMessageException e) {
      return exchange.refuse(e.status(), e.getMessage());
    } catch (IncompleteMessageException e) {
      return false;
    } catch (SocketTimeoutException e) {
      return exchange.refuse(408, "the request did not come in time");
    }
    try {
      server.handler.handle(exchange);
    } catch (IOException e) {
      exchange.failed(e);
      return false;
    } catch (FibersClosedException e) {
      throw e; // Nothing is wrong with the request: all ends.
    } catch (RuntimeException e) {
      exchange.failed(HttpServer.reason(e));
      return false;
    }
    return exchange.finish();
  }
}
