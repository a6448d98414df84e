package dev.evergreen.proxy.rules;

/** Whether a stored response may answer a request that matches it (RFC 9111 §4). */
public enum Reuse {
  /** It is fresh. */
  FRESH,
  /** It is stale, and the request allows that. */
  STALE,
  /** It is stale, may be used once more, and is to be validated meanwhile (RFC 5861 §3). */
  STALE_WHILE_REVALIDATE,
  /** It is fresh, but the request wants it validated or younger. */
  VALIDATE_FOR_REQUEST,
  /** It must be validated. */
  VALIDATE;

  /** Judges it. */
  public static Reuse of(Life life, Demands demands, long now) {
    boolean fresh = life.fresh(now) && !life.validate();
    if (demands.noCache()) {
      return fresh ? VALIDATE_FOR_REQUEST : VALIDATE;
    }
    if (fresh) {
      return wanted(life, demands, now) ? FRESH : VALIDATE_FOR_REQUEST;
    }
    if (life.mustBeValidated()) {
      return VALIDATE;
    }
    long stale = life.staleMillis(now);
    boolean young = youngEnough(life, demands, now) && demands.minFresh() == 0;
    if (young && within(stale, life.staleWhileRevalidate())) {
      return STALE_WHILE_REVALIDATE;
    }
    return young && within(stale, demands.maxStale()) ? STALE : VALIDATE;
  }

  private static boolean within(long millis, long seconds) {
    return seconds > 0 && millis <= seconds * 1000;
  }

  private static boolean wanted(Life life, Demands demands, long now) {
    // RFC 8246 §2: a reload that does not insist needs no validation.
    boolean reload = demands.maxAge() == 0;
    return ((reload && life.immutable()) || youngEnough(life, demands, now))
        && life.lifetime() * 1000 - life.ageMillis(now) >= demands.minFresh() * 1000;
  }

  private static boolean youngEnough(Life life, Demands demands, long now) {
    return demands.maxAge() == CacheControl.ABSENT
        || life.ageMillis(now) <= demands.maxAge() * 1000;
  }

  /** Whether it may be used although the origin failed (§4.2.4, RFC 5861 §4). */
  public static boolean afterFailure(Life life, Demands demands, long now) {
    if (life.validate() || demands.noCache()) {
      return false;
    }
    long allowed = Math.max(life.staleIfError(), demands.staleIfError());
    return life.fresh(now) || (!life.neverStale() && within(life.staleMillis(now), allowed));
  }

  /** Whether a status of the origin is such a failure (RFC 5861 §4). */
  public static boolean failure(int status) {
    return Statuses.failure(status);
  }
}
