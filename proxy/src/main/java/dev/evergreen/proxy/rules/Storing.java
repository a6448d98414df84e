package dev.evergreen.proxy.rules;

import dev.evergreen.http.Fields;
import dev.evergreen.http.RequestHead;
import dev.evergreen.http.ResponseHead;
import java.util.Set;

/** Whether a response may be stored (RFC 9111 §3), and what of it. */
public enum Storing {
  /** It may. */
  YES,
  /** The method is not one whose responses are stored. */
  METHOD,
  /** The status is not understood, or not final, or one that only makes sense to who asked. */
  STATUS,
  /** The request or the response forbids it. */
  NO_STORE,
  /** It is for one user. */
  PRIVATE,
  /** It was asked for with credentials, and does not say that all may have it. */
  AUTHORIZATION,
  /** It varies by what no request shows. */
  VARY,
  /** It sets a cookie, and does not say that all may have it. */
  COOKIE,
  /** It says nothing of its freshness, and nothing by which it could be validated. */
  UNSAID;

  /** Fields that are never stored (RFC 9111 §3.1, RFC 9110 §7.6.1). */
  private static final Set<String> NEVER =
      Set.of(
          "connection",
          "keep-alive",
          "proxy-connection",
          "te",
          "trailer",
          "transfer-encoding",
          "upgrade",
          "proxy-authenticate",
          "proxy-authorization",
          "proxy-authentication-info");

  /**
   * Judges a response.
   *
   * @param received when its head was received, in milliseconds since 1970
   */
  public static Storing of(
      RequestHead request, ResponseHead response, long received, CacheRules rules) {
    var fields = response.fields();
    var directives = Directives.of(fields, rules);
    var control = directives.control();
    boolean understood = Statuses.understood(response.status());
    if (!request.is("GET")) {
      return METHOD;
    }
    // A part is judged as what it is a part of. 304 is none of the request's that was asked here,
    // and 416 tells of its range only.
    int status = response.status();
    if (status < 200 || status == 206 || status == 304 || status == 416) {
      return STATUS;
    }
    if (control.has("must-understand") && !understood) {
      return STATUS;
    }
    if ((control.has("no-store") && !control.has("must-understand"))
        || CacheControl.of(request.fields().all("cache-control")).has("no-store")) {
      return NO_STORE;
    }
    if (control.hasBare("private")) {
      return PRIVATE;
    }
    if (request.fields().has("authorization") && !shareable(control)) {
      return AUTHORIZATION;
    }
    if (Vary.of(fields).isEmpty()) {
      return VARY;
    }
    boolean explicit =
        control.has("public") || Life.explicitLifetime(fields, directives, received).isPresent();
    if (!explicit && !Statuses.heuristic(response.status())) {
      return STATUS;
    }
    if (setsCookieForOne(fields, directives, received)) {
      return COOKIE;
    }
    var life = Life.of(response, directives, received, received, rules);
    return useful(fields, life) ? YES : UNSAID;
  }

  /**
   * Whether a response sets a cookie and does not say that others may get it as it is. Who says
   * nothing, or wants to be asked each time, may mean the cookie for who has asked (§7.3 leaves
   * that to caches).
   */
  static boolean setsCookieForOne(ResponseHead response, long received, CacheRules rules) {
    var fields = response.fields();
    return setsCookieForOne(fields, Directives.of(fields, rules), received);
  }

  private static boolean setsCookieForOne(Fields fields, Directives directives, long received) {
    if (!fields.has("set-cookie")) {
      return false;
    }
    var control = directives.control();
    boolean lives = Life.explicitLifetime(fields, directives, received).orElse(0) > 0;
    boolean forAll = control.has("public") || (lives && !control.hasBare("no-cache"));
    return !forAll && !control.namedFields().contains("set-cookie");
  }

  /** Whether a response may be stored although it was asked for with credentials (§3.5). */
  public static boolean shareable(Fields response, CacheRules rules) {
    return shareable(Directives.of(response, rules).control());
  }

  private static boolean shareable(CacheControl control) {
    return control.has("public") || control.has("must-revalidate") || control.has("s-maxage");
  }

  /** What can be used neither fresh nor stale nor after a validation would lie around. */
  private static boolean useful(Fields fields, Life life) {
    return !Validators.of(fields).isEmpty()
        || (!life.validate() && life.lifetime() > 0)
        || (!life.mustBeValidated() && life.staleWhileRevalidate() + life.staleIfError() > 0);
  }

  /**
   * Whether a response with such a status tells what there is now, though it is not stored. Others
   * tell what was wrong with the request, or that the origin has trouble; and who asks in a certain
   * way can have an origin answer so.
   */
  public static boolean tellsOfResource(int status) {
    return (status >= 200 && status < 400 && status != 304) || status == 404 || status == 410;
  }

  /** Whether a response names fields that are not stored with it (§5.2.2.4, §5.2.2.7). */
  public static boolean leavesOut(ResponseHead response, CacheRules rules) {
    return !Directives.of(response.fields(), rules).control().namedFields().isEmpty();
  }

  /** The fields of a response that are stored (§3.1). */
  public static Fields fields(ResponseHead response, CacheRules rules) {
    var stored = endToEnd(response);
    Directives.of(response.fields(), rules).control().namedFields().forEach(stored::remove);
    return stored;
  }

  /** The fields of a response that are for more than one connection and one moment. */
  static Fields endToEnd(ResponseHead response) {
    var fields = response.fields().copy();
    Forwarding.stripListed(fields);
    NEVER.forEach(fields::remove);
    return fields.remove("age");
  }
}
