package dev.evergreen.web;

import java.util.Optional;

/** An HTTP request, as far as handlers and authenticators need it. */
public interface Request {

  /** The method in upper case. */
  String method();

  /** The path, decoded and normalised, starting with '/'. */
  String path();

  /** What of the path follows the prefix of a route that ends with {@code /*}; else empty. */
  String pathRest();

  /** The first value of a query parameter. */
  Optional<String> query(String name);

  /** The first value of a header, whose name is case-insensitive. */
  Optional<String> header(String name);

  /** The value of a cookie. */
  Optional<String> cookie(String name);

  /** The address of the client; of the proxy, where one stands between that is not known. */
  String remoteAddress();

  /** Who asks. In an {@link Authenticator}: {@link Caller#ANONYMOUS}. */
  Caller caller();

  /**
   * The body, decoded from JSON strictly. Blocks until it has arrived.
   *
   * @throws WebException with 400, 408, 413 or 415 if there is none, or none that fits
   */
  <T> T body(Class<T> type);
}
