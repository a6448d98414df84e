package dev.evergreen.proxy;

import dev.evergreen.http.Fields;
import dev.evergreen.http.RequestHead;
import dev.evergreen.proxy.rules.CacheKey;
import dev.evergreen.proxy.rules.Forwarding;
import java.net.Inet6Address;
import java.net.InetAddress;

/** What an origin is asked for a client. */
final class OriginRequests {

  private OriginRequests() {}

  /** The authority by which origins are asked, which is also that of the key. */
  static String authority(RequestHead request, Client client, Proxy.Setup setup) {
    if (setup.settings().forward != null) {
      return CacheKey.normal(request.scheme(), request.authority());
    }
    if (setup.settings().keepHost && !request.authority().isEmpty()) {
      return CacheKey.normal(client.scheme(), request.authority());
    }
    return setup.settings().origins.getFirst().authority();
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
    // Only the proxy says these, as they shape answers that others get, too.
    fields.remove("x-forwarded-host").remove("x-forwarded-proto");
    if (settings.addForwarded && settings.forward == null) {
      addForwarded(fields, request, client, settings);
    }
    Forwarding.addVia(fields, request.version(), settings.name);
    return head;
  }

  /** To what the client wants to change the protocol; empty if to nothing. */
  static String upgrade(RequestHead request) {
    var wanted = request.fields().get("upgrade");
    return wanted != null && request.fields().hasMember("connection", "upgrade") ? wanted : "";
  }

  /** RFC 7239, and the fields that were there before it. */
  private static void addForwarded(
      Fields fields, RequestHead request, Client client, ProxySettings settings) {
    var peer = client.peer();
    if (!settings.trust.includes(peer)) {
      fields.remove("forwarded").remove("x-forwarded-for");
    }
    var before = fields.joined("x-forwarded-for");
    var own = peer.getHostAddress();
    fields.set("X-Forwarded-For", before == null ? own : before + ", " + own);
    fields.set("X-Forwarded-Proto", client.scheme());
    var forwarded = "for=" + node(peer) + ";proto=" + client.scheme();
    if (!request.authority().isEmpty()) {
      fields.set("X-Forwarded-Host", request.authority());
      forwarded += ";host=\"" + request.authority().replaceAll("[\"\\\\]", "") + "\"";
    }
    var chain = fields.joined("forwarded");
    fields.set("Forwarded", chain == null ? forwarded : chain + ", " + forwarded);
  }

  private static String node(InetAddress address) {
    return address instanceof Inet6Address
        ? "\"[" + address.getHostAddress() + "]\""
        : address.getHostAddress();
  }
}
