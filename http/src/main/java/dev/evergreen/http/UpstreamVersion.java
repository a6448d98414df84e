package dev.evergreen.http;

/** Which version of HTTP is spoken with origins. */
public enum UpstreamVersion {
  /** HTTP/1.1. */
  HTTP_1_1,

  /** What ALPN chooses of those that the engine offers; HTTP/1.1 without TLS. */
  BY_ALPN,

  /** HTTP/2; without TLS by prior knowledge (RFC 9113 §3.3). */
  HTTP_2
}
