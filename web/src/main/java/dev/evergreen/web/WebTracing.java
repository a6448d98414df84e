package dev.evergreen.web;

/**
 * Follows the work on each request, for traces. Thread-safe; must neither block nor throw. The
 * module {@code telemetry} has one for OpenTelemetry.
 */
public interface WebTracing {

  /** Traces nothing. */
  WebTracing NONE = (request, route) -> status -> {};

  /**
   * A request has come, and is worked on by this thread from now on.
   *
   * @param request its client's address is known, but not yet who that is
   * @param route what the application calls it: the path of a route, a command or a view; empty for
   *     files and for what is not there
   */
  Span begin(Request request, String route);

  /** The work on one request. */
  interface Span {

    /** It has ended, on the thread that it began on; the answer may not be taken yet. */
    void end(int status);
  }
}
