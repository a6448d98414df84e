package dev.evergreen.http;

/** A connection to an origin that can have an exchange. */
sealed interface Upstream permits Http1Upstream, Http2Upstream {

  /** Begins an exchange, for which there is a place in the pool. */
  ClientExchange begin(Pool pool, boolean reused);
}
