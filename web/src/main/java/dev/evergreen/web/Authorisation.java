package dev.evergreen.web;

/**
 * Decides who may see a view or give a command. A live view asks at subscription and again before
 * each result that it delivers, so that a right that was withdrawn ends the subscription; the check
 * should therefore be quick. It may block.
 *
 * @param <P> the parameters of the view, or the command
 */
@FunctionalInterface
public interface Authorisation<P> {

  /** Whether {@code caller} may. An exception counts as no, and is logged. */
  boolean allows(Caller caller, P params);

  /** Everyone may, signed in or not. */
  static <P> Authorisation<P> everyone() {
    return (caller, params) -> true;
  }

  /** Whoever has signed in may. */
  static <P> Authorisation<P> signedIn() {
    return (caller, params) -> caller.signedIn();
  }

  /** Whoever has this role may. */
  static <P> Authorisation<P> role(String role) {
    return (caller, params) -> caller.roles().contains(role);
  }
}
