package dev.evergreen.web;

import dev.evergreen.core.Computation;
import java.util.Optional;

/** Finds out who is asking, from a cookie or a header. */
@FunctionalInterface
public interface Authenticator {

  /**
   * The caller; {@link Caller#ANONYMOUS} when the request carries no credentials. Called once for
   * each request and once for each live connection, and again when a body had to be waited for, and
   * right before a view's result is sent: the caller may be gone by then. On a virtual thread; may
   * block.
   *
   * @throws WebException with status 401 to refuse credentials that are wrong
   */
  Caller authenticate(Request request);

  /**
   * The caller as it is now, as a computation over grains. The server keeps it true for as long as
   * the caller has live connections, on whichever node; a result that differs from {@code caller}
   * ends them, so that they come back and are authenticated anew. Empty, as by default, for a
   * caller that stays as it is until its session's time is over. An exception changes nothing at
   * first, and neither does a result that is in doubt; when that has lasted for {@link
   * WebSettings#callerDoubtFor}, the connections end, too.
   *
   * @param caller as {@link #authenticate} found it
   */
  default Optional<Computation<Caller>> standing(Caller caller) {
    return Optional.empty();
  }
}
