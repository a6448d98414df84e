package dev.evergreen.proxy.rules;

import dev.evergreen.http.Fields;

/**
 * What a request demands of a cache (RFC 9111 §5.2.1).
 *
 * @param maxAge how old a response may be, in seconds, or {@link CacheControl#ABSENT}
 * @param minFresh for how many seconds more it must be fresh; 0 if the request does not say
 * @param maxStale for how many seconds it may be stale; 0 if the request does not say
 * @param staleIfError for how many seconds it may be stale if the origin fails (RFC 5861); 0 if the
 *     request does not say
 * @param noCache whether a response must be validated
 * @param noStore whether the answer must not be stored
 * @param onlyIfCached whether the origin must not be asked
 */
public record Demands(
    long maxAge,
    long minFresh,
    long maxStale,
    long staleIfError,
    boolean noCache,
    boolean noStore,
    boolean onlyIfCached) {

  /** Of a request without demands. */
  public static final Demands NONE = new Demands(CacheControl.ABSENT, 0, 0, 0, false, false, false);

  /** Those of a request. */
  public static Demands of(Fields request) {
    if (!request.has("cache-control")) {
      // §5.4: Pragma counts only without Cache-Control.
      return request.hasMember("pragma", "no-cache")
          ? new Demands(CacheControl.ABSENT, 0, 0, 0, true, false, false)
          : NONE;
    }
    var control = CacheControl.of(request.all("cache-control"));
    return new Demands(
        control.seconds("max-age"),
        Math.max(0, control.seconds("min-fresh")),
        control.hasBare("max-stale")
            ? CacheControl.LONGEST
            : Math.max(0, control.seconds("max-stale")),
        Math.max(0, control.seconds("stale-if-error")),
        control.has("no-cache"),
        control.has("no-store"),
        control.has("only-if-cached"));
  }
}
