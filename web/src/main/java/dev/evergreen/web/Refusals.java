package dev.evergreen.web;

/** Refusals that are made in several places. */
final class Refusals {

  private Refusals() {}

  /**
   * Does nothing if {@code allowed}.
   *
   * @throws WebException 401 if the caller has not signed in, else 403
   */
  static void require(boolean allowed, Caller caller) {
    if (!allowed) {
      throw caller.signedIn()
          ? new WebException(403, "forbidden", "You may not do this.")
          : new WebException(401, "unauthenticated", "Sign in first.");
    }
  }
}
