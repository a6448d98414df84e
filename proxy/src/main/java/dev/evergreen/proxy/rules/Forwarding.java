package dev.evergreen.proxy.rules;

import dev.evergreen.http.Fields;
import dev.evergreen.http.Hops;
import dev.evergreen.http.RequestHead;
import dev.evergreen.http.Version;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.Set;

/** What every intermediary does to the messages that pass it (RFC 9110 §7.6). */
public final class Forwarding {

  /** What is for the next recipient, too, besides {@link Hops#NAMES}. */
  private static final List<String> OF_ONE_HOP =
      List.of(
          "http2-settings",
          "proxy-authenticate",
          "proxy-authorization",
          "proxy-authentication-info");

  /**
   * Who lists these wants a request to lose what tells who it is for, how long it is, or where it
   * has been, or a response what all caches have to know of it (RFC 9110 §7.6.1 forbids to list
   * what is for all recipients); the others are taken away by themselves.
   */
  private static final Set<String> NOT_TO_BE_LISTED =
      Set.of(
          "cache-control",
          "vary",
          "host",
          "content-length",
          "transfer-encoding",
          "connection",
          "upgrade",
          "te",
          "via",
          "forwarded",
          "x-forwarded-for",
          "x-forwarded-host",
          "x-forwarded-proto");

  private Forwarding() {}

  /**
   * Takes away what is for this connection only: the fields that are known for it, and those that
   * Connection lists (§7.6.1). "TE: trailers" stays, as trailers are forwarded.
   */
  public static void strip(Fields fields) {
    boolean trailers = fields.hasMember("te", "trailers");
    stripListed(fields);
    Hops.NAMES.forEach(fields::remove);
    OF_ONE_HOP.forEach(fields::remove);
    if (trailers) {
      fields.add("TE", "trailers");
    }
  }

  /**
   * Takes away the fields that Connection lists, but not itself: what a message means is what it
   * means without them, and so are the variants that are chosen by it.
   */
  public static void stripListed(Fields fields) {
    for (var name : fields.members("connection")) {
      if (!NOT_TO_BE_LISTED.contains(name.toLowerCase(Locale.ROOT))) {
        fields.remove(name);
      }
    }
  }

  /** Says that the message passed here (§7.6.3). */
  public static void addVia(Fields fields, Version receivedBy, String name) {
    var version =
        switch (receivedBy) {
          case HTTP_1_0 -> "1.0 ";
          case HTTP_1_1 -> "1.1 ";
          case HTTP_2 -> "2.0 ";
        };
    fields.add("Via", version + name);
  }

  /** How often a message has passed proxies of a name: one that goes in a circle does so often. */
  public static long passes(Fields fields, String name) {
    return !fields.has("via")
        ? 0
        : fields.members("via").stream().filter(each -> each.endsWith(" " + name)).count();
  }

  /**
   * For how many more hops a TRACE or OPTIONS may be forwarded (§7.6.2): 0 if it is to be answered
   * here; empty if it does not say or is of another method.
   */
  public static OptionalLong maxForwards(RequestHead request) {
    var text = request.fields().get("max-forwards");
    if (text == null || !(request.is("TRACE") || request.is("OPTIONS"))) {
      return OptionalLong.empty();
    }
    long hops = Members.seconds(text, -1);
    return hops < 0 ? OptionalLong.empty() : OptionalLong.of(hops);
  }

  /** Whether a request changes nothing, so that it can be sent again (RFC 9110 §9.2.2). */
  public static boolean idempotent(String method) {
    return Statuses.idempotent(method);
  }
}
