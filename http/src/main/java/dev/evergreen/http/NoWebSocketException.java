package dev.evergreen.http;

import java.io.IOException;

/**
 * A WebSocket was asked for on a connection by HTTP/2 whose origin does not take that (RFC 8441).
 * Nothing was sent. The origin may take it by HTTP/1.1: {@link Upstreams#openByHttp1}.
 */
public final class NoWebSocketException extends IOException {
  private static final long serialVersionUID = 1;

  NoWebSocketException() {
    super("the origin takes no WebSockets by HTTP/2");
  }
}
