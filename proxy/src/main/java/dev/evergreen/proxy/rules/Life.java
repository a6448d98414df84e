package dev.evergreen.proxy.rules;

import dev.evergreen.http.Fields;
import dev.evergreen.http.HttpDate;
import dev.evergreen.http.ResponseHead;
import java.util.OptionalLong;

/**
 * How long a stored response may be used, and how (RFC 9111 §4.2). What is compared with dates of
 * messages is of the machine's clock, which may be set; the time since then is counted by one that
 * does not go back. Both are in milliseconds since 1970.
 *
 * @param received when the response was received, by the clock that does not go back
 * @param initialAge how old it was then, in milliseconds
 * @param lifetime for how many seconds of its age it is fresh
 * @param validate whether each use needs a validation ({@code no-cache})
 * @param neverStale whether it must not be used when it is stale ({@code must-revalidate}, {@code
 *     proxy-revalidate}, {@code s-maxage})
 * @param immutable whether it does not change while it is fresh (RFC 8246)
 * @param staleWhileRevalidate for how many seconds more it may be used while it is validated (RFC
 *     5861)
 * @param staleIfError for how many seconds more it may be used when that fails (RFC 5861)
 */
public record Life(
    long received,
    long initialAge,
    long lifetime,
    boolean validate,
    boolean neverStale,
    boolean immutable,
    long staleWhileRevalidate,
    long staleIfError) {

  /** So far clocks of one machine may be apart, in milliseconds. */
  private static final long SKEW = 60_000;

  /**
   * Of a response. Its age is counted from when it was received, unless {@link #since} tells more.
   *
   * @param requested when the request for it was sent
   * @param received when its head was received, by the clock by which dates are told
   */
  public static Life of(ResponseHead response, long requested, long received, CacheRules rules) {
    return of(response, Directives.of(response.fields(), rules), requested, received, rules);
  }

  static Life of(
      ResponseHead response,
      Directives directives,
      long requested,
      long received,
      CacheRules rules) {
    var control = directives.control();
    long staleIfError = control.seconds("stale-if-error");
    return new Life(
        received,
        initialAge(response.fields(), requested, received),
        lifetime(response, directives, received, rules),
        control.hasBare("no-cache"),
        control.has("must-revalidate")
            || control.has("proxy-revalidate")
            || control.has("s-maxage"),
        control.has("immutable"),
        Math.max(0, control.seconds("stale-while-revalidate")),
        staleIfError == CacheControl.ABSENT ? rules.staleIfError().toSeconds() : staleIfError);
  }

  /** §4.2.3. */
  private static long initialAge(Fields response, long requested, long received) {
    long apparent = Math.max(0, received - date(response, received));
    long told = receivedAge(response).orElse(0);
    return Math.max(apparent, told * 1000 + received - requested);
  }

  /**
   * The Age that was received, in seconds, at most {@link CacheControl#LONGEST}: of a list the
   * first member. Empty if there is none, or it is no number, and so does not count (§5.1).
   */
  public static OptionalLong receivedAge(Fields response) {
    if (!response.has("age")) {
      return OptionalLong.empty();
    }
    var members = response.members("age");
    long seconds = members.isEmpty() ? -1 : Members.seconds(members.getFirst(), -1);
    return seconds < 0 ? OptionalLong.empty() : OptionalLong.of(seconds);
  }

  /** When the response was made; when it was received if it does not say. */
  static long date(Fields response, long received) {
    var date = response.get("date");
    return date == null ? received : HttpDate.parse(date, received).orElse(received);
  }

  /** §4.2.1. */
  private static long lifetime(
      ResponseHead response, Directives directives, long received, CacheRules rules) {
    var explicit = explicitLifetime(response.fields(), directives, received);
    return explicit.isPresent()
        ? explicit.getAsLong()
        : heuristicLifetime(response, directives.control(), received, rules);
  }

  static OptionalLong explicitLifetime(Fields response, Directives directives, long received) {
    for (var name : new String[] {"s-maxage", "max-age"}) {
      long seconds = directives.control().seconds(name);
      if (seconds != CacheControl.ABSENT) {
        return OptionalLong.of(seconds);
      }
    }
    if (directives.targeted() || !response.has("expires")) {
      return OptionalLong.empty();
    }
    // What is no date is in the past (§5.3), and so are two dates.
    var expires = response.all("expires");
    var end =
        expires.size() == 1 ? HttpDate.parse(expires.getFirst(), received) : OptionalLong.empty();
    long lifetime = end.isEmpty() ? 0 : (end.getAsLong() - date(response, received)) / 1000;
    return OptionalLong.of(Math.clamp(lifetime, 0, CacheControl.LONGEST));
  }

  /** §4.2.2. Who sets a cookie did not mean to be stored unless it said so. */
  private static long heuristicLifetime(
      ResponseHead response, CacheControl control, long received, CacheRules rules) {
    var fields = response.fields();
    var changed = fields.get("last-modified");
    boolean allowed =
        (Statuses.heuristic(response.status()) || control.has("public"))
            && !fields.has("set-cookie");
    if (!allowed) {
      return 0;
    }
    var negative = rules.negative().get(response.status());
    if (negative != null) {
      return Math.clamp(negative.toSeconds(), 0, CacheControl.LONGEST);
    }
    if (changed == null) {
      return 0;
    }
    var since = HttpDate.parse(changed, received);
    if (since.isEmpty()) {
      return 0;
    }
    double age = (date(fields, received) - since.getAsLong()) / 1000.0;
    return Math.clamp((long) (age * rules.heuristicShare()), 0, rules.heuristicMost().toSeconds());
  }

  /** Whether nobody may have it stale, whatever the request allows. */
  public boolean mustBeValidated() {
    return validate || neverStale;
  }

  /**
   * How old it is, in milliseconds. What will have been received was stored by another process,
   * when the clock had not been set back: nobody knows how old it is, so it is as old as can be.
   */
  public long ageMillis(long now) {
    long resident = now - received;
    return resident < -SKEW ? CacheControl.LONGEST * 1000 : initialAge + Math.max(0, resident);
  }

  /** How old it is in seconds: its Age. */
  public long age(long now) {
    return Math.min(ageMillis(now) / 1000, CacheControl.LONGEST);
  }

  /** For how many seconds more than its age it is fresh; 0 or less if it is not. */
  public long ttl(long now) {
    return lifetime - age(now);
  }

  /** Whether it is fresh: younger than its lifetime. */
  public boolean fresh(long now) {
    return ageMillis(now) < lifetime * 1000;
  }

  /** Since when it is stale, in milliseconds; negative while it is fresh. */
  long staleMillis(long now) {
    return ageMillis(now) - lifetime * 1000;
  }

  /** When it was made, as far as its age tells. */
  public long made() {
    return received - initialAge;
  }

  /** The same, received at a moment of the clock that does not go back. */
  public Life since(long moment) {
    return new Life(
        moment,
        initialAge,
        lifetime,
        validate,
        neverStale,
        immutable,
        staleWhileRevalidate,
        staleIfError);
  }

  /**
   * The same, but stale since a moment if it was not before, as after a soft purge. As lifetimes
   * are of whole seconds, that moment may be taken for one up to a second earlier.
   */
  public Life endedAt(long then) {
    return new Life(
        received,
        initialAge,
        Math.min(lifetime, Math.floorDiv(then - made(), 1000)),
        validate,
        neverStale,
        immutable,
        staleWhileRevalidate,
        staleIfError);
  }

  /** Whether it is never used without a validation, as there is something else now. */
  public boolean isRetired() {
    return equals(retired());
  }

  /** The same, but never used without a validation. */
  public Life retired() {
    return new Life(received, initialAge, 0, true, true, false, 0, 0);
  }
}
