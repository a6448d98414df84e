package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.Listener;
import dev.evergreen.fibers.Names;
import dev.evergreen.http.HttpServer;
import dev.evergreen.http.HttpSettings;
import dev.evergreen.http.ResponseHead;
import dev.evergreen.http.UpstreamLimits;
import dev.evergreen.proxy.storage.Entry;
import dev.evergreen.proxy.storage.StorageOptions;
import dev.evergreen.tls.PemFiles;
import dev.evergreen.tls.ServerTls;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The proxy as one that asks whatever origin its clients name. */
@Timeout(60)
class ForwardProxyTest {
  private final ScriptedOrigin origin = new ScriptedOrigin();
  private final ScriptedOrigin other = new ScriptedOrigin();
  private final List<AutoCloseable> open = new ArrayList<>(List.of(origin, other));

  ForwardProxyTest() throws IOException {}

  private static ProxySettings settings(ForwardRules rules) {
    return ProxySettings.DEFAULT
        .withAddresses(List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)))
        .withForward(rules)
        .withProcessors(1)
        .withStorage(StorageOptions.memory(16 << 20));
  }

  private Proxy proxy(ProxySettings settings) throws IOException {
    var proxy = Proxy.start(settings);
    open.add(proxy);
    return proxy;
  }

  private Proxy proxy(ForwardRules rules) throws IOException {
    return proxy(settings(rules));
  }

  private ForwardRules rules() {
    return rules(origin.origin().port());
  }

  private static ForwardRules rules(int port) {
    return new ForwardRules(ForwardRules.DEFAULT.clients(), Set.of(port), false);
  }

  private Proxy proxy() throws IOException {
    return proxy(rules());
  }

  private Browser browser(Proxy proxy) throws IOException {
    var browser = new Browser(proxy.addresses().getFirst());
    open.addFirst(browser);
    return browser;
  }

  @AfterEach
  void end() throws Exception {
    for (var each : open) {
      each.close();
    }
  }

  private static String at(ScriptedOrigin origin) {
    return "127.0.0.1:" + origin.origin().port();
  }

  /** Seen: one that did not answer took the share of all. */
  @Test
  void eachOriginHasAShareForValidationsInTheBackground() throws Exception {
    var clock = new AtomicLong(1_795_435_200_000L);
    var ending = new CountDownLatch(1);
    var stale = "Cache-Control: max-age=60, stale-while-revalidate=300";
    origin.then(200, "old", stale).then((_, _) -> ending.await());
    other.then(200, "old", stale).then(200, "new", stale);
    var browser =
        browser(
            proxy(
                settings(rules())
                    .withClock(clock::get)
                    .withOriginLimits(UpstreamLimits.DEFAULT.withConnections(8))));
    for (var each : List.of(origin, other)) {
      assertEquals("old", browser.get("http://" + at(each) + "/a").body());
    }
    clock.addAndGet(70_000);
    assertEquals("old", browser.get("http://" + at(origin) + "/a").body());
    origin.next();
    origin.next(); // It is being asked now.
    while (!browser.get("http://" + at(other) + "/a").body().equals("new")) {
      Thread.onSpinWait();
    }
    ending.countDown();
  }

  @Test
  void eachOriginIsAskedThatIsNamedAndKeptApart() throws Exception {
    origin.then(200, "one", "Cache-Control: max-age=60");
    other.then(200, "two", "Cache-Control: max-age=60");
    var browser = browser(proxy());
    assertEquals("one", browser.get("http://" + at(origin) + "/a?b").body());
    assertEquals("two", browser.get("http://" + at(other) + "/a?b").body());
    assertEquals("one", browser.get("HTTP://" + at(origin) + "/a?b").body());
    assertEquals(1, origin.count(), "the second time from the cache");
    var asked = origin.next();
    assertEquals("GET /a?b HTTP/1.1", asked.line());
    assertEquals(at(origin), asked.field("Host"), "RFC 9112 §3.2.2: not what Host said");
    assertFalse(asked.has("X-Forwarded-For"), "nobody is told whose proxy it is");
    assertEquals("1.1 evergreen", asked.field("Via"));
  }

  @Test
  void byHttp2TheWholeUriIsInPieces() throws Exception {
    origin.then(200, "one", "Cache-Control: max-age=60");
    var proxy = proxy();
    try (var client = new RawHttp2(proxy.addresses().getFirst())) {
      client.frame(
          RawHttp2.HEADERS,
          RawHttp2.END_HEADERS | RawHttp2.END_STREAM,
          1,
          RawHttp2.block(
              ":method", "GET", ":scheme", "HTTP", ":authority", at(origin), ":path", "/a?b"));
      assertEquals("200", client.status(1), "RFC 9113 §8.3.1");
      assertEquals("one", client.data(1, 3));
    }
    assertEquals("GET /a?b HTTP/1.1", origin.next().line());
    assertEquals("one", browser(proxy).get("http://" + at(origin) + "/a?b").body());
    assertEquals(1, origin.count(), "the same to the cache");
  }

  @Test
  void theProxysOwnAdministrationIsNotReachedThroughIt() throws Exception {
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    var proxy =
        Proxy.start(
            ProxySettings.DEFAULT
                .withAddresses(List.of(address))
                .withAdmin(address)
                .withForward(ForwardRules.DEFAULT)
                .withProcessors(1)
                .withStorage(StorageOptions.memory(16 << 20)));
    open.add(proxy);
    var admin = Objects.requireNonNull(proxy.admin());
    assertEquals(
        403, browser(proxy).get("http://127.0.0.1:" + admin.getPort() + "/stats").status());
  }

  @Test
  void aConnectionOfAClientOfOldIsNotKept() throws Exception {
    origin.then(200, "1");
    var browser = browser(proxy());
    browser.send("GET http://" + at(origin) + "/a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    var answer = browser.receive();
    assertEquals("1", answer.body());
    assertEquals("close", answer.field("Connection"), "RFC 9112 §9.3");
    assertTrue(browser.ended());
  }

  @Test
  void aPathAloneNamesNobody() throws Exception {
    assertEquals(400, browser(proxy()).get("/a").status());
  }

  @Test
  void bytesPassThroughATunnelBothWays() throws Exception {
    origin.then(200, "through");
    var browser = browser(proxy());
    browser.send("CONNECT " + at(origin) + " HTTP/1.1\r\nHost: " + at(origin) + "\r\n\r\n");
    assertEquals("HTTP/1.1 200 OK", browser.line());
    while (!browser.line().isEmpty()) {}
    assertEquals("through", browser.get("/inside").body());
    assertEquals("GET /inside HTTP/1.1", origin.next().line());
  }

  @Test
  void tunnelsLeadToFewPortsOnly() throws Exception {
    var browser = browser(proxy());
    browser.ask("CONNECT", at(other));
    assertEquals(403, browser.receive().status());
    assertEquals(0, other.count());
  }

  /** Seen: the port of a listener that was closed was another one's by then, who said nothing. */
  @Test
  void aTunnelToNobodyIs502() throws Exception {
    try (var taken = new Socket()) {
      // Nobody listens there, and nobody else can as long as this has the port.
      taken.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      int port = taken.getLocalPort();
      var browser = browser(proxy(rules(port)));
      browser.ask("CONNECT", "127.0.0.1:" + port);
      assertEquals(502, browser.receive().status());
    }
  }

  @Test
  void strangersAreRefused() throws Exception {
    var proxy = proxy(new ForwardRules(Trust.of(List.of("192.0.2.0/24")), Set.of(443), false));
    assertEquals(403, browser(proxy).get("http://" + at(origin) + "/a").status());
    var connecting = browser(proxy);
    connecting.ask("CONNECT", "127.0.0.1:443");
    assertEquals(403, connecting.receive().status());
    assertEquals(0, origin.count());
  }

  /** Says that somebody else asks, who is elsewhere. */
  private static final String FOR_ANOTHER = "X-Forwarded-For: 192.0.2.1";

  @Test
  void thisMachineIsForClientsOnIt() throws Exception {
    origin.then(200, "own", "Cache-Control: max-age=60");
    var proxy = proxy();
    int port = origin.origin().port();
    for (var name : List.of("127.0.0.1", "localhost", "0.0.0.0", "127.1.2.3", "[::1]")) {
      var uri = "http://" + name + ":" + port + "/" + name;
      assertEquals(403, browser(proxy).get(uri, FOR_ANOTHER).status(), name);
      var connecting = browser(proxy);
      connecting.ask("CONNECT", name + ":" + port, FOR_ANOTHER);
      assertEquals(403, connecting.receive().status(), name);
    }
    assertEquals(0, origin.count());
    var uri = "http://" + at(origin) + "/127.0.0.1";
    assertEquals("own", browser(proxy).get(uri).body());
    assertEquals("own", browser(proxy).get(uri).body());
    assertEquals(1, origin.count(), "it is in the cache");
    assertEquals(403, browser(proxy).get(uri, FOR_ANOTHER).status(), "and is not for all");
  }

  @Test
  void thisMachineMayBeOpenToOthers() throws Exception {
    origin.then(200, "own", "Cache-Control: max-age=60");
    var proxy = proxy(new ForwardRules(ForwardRules.DEFAULT.clients(), Set.of(443), true));
    var uri = "http://" + at(origin) + "/a";
    assertEquals("own", browser(proxy).get(uri, FOR_ANOTHER).body());
    assertEquals("own", browser(proxy).get(uri).body());
    assertEquals(1, origin.count());
  }

  @Test
  void addressesOfThisMachineAreKnownInWhateverNetwork() throws Exception {
    for (var each : NetworkInterface.networkInterfaces().toList()) {
      for (var address : each.inetAddresses().toList()) {
        assertTrue(Reach.isOwn(address), address.toString());
      }
    }
    assertTrue(Reach.isOwn(InetAddress.ofLiteral("169.254.169.254")), "of a link");
    assertTrue(Reach.isOwn(InetAddress.ofLiteral("::ffff:127.0.0.1")), "IPv4 as IPv6");
    assertFalse(Reach.isOwn(InetAddress.ofLiteral("192.0.2.1")));
  }

  /** It tells another address each time that it is asked. */
  @Test
  void aNameThatChangesItsMeaningLeadsNobodyFurther() throws Exception {
    var told = new ArrayList<>(List.of("192.0.2.1", "127.0.0.1"));
    var names =
        Reach.others(
            new Names(_ -> List.of(InetAddress.ofLiteral(told.removeFirst())), Duration.ZERO));
    assertEquals(List.of(InetAddress.ofLiteral("192.0.2.1")), names.addresses("rebinds"));
    assertThrows(Reach.RefusedException.class, () -> names.addresses("rebinds"));
    var both = List.of(InetAddress.ofLiteral("127.0.0.1"), InetAddress.ofLiteral("192.0.2.1"));
    var mixed = Reach.others(new Names(_ -> both, Duration.ZERO));
    assertEquals(both.subList(1, 2), mixed.addresses("mixed"));
  }

  @Test
  void whatWasStoredForOwnOriginsIsNotFound(@TempDir Path folder) throws Exception {
    origin.then(200, "of its own", "Cache-Control: max-age=60");
    other.then(200, "of the named", "Cache-Control: max-age=60");
    var settings =
        ProxySettings.DEFAULT
            .withAddresses(List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)))
            .withProcessors(1)
            .withStorage(StorageOptions.memory(16 << 20).onDisk(folder, 64 << 20).segment(1 << 20));
    try (var reverse = Proxy.start(settings.withOrigins(List.of(origin.origin())))) {
      for (int i = 0; i < 3; i++) {
        var browser = browser(reverse);
        browser.send("GET /a HTTP/1.1\r\nHost: " + at(other) + "\r\n\r\n");
        assertEquals("of its own", browser.receive().body());
      }
    }
    assertEquals(1, origin.count());
    var forward = Proxy.start(settings.withOrigins(List.of()).withForward(ForwardRules.DEFAULT));
    open.add(forward);
    assertTrue(forward.storage().stats().diskObjects() > 0, "it is still there");
    assertEquals("of the named", browser(forward).get("http://" + at(other) + "/a").body());
  }

  @Test
  void purgesReachWhatIsStoredForWhomever() throws Exception {
    origin.then(200, "1", "Cache-Control: max-age=60").then(200, "2", "Cache-Control: max-age=60");
    var browser = browser(proxy());
    var uri = "http://" + at(origin) + "/a";
    assertEquals("1", browser.get(uri).body());
    browser.ask("PURGE", uri);
    assertEquals(200, browser.receive().status());
    assertEquals("2", browser.get(uri).body());
  }

  @Test
  void anUnsafeMethodInvalidatesWhatIsStoredForWhomever() throws Exception {
    origin.then(204, "", "Location: /b", "Cache-Group-Invalidation: \"g\"");
    var proxy = proxy();
    var uri = "http://" + at(origin);
    for (var reach : Reach.all(ForwardRules.DEFAULT)) {
      for (var path : List.of("/a", "/b", "/c", "/d")) {
        var key = reach.key(uri + path);
        var groups = path.equals("/c") ? List.of(Tags.group(key, "g")) : List.<String>of();
        var stamp = proxy.storage().stamp();
        var entry = new Entry(Proxy.segment(key), new byte[0], new byte[0], groups, stamp, 0);
        try (var appender = proxy.storage().append(entry)) {
          assertTrue(appender.commit());
        }
      }
    }
    var browser = browser(proxy);
    browser.send("POST " + uri + "/a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    assertEquals(204, browser.receive().status());
    for (var reach : Reach.all(ForwardRules.DEFAULT)) {
      for (var path : List.of("/a", "/b", "/c")) {
        var key = Proxy.segment(reach.key(uri + path));
        assertNull(proxy.storage().find(key, _ -> true), reach + path);
      }
      try (var other = proxy.storage().find(Proxy.segment(reach.key(uri + "/d")), _ -> true)) {
        assertNotNull(other);
      }
    }
  }

  @Test
  void aForwardProxyHasNoOriginOfItsOwn() {
    var settings =
        ProxySettings.DEFAULT
            .withForward(ForwardRules.DEFAULT)
            .withOrigins(List.of(origin.origin()));
    assertThrows(IllegalArgumentException.class, () -> Proxy.start(settings));
    assertThrows(IllegalArgumentException.class, () -> Proxy.start(ProxySettings.DEFAULT));
  }

  private static String curl(String... arguments) throws Exception {
    var command = new ArrayList<>(List.of("curl", "-sS", "--max-time", "20"));
    command.addAll(List.of(arguments));
    var process = new ProcessBuilder(command).redirectErrorStream(true).start();
    var said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), said);
    return said;
  }

  @Test
  void curlGoesThroughItByHttpAndHttps(@TempDir Path folder) throws Exception {
    var script = Path.of("..", "scripts", "certificates").toString();
    var making = new ProcessBuilder(script, folder.toString(), "localhost").inheritIO().start();
    assertEquals(0, making.waitFor());
    var files =
        new PemFiles(folder.resolve("localhost.key"), folder.resolve("localhost.pem"), null);
    var tls = new ServerTls(ServerTls.Settings.of(files).withProtocols("h2", "http/1.1"));
    origin.then(200, "plain", "Cache-Control: max-age=60");
    try (var fibers = Fibers.builder().processors(1).start()) {
      var secure = fibers.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      fibers.spawn(() -> serveSecurely(fibers, secure, tls));
      int port = ((InetSocketAddress) secure.address()).getPort();
      var address =
          proxy(new ForwardRules(ForwardRules.DEFAULT.clients(), Set.of(port), false))
              .addresses()
              .getFirst();
      var through = "http://127.0.0.1:" + address.getPort();
      assertEquals("plain", curl("-x", through, "http://" + at(origin) + "/"));
      var authority = folder.resolve("authority.pem").toString();
      var uri = "https://localhost:" + port + "/";
      assertEquals("secret", curl("-x", through, "--cacert", authority, uri));
      var head = curl("-x", through, "--cacert", authority, "-I", "--http1.1", uri);
      assertTrue(head.contains("200"), head);
    }
  }

  private static void serveSecurely(Fibers fibers, Listener listener, ServerTls tls) {
    var body = "secret".getBytes(ISO_8859_1);
    var server =
        new HttpServer(
            fibers,
            exchange -> exchange.respond(ResponseHead.of(200), ByteBuffer.wrap(body)),
            HttpSettings.DEFAULT);
    listener.serve(
        connection ->
            server.serve(
                connection.overTls(tls.engine(), Duration.ofSeconds(10)), listener.draining()));
  }
}
