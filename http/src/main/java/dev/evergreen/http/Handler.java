package dev.evergreen.http;

import java.io.IOException;

/** Answers requests. */
@FunctionalInterface
public interface Handler {

  /**
   * Answers one. Runs in a fiber of the request's connection (HTTP/1.1), or of its own (HTTP/2).
   *
   * <p>If it returns without having responded, or throws before, the client gets 500; if it throws
   * later, or leaves a body of unknown length without an end, or one that is too short, the client
   * learns that the response is not whole. What it leaves of the request's body is dropped, up to a
   * limit.
   */
  void handle(Exchange exchange) throws IOException;
}
