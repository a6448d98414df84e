package dev.evergreen.proxy;

import dev.evergreen.http.Fields;
import dev.evergreen.http.Origin;
import dev.evergreen.http.RequestHead;
import dev.evergreen.http.Version;
import dev.evergreen.proxy.rules.CacheKey;
import dev.evergreen.proxy.rules.Forwarding;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What an origin is asked for a client. */
final class OriginRequests {

  /** What the proxy says to all origins, as it is part of the key. */
  private static final Set<String> OF_THE_KEY = Set.of("x-forwarded-host", "x-forwarded-proto");

  /** By what some origins let themselves be told how the request was, which no key has. */
  private static final Set<String> SHAPING =
      Set.of(
          "forwarded",
          "x-forwarded-for",
          "x-forwarded-port",
          "x-forwarded-prefix",
          "x-forwarded-scheme",
          "x-forwarded-server",
          "x-forwarded-ssl",
          "x-original-host",
          "x-original-url",
          "x-rewrite-url",
          "x-host",
          "proxy"); // CGI makes HTTP_PROXY of it, which many programs take for a setting.

  /** By what some origins take a request for one of another method. */
  private static final Set<String> METHODS =
      Set.of("x-http-method-override", "x-http-method", "x-method-override");

  /** Protocols in which requests would pass that nobody checks. */
  private static final Set<String> OTHER_HTTP = Set.of("h2", "h2c", "http", "tls");

  /** RFC 9110 §7.8: a name and maybe a version, both tokens. */
  private static final Pattern PROTOCOL =
      Pattern.compile("([\\w!#$%&'*+.^`|~-]+)(/[\\w!#$%&'*+.^`|~-]+)?");

  private OriginRequests() {}

  /** The authority by which origins are asked, which is also that of the key. */
  static String authority(RequestHead request, Client client, Proxy.Setup setup) {
    if (setup.settings().forward != null) {
      return CacheKey.normal(request.namedScheme(), request.authority());
    }
    if (setup.settings().keepHost && !request.authority().isEmpty()) {
      return CacheKey.normal(client.scheme(), request.authority());
    }
    return setup.settings().origins.getFirst().authority();
  }

  /** The origin that a request names by a whole URI that can be asked for; else null. */
  static @Nullable Origin named(RequestHead request) {
    var scheme = request.namedScheme();
    boolean secure = scheme.equals("https");
    boolean known = request.namesScheme() && (secure || scheme.equals("http"));
    return known ? Origin.parse(secure, request.authority(), secure ? 443 : 80) : null;
  }

  /** Whether it is an extended CONNECT (RFC 8441): no other request of HTTP/2 has an Upgrade. */
  static boolean standsForConnect(RequestHead request) {
    return request.version() == Version.HTTP_2 && request.fields().has("upgrade");
  }

  /** A copy of a client's request as it goes to an origin, without its body's length. */
  static RequestHead of(RequestHead request, String authority, Client client, Proxy.Setup setup) {
    var settings = setup.settings();
    var head = RequestHead.of(request.method(), request.path(), request.fields().copy());
    var fields = head.fields();
    var upgrade = upgrade(request);
    Forwarding.strip(fields);
    fields.remove("expect").set("Host", authority);
    if (!upgrade.isEmpty()) {
      fields.add("Connection", "upgrade").add("Upgrade", upgrade);
    }
    Forwarding.maxForwards(request).ifPresent(hops -> fields.set("Max-Forwards", hops - 1));
    boolean get = request.is("GET") || request.is("HEAD");
    removeShaping(get, fields, settings.trust.includes(client.peer()));
    if (settings.addForwarded && settings.forward == null) {
      addForwarded(fields, request, authority, client, settings);
    }
    Forwarding.addVia(fields, request.version(), settings.name);
    return head;
  }

  /**
   * Takes away what only the proxy says, as it shapes answers that others get, too; also if it has
   * "_" for "-", which is the same to many origins (RFC 3875 §4.1.18).
   */
  private static void removeShaping(boolean get, Fields fields, boolean trusted) {
    for (int line = fields.count() - 1; line >= 0; line--) {
      if (mayShape(fields, line)) {
        var name = fields.name(line).replace('_', '-').toLowerCase(Locale.ROOT);
        // What another method makes of a GET must not be kept as its answer.
        boolean ofOthers = SHAPING.contains(name) || (get && METHODS.contains(name));
        if (OF_THE_KEY.contains(name) || (ofOthers && !trusted)) {
          fields.removeLine(line);
        }
      }
    }
  }

  /** What may come behind a client's body, as far as it shapes no answer. */
  static Fields trailers(Fields fields) {
    if (fields.count() == 0) {
      return fields;
    }
    var kept = fields.copy();
    removeShaping(true, kept, false);
    return kept;
  }

  /** All of these begin so; most other fields do not, and need not be looked at as text. */
  private static boolean mayShape(Fields fields, int line) {
    return switch (fields.nameByte(line, 0)) {
      case 'x', 'X' -> fields.nameByte(line, 1) == '-' || fields.nameByte(line, 1) == '_';
      case 'f', 'F', 'p', 'P' -> true;
      default -> false;
    };
  }

  /** To what the client wants to change the protocol, and may; empty if to nothing. */
  static String upgrade(RequestHead request) {
    if (!request.fields().has("upgrade")
        || request.version() == Version.HTTP_1_0 // RFC 9110 §7.8
        || !request.fields().hasMember("connection", "upgrade")) {
      return "";
    }
    var wanted = request.fields().members("upgrade");
    return wanted.stream().allMatch(OriginRequests::mayPass) ? String.join(", ", wanted) : "";
  }

  /** An origin may divide what is no protocol in another way, and find one that does not pass. */
  private static boolean mayPass(String protocol) {
    var matcher = PROTOCOL.matcher(protocol);
    return matcher.matches() && !OTHER_HTTP.contains(matcher.group(1).toLowerCase(Locale.ROOT));
  }

  /** RFC 7239, and the fields that were there before it. */
  private static void addForwarded(
      Fields fields, RequestHead request, String authority, Client client, ProxySettings settings) {
    var peer = client.peer();
    var before = fields.joined("x-forwarded-for");
    var own = literal(peer);
    fields.set("X-Forwarded-For", before == null ? own : before + ", " + own);
    fields.set("X-Forwarded-Proto", client.scheme());
    var forwarded = "for=" + node(peer) + ";proto=" + client.scheme();
    // What is no part of the key must not shape the answer.
    if (settings.keepHost && !request.authority().isEmpty()) {
      // As the key has it: else who is the first to ask chooses how it is written to all.
      fields.set("X-Forwarded-Host", authority);
      forwarded += ";host=\"" + authority + "\""; // No host has what would have to be escaped.
    }
    var chain = fields.joined("forwarded");
    fields.set("Forwarded", chain == null ? forwarded : chain + ", " + forwarded);
  }

  /** RFC 7239 §6. */
  static String node(InetAddress address) {
    return address instanceof Inet6Address ? "\"[" + literal(address) + "]\"" : literal(address);
  }

  /** Without the interface of this machine that an address of its network is for. */
  private static String literal(InetAddress address) {
    var text = address.getHostAddress();
    int scope = text.indexOf('%');
    return scope < 0 ? text : text.substring(0, scope);
  }
}
