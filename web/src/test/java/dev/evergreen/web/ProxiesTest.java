package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.live.HandNode;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.eclipse.jetty.http.HttpFields;
import org.junit.jupiter.api.Test;

/** Who is taken to ask, when a proxy does. */
final class ProxiesTest {

  private static WebServer serve(Proxies proxies) {
    return WebServer.builder(new HandNode())
        .port(0)
        .behind(proxies)
        .settings(WebSettings.DEFAULT.withMaxConnectionsPerAddress(2))
        .route("GET", "/who", request -> Reply.text(request.remoteAddress()))
        .start();
  }

  private static String who(Proxies proxies, String peer, String... lines) {
    var headers = HttpFields.build();
    for (var line : lines) {
      var parts = line.split(": ", 2);
      headers.add(parts[0], parts[1]);
    }
    return proxies
        .client(new InetSocketAddress(peer, 4711), headers)
        .map(address -> address.getHostAddress())
        .orElse("the peer");
  }

  @Test
  void theLastOfTheChainThatIsNoProxyOfOursIsTheClient() {
    var ours = Proxies.xForwardedFor("10.0.0.0/8", "127.0.0.1", "fd00::/16");
    record Case(String client, String... lines) {}
    for (var one :
        List.of(
            new Case("192.0.2.7", "X-Forwarded-For: 192.0.2.7"),
            new Case("192.0.2.7", "X-Forwarded-For: 192.0.2.7:5500, 10.1.1.1"),
            new Case("192.0.2.7", "X-Forwarded-For: 1.1.1.1, 192.0.2.7"),
            new Case("192.0.2.7", "X-Forwarded-For: 1.1.1.1", "X-Forwarded-For: 192.0.2.7"),
            new Case("10.9.9.9", "X-Forwarded-For: nonsense, 10.9.9.9"),
            new Case("2001:db8:0:0:0:0:0:1", "X-Forwarded-For: [2001:db8::1]:80, fd00::2"),
            new Case("2001:db8:0:0:0:0:0:1", "X-Forwarded-For: 2001:db8::1, fd00::2"),
            new Case("192.0.2.7", "X-Forwarded-For: ::ffff:192.0.2.7"),
            new Case("the peer", "X-Forwarded-For: 192.0.2.7, 3221225991"),
            new Case("the peer", "X-Forwarded-For: 192.0.2.7,"),
            new Case("the peer", "X-Forwarded-For: unknown"),
            new Case("the peer", "Forwarded: for=192.0.2.7"),
            new Case("the peer"))) {
      assertEquals(one.client(), who(ours, "10.0.0.1", one.lines()), List.of(one.lines()) + "");
    }
    assertEquals("the peer", who(ours, "11.0.0.1", "X-Forwarded-For: 192.0.2.7"));
    assertEquals("the peer", who(Proxies.NONE, "10.0.0.1", "X-Forwarded-For: 192.0.2.7"));
  }

  @Test
  void forwardedIsReadAsItsGrammarHasIt() {
    var ours = Proxies.forwarded("10.0.0.1");
    record Case(String client, String line) {}
    for (var one :
        List.of(
            new Case("192.0.2.7", "Forwarded: for=192.0.2.7;proto=http;by=10.0.0.1"),
            new Case("192.0.2.7", "Forwarded: for=1.1.1.1, proto=https;For=\"192.0.2.7:80\""),
            new Case("2001:db8:0:0:0:0:0:1", "Forwarded: for=\"[2001:db8::1]:4711\""),
            new Case("the peer", "Forwarded: for=_hidden"),
            new Case("the peer", "Forwarded: for=\"1.1.1.1, for=\"192.0.2.7\""),
            new Case("the peer", "X-Forwarded-For: 192.0.2.7"),
            // What a quoted value holds is no parameter.
            new Case("the peer", "Forwarded: secret=\"a;for=192.0.2.7\""),
            new Case("the peer", "Forwarded: secret=\"a,for=192.0.2.7\""),
            new Case("192.0.2.7", "Forwarded: ext=\"\\\";for=1.1.1.1;x=\\\"\";for=192.0.2.7"),
            new Case("192.0.2.7", "Forwarded: for=\"1\\92.0.2.7\""),
            new Case("192.0.2.7", "Forwarded: for=\"192.0.2.7:_a.b-c\" ; host=\"a, b\" ,"),
            new Case("192.0.2.7", "Forwarded: , ,for=192.0.2.7"),
            // Who stands last does not say for whom, or not by an address: what is before is not
            // his.
            new Case("the peer", "Forwarded: for=192.0.2.7, proto=https"),
            new Case("the peer", "Forwarded: for=192.0.2.7, ;"),
            new Case("the peer", "Forwarded: for=192.0.2.7, for=unknown"),
            new Case("the peer", "Forwarded: for=192.0.2.7, for=\"_gazonk:_1\""),
            new Case("10.0.0.1", "Forwarded: for=192.0.2.7, for=unknown, for=10.0.0.1"),
            // Neither a grammar of ours nor half an address.
            new Case("the peer", "Forwarded: for=192.0.2.7:80"),
            new Case("the peer", "Forwarded: for=[2001:db8::1]"),
            new Case("the peer", "Forwarded: for=\"2001:db8::1\""),
            new Case("the peer", "Forwarded: for=\"[2001:db8::1\""),
            new Case("the peer", "Forwarded: for=\"[2001:db8::1]:port\""),
            new Case("the peer", "Forwarded: for=\"[fe80::1%lo]\""),
            new Case("the peer", "Forwarded: for=\"[:::1]\""),
            new Case("the peer", "Forwarded: for=\"192.0.2.7:123456\""),
            new Case("the peer", "Forwarded: for=192.0.2"),
            new Case("the peer", "Forwarded: for=3221225991"),
            new Case("the peer", "Forwarded: for=192.0.2.256"),
            new Case("the peer", "Forwarded: for=0300.0.2.7"),
            new Case("the peer", "Forwarded: for=192.0.2.7;for=192.0.2.7"),
            new Case("the peer", "Forwarded: for = 192.0.2.7"),
            new Case("the peer", "Forwarded: for=192.0.2.7 by=10.0.0.1"),
            new Case("the peer", "Forwarded: for=\"192.0.2.7"),
            new Case("the peer", "Forwarded: for=\"192.0.2.7\\"),
            new Case("the peer", "Forwarded: for="),
            new Case("the peer", "Forwarded: ="),
            new Case("the peer", "Forwarded: for"))) {
      assertEquals(one.client(), who(ours, "10.0.0.1", one.line()), one.line());
    }
  }

  @Test
  void whatAClientWroteIntoALineOfItsOwnDoesNotSpoilTheProxysLine() {
    var ours = Proxies.forwarded("10.0.0.1");
    assertEquals(
        "192.0.2.7", who(ours, "10.0.0.1", "Forwarded: for=\"1.1.1.1", "Forwarded: for=192.0.2.7"));
    assertEquals(
        "the peer", who(ours, "10.0.0.1", "Forwarded: for=192.0.2.7", "Forwarded: for=\"1.1.1.1"));
  }

  /** However long: one pass, no recursion. A header of a server is much shorter. */
  @Test
  void aLongLineIsReadToItsEnd() {
    var ours = Proxies.forwarded("10.0.0.1");
    int many = 1 << 20;
    assertEquals(
        "192.0.2.7", who(ours, "10.0.0.1", "Forwarded: " + ",".repeat(many) + "for=192.0.2.7"));
    assertEquals(
        "192.0.2.7",
        who(ours, "10.0.0.1", "Forwarded: x=\"" + "\\\"".repeat(many) + "\";for=192.0.2.7"));
    assertEquals("the peer", who(ours, "10.0.0.1", "Forwarded: for=\"" + "[".repeat(many)));
    assertEquals(
        "the peer", who(ours, "10.0.0.1", "Forwarded: for=\"[" + ":".repeat(many) + "]\""));
    assertEquals(
        "192.0.2.7",
        who(ours, "10.0.0.1", "Forwarded: " + "for=unknown,".repeat(many / 8) + "for=192.0.2.7"));
  }

  @Test
  void aNetworkThatIsNoneIsRefused() {
    for (var network : List.of("10.0.0.0/33", "10.0.0.0/x", "example.org", "", "10.0.0.0/-1")) {
      assertThrows(IllegalArgumentException.class, () -> Proxies.forwarded(network), network);
    }
  }

  @Test
  void limitsOfAnAddressAreTheClients() throws Exception {
    try (var server = serve(Proxies.xForwardedFor("127.0.0.1"))) {
      var open = new ArrayList<RawClient>();
      for (var client : List.of("192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.2")) {
        assertEquals(200, ask(server, open, client));
      }
      assertEquals(503, ask(server, open, "192.0.2.1"));
      assertEquals(503, ask(server, open, "192.0.2.9, 192.0.2.2"));
      assertEquals(200, ask(server, open, "192.0.2.3"));
      for (var client : open) {
        client.close();
      }
      Await.until("given back", () -> server.counts().connections() == 0);
      assertEquals(200, ask(server, open, "192.0.2.1"));
      open.getLast().close();
    }
  }

  /** Whoever has one IPv6 address has 2^80 of them. */
  @Test
  void allAddressesOfAnIpv6SiteAreOneClient() throws Exception {
    try (var server = serve(Proxies.xForwardedFor("127.0.0.1"))) {
      var open = new ArrayList<RawClient>();
      assertEquals(200, ask(server, open, "2001:db8:1::1"));
      assertEquals(200, ask(server, open, "2001:db8:1:ffff:1:2:3:4"));
      assertEquals(503, ask(server, open, "2001:db8:1:8000::1"));
      assertEquals(200, ask(server, open, "2001:db8:2::1"));
      for (var client : open) {
        client.close();
      }
    }
  }

  /** Proxies use a connection for one client after the other. */
  @Test
  void aConnectionCountsForTheClientThatItAsksForNow() throws Exception {
    try (var server = serve(Proxies.xForwardedFor("127.0.0.1"))) {
      var open = new ArrayList<RawClient>();
      for (int i = 0; i < 2; i++) {
        assertEquals(200, ask(server, open, "192.0.2.1"));
        assertEquals(200, ask(open.getLast(), "192.0.2.2"));
      }
      assertEquals(200, ask(server, open, "192.0.2.1"));
      assertEquals(200, ask(server, open, "192.0.2.1"));
      assertEquals(503, ask(server, open, "192.0.2.2"));
      for (var client : open) {
        client.close();
      }
    }
  }

  /** Seen: it went on to count for the client that it had asked for before. */
  @Test
  void aRequestWhoseClientIsNotSaidCountsForTheProxy() throws Exception {
    try (var server = serve(Proxies.xForwardedFor("127.0.0.1"))) {
      var open = new ArrayList<RawClient>();
      assertEquals(200, ask(server, open, "192.0.2.1"));
      open.getLast().send(RawClient.lines("GET /who HTTP/1.1", "", ""));
      assertEquals(200, open.getLast().status());
      assertEquals(200, ask(server, open, "192.0.2.1"));
      assertEquals(200, ask(open.getLast(), "unknown"));
      assertEquals(200, ask(server, open, "192.0.2.1"));
      assertEquals(200, ask(server, open, "192.0.2.1"));
      assertEquals(503, ask(server, open, "unknown"));
      for (var client : open) {
        client.close();
      }
    }
  }

  /** Seen: when many clients came back at once, a proxy's connections were closed unheard. */
  @Test
  void aProxysConnectionIsNobodysUntilItAsks() throws Exception {
    try (var server = serve(Proxies.xForwardedFor("127.0.0.1"))) {
      var open = new ArrayList<RawClient>();
      for (int i = 0; i < 30; i++) {
        open.add(new RawClient(server));
      }
      Await.until("all open", () -> server.counts().connections() == 30);
      for (int i = 0; i < 30; i++) {
        assertEquals(200, ask(open.get(i), "192.0.2." + i));
      }
      for (var client : open) {
        client.close();
      }
    }
  }

  private static int ask(WebServer server, List<RawClient> open, String client) throws IOException {
    var raw = new RawClient(server);
    open.add(raw);
    return ask(raw, client);
  }

  private static int ask(RawClient raw, String client) throws IOException {
    raw.send(RawClient.lines("GET /who HTTP/1.1", "X-Forwarded-For: " + client, "", ""));
    return raw.status();
  }

  @Test
  void tracesNameTheClient() {
    var traced = new ConcurrentLinkedQueue<String>();
    try (var server =
        WebServer.builder(new HandNode())
            .port(0)
            .behind(Proxies.xForwardedFor("127.0.0.1"))
            .tracing(
                (request, _) -> {
                  traced.add(request.remoteAddress());
                  return _ -> {};
                })
            .route("GET", "/who", request -> Reply.text(request.remoteAddress()))
            .start()) {
      assertEquals("192.0.2.7", Http.get(server, "/who", "X-Forwarded-For", "192.0.2.7").body());
    }
    assertEquals(List.of("192.0.2.7"), List.copyOf(traced));
  }

  @Test
  void nobodyElseIsBelieved() {
    try (var server = serve(Proxies.xForwardedFor("10.0.0.0/8"))) {
      assertEquals("127.0.0.1", Http.get(server, "/who", "X-Forwarded-For", "192.0.2.7").body());
    }
  }

  @Test
  void theProxyProtocolSaysWhoConnects() throws Exception {
    try (var server = serve(Proxies.proxyProtocol("127.0.0.1"));
        var proxied = new RawClient(server);
        var plain = new RawClient(server)) {
      proxied.send("PROXY TCP4 192.0.2.7 127.0.0.1 4711 80\r\n");
      proxied.send(RawClient.lines("GET /who HTTP/1.1", "Connection: close", "", ""));
      assertEquals(200, proxied.status());
      assertTrue(proxied.rest().endsWith("192.0.2.7"));
      plain.send(RawClient.lines("GET /who HTTP/1.1", "Connection: close", "", ""));
      // A probe of the proxy's own.
      assertEquals(200, plain.status());
      assertTrue(plain.rest().endsWith("127.0.0.1"));
    }
    try (var server = serve(Proxies.proxyProtocol("10.0.0.0/8"));
        var stranger = new RawClient(server)) {
      assertEquals("", stranger.rest());
      assertEquals(1, server.counts().refused().get("no-proxy"));
    }
  }
}
