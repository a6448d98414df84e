package dev.evergreen.web;

/**
 * Finds out who is asking, from a cookie or a header. Called once for each request and once for
 * each live connection, on a virtual thread; it may block.
 */
@FunctionalInterface
public interface Authenticator {

  /**
   * The caller; {@link Caller#ANONYMOUS} when the request carries no credentials.
   *
   * @throws WebException with status 401 to refuse credentials that are wrong
   */
  Caller authenticate(Request request);
}
