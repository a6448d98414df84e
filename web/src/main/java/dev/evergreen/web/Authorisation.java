package dev.evergreen.web;

import java.util.function.Predicate;

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

  /**
   * Whether {@code caller} may for any parameters; asked before a command is read, so that nothing
   * is read for those who may not in any case. By default that is left to {@link #allows}.
   */
  default boolean mayAsk(Caller caller) {
    return true;
  }

  /** Everyone may, signed in or not. */
  static <P> Authorisation<P> everyone() {
    return (caller, params) -> true;
  }

  /** Whoever has signed in may. */
  static <P> Authorisation<P> signedIn() {
    return callers(Caller::signedIn);
  }

  /** Whoever has this role may. */
  static <P> Authorisation<P> role(String role) {
    return callers(caller -> caller.roles().contains(role));
  }

  /** These callers may, whatever the parameters. */
  static <P> Authorisation<P> callers(Predicate<Caller> who) {
    return new Authorisation<>() {
      @Override
      public boolean allows(Caller caller, P params) {
        return who.test(caller);
      }

      @Override
      public boolean mayAsk(Caller caller) {
        return who.test(caller);
      }
    };
  }
}
