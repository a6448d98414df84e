package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Dialer;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.Listener;
import dev.evergreen.http.Exchange;
import dev.evergreen.http.Fields;
import dev.evergreen.http.Handler;
import dev.evergreen.http.HttpServer;
import dev.evergreen.http.HttpSettings;
import dev.evergreen.http.Origin;
import dev.evergreen.http.RequestHead;
import dev.evergreen.http.ResponseHead;
import dev.evergreen.http.UpstreamLimits;
import dev.evergreen.http.UpstreamVersion;
import dev.evergreen.http.Upstreams;
import dev.evergreen.http.Version;
import dev.evergreen.proxy.storage.StorageOptions;
import dev.evergreen.tls.ClientTls;
import dev.evergreen.tls.PemFiles;
import dev.evergreen.tls.ServerTls;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Origins by HTTP/2 and by TLS, and what passes through to them. */
@Timeout(60)
class Http2OriginTest {
  private static final InetSocketAddress ANYWHERE =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

  private final Fibers fibers = Fibers.builder().processors(1).start();
  private @Nullable Proxy proxy;

  @AfterEach
  void end() {
    if (proxy != null) {
      proxy.close();
    }
    fibers.close();
  }

  private int serve(Handler handler, @Nullable ServerTls tls) throws IOException {
    return serve(handler, tls, "localhost");
  }

  private int serve(Handler handler, @Nullable ServerTls tls, String host) throws IOException {
    var listener = fibers.listen(new InetSocketAddress(host, 0));
    var server = new HttpServer(fibers, handler, HttpSettings.DEFAULT);
    fibers.spawn(
        () ->
            listener.serve(
                raw -> {
                  var connection =
                      tls == null ? raw : raw.overTls(tls.engine(), Duration.ofSeconds(10));
                  server.serve(connection, listener.draining());
                }));
    return ((InetSocketAddress) listener.address()).getPort();
  }

  private Proxy start(ProxySettings settings) throws IOException {
    var started =
        Proxy.start(
            settings
                .withAddresses(List.of(ANYWHERE))
                .withProcessors(1)
                .withStorage(StorageOptions.memory(16 << 20)));
    proxy = started;
    return started;
  }

  /** Where a proxy listens before an origin that speaks HTTP/2 without TLS. */
  private InetSocketAddress beforeHttp2(int port) throws IOException {
    return start(
            ProxySettings.DEFAULT
                .withOrigins(List.of(new Origin(false, "127.0.0.1", port)))
                .withOriginVersion(UpstreamVersion.HTTP_2))
        .addresses()
        .getFirst();
  }

  /** Where a proxy listens before an origin whose certificate the folder's authority made. */
  private InetSocketAddress beforeTls(int port, Path folder) throws Exception {
    return start(
            ProxySettings.DEFAULT
                .withOrigins(List.of(new Origin(true, "localhost", port)))
                .withOriginTls(ClientTls.trusting(folder.resolve("authority.pem"))))
        .addresses()
        .getFirst();
  }

  private static void echo(Exchange exchange) throws IOException {
    boolean grpc = exchange.request().fields().hasMember("te", "trailers");
    var out = exchange.respond(ResponseHead.of(200, Fields.of("Content-Type", "application/grpc")));
    var piece = ByteBuffer.allocate(100);
    while (exchange.body().read(piece) >= 0) {
      out.write(piece.flip());
      piece.clear();
    }
    boolean both = grpc && exchange.request().version() == Version.HTTP_2;
    out.end(Fields.of("Grpc-Status", both ? "0" : "13"));
  }

  @Test
  void remoteCallsStreamBothWaysAndEndByTrailers() throws Exception {
    int port = serve(Http2OriginTest::echo, null);
    var address = beforeHttp2(port);
    try (var client =
            new Upstreams(
                Dialer.of(fibers),
                null,
                HttpSettings.DEFAULT,
                UpstreamLimits.DEFAULT,
                UpstreamVersion.HTTP_2);
        var call = client.open(new Origin(false, "127.0.0.1", address.getPort()))) {
      var head = RequestHead.of("POST", "/service/method", Fields.of("Host", "a"));
      head.fields().add("TE", "trailers").add("Content-Type", "application/grpc");
      var out = call.send(head, -1);
      out.write("first".getBytes(ISO_8859_1));
      assertEquals(200, call.receive().status());
      var piece = ByteBuffer.allocate(100);
      assertEquals(5, call.body().read(piece), "while the call goes on");
      out.write("second".getBytes(ISO_8859_1));
      assertEquals(6, call.body().read(piece.clear()));
      out.end();
      assertEquals(-1, call.body().read(piece.clear()));
      assertEquals("0", call.body().trailers().get("grpc-status"));
    }
  }

  /** SETTINGS that open the windows of streams, and then that of the connection. */
  private static final byte[] WIDE = {
    0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 16, 0, 0, 0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 16, 0, 0
  };

  /** GOAWAY: nothing of what was asked has been looked at. */
  private static final byte[] FAREWELL = {0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

  /** An origin that goes away when so much was sent to it, and echoes at the next connection. */
  private Proxy beforeAnOriginThatLeaves(int bytes) throws IOException {
    var connections = new AtomicInteger();
    var listener = fibers.listen(ANYWHERE);
    var server = new HttpServer(fibers, Http2OriginTest::echo, HttpSettings.DEFAULT);
    fibers.spawn(
        () ->
            listener.serve(
                connection -> {
                  if (connections.getAndIncrement() == 0) {
                    leave(connection, bytes);
                  } else {
                    server.serve(connection, listener.draining());
                  }
                }));
    int port = ((InetSocketAddress) listener.address()).getPort();
    return start(
        ProxySettings.DEFAULT
            .withOrigins(List.of(new Origin(false, "127.0.0.1", port)))
            .withOriginVersion(UpstreamVersion.HTTP_2));
  }

  private static void leave(Connection connection, int bytes) throws IOException {
    connection.write(WIDE);
    connection.flush();
    var into = ByteBuffer.allocate(1 << 16);
    for (int n = 0; n < bytes; n += connection.read(into.clear())) {
      // On to the next.
    }
    connection.write(FAREWELL);
    connection.flush();
    while (connection.read(into.clear()) >= 0) {
      // Until the proxy ends it.
    }
  }

  private static final String POST = "POST /a HTTP/1.1\r\nHost: test\r\nContent-Length: ";

  @Test
  void aShortBodyIsSentAgainIfTheOriginHasNotLookedAtIt() throws Exception {
    int begun = 20_000;
    var address = beforeAnOriginThatLeaves(begun).addresses().getFirst();
    try (var browser = new Browser(address)) {
      browser.send(POST + (begun + 3) + "\r\n\r\n" + "x".repeat(begun));
      // The first origin has all of that, and its farewell is on the way or was heard.
      browser.send("end");
      assertEquals("x".repeat(begun) + "end", browser.receive().body());
    }
  }

  @Test
  void aLongBodyIsNotAndIts502ComesAtOnce() throws Exception {
    int begun = Upload.KEPT + 1000;
    var address = beforeAnOriginThatLeaves(begun).addresses().getFirst();
    try (var browser = new Browser(address)) {
      browser.send(POST + 2 * begun + "\r\n\r\n" + "x".repeat(begun));
      assertEquals(502, browser.receive().status(), "though the client is not done");
    }
  }

  @Test
  void whatAnOriginSaysByHttp2IsKept() throws Exception {
    var fields = Fields.of("Cache-Control", "max-age=60", "ETag", "\"1\"");
    int port =
        serve(
            exchange ->
                exchange.respond(
                    ResponseHead.of(200, fields.copy()),
                    ByteBuffer.wrap(exchange.request().version().toString().getBytes(ISO_8859_1))),
            null);
    var address = beforeHttp2(port);
    try (var browser = new Browser(address)) {
      assertEquals("HTTP/2", browser.get("/a").body());
      var hit = browser.get("/a");
      assertEquals("HTTP/2", hit.body());
      assertTrue(hit.field("Cache-Status").contains("hit"), hit.toString());
    }
  }

  private static ServerTls certificate(Path folder, String host, String... protocols)
      throws Exception {
    var script = Path.of("..", "scripts", "certificates").toString();
    var making = new ProcessBuilder(script, folder.toString(), host).inheritIO().start();
    assertEquals(0, making.waitFor());
    var files = new PemFiles(folder.resolve(host + ".key"), folder.resolve(host + ".pem"), null);
    return new ServerTls(ServerTls.Settings.of(files).withProtocols(protocols));
  }

  private String versionByTls(Path folder, ServerTls tls, String host) throws Exception {
    int port =
        serve(
            exchange ->
                exchange.respond(
                    ResponseHead.of(200),
                    ByteBuffer.wrap(exchange.request().version().toString().getBytes(ISO_8859_1))),
            tls,
            host);
    var address =
        start(
                ProxySettings.DEFAULT
                    .withOrigins(List.of(new Origin(true, host, port)))
                    .withOriginTls(ClientTls.trusting(folder.resolve("authority.pem"))))
            .addresses()
            .getFirst();
    try (var browser = new Browser(address)) {
      var answer = browser.get("/a");
      return answer.status() + " " + answer.body().strip();
    }
  }

  @Test
  void alpnChoosesHttp2(@TempDir Path folder) throws Exception {
    var tls = certificate(folder, "localhost", "h2", "http/1.1");
    assertEquals("200 HTTP/2", versionByTls(folder, tls, "localhost"));
  }

  @Test
  void alpnChoosesHttp1(@TempDir Path folder) throws Exception {
    var tls = certificate(folder, "localhost", "http/1.1");
    assertEquals("200 HTTP/1.1", versionByTls(folder, tls, "localhost"));
  }

  @Test
  void anOriginWithAnotherNameThanItsCertificatesIs502(@TempDir Path folder) throws Exception {
    var tls = certificate(folder, "localhost", "h2", "http/1.1");
    assertEquals("502 the origin: unreachable", versionByTls(folder, tls, "127.0.0.2"));
  }

  @Test
  void anOriginWhoseAuthorityNobodyTrustsIs502(@TempDir Path folder, @TempDir Path other)
      throws Exception {
    var tls = certificate(folder, "localhost", "h2", "http/1.1");
    var _ = certificate(other, "localhost", "h2", "http/1.1");
    assertEquals("502 the origin: unreachable", versionByTls(other, tls, "localhost"));
  }

  @Test
  void webSocketsByHttp1PassToOriginsByHttp2() throws Exception {
    Handler greets =
        exchange -> {
          assertEquals(Version.HTTP_2, exchange.request().version());
          assertEquals("13", exchange.request().fields().get("sec-websocket-version"));
          var fields = Fields.of("Connection", "upgrade", "Upgrade", "websocket");
          fields.add("Sec-WebSocket-Protocol", "chat");
          var key = String.valueOf(exchange.request().fields().get("sec-websocket-key"));
          fields.add("Sec-WebSocket-Accept", accept(key));
          var tunnel = exchange.tunnel(ResponseHead.of(101, fields));
          tunnel.out().write("hello".getBytes(ISO_8859_1));
          var piece = ByteBuffer.allocate(4);
          while (piece.hasRemaining() && tunnel.in().read(piece) >= 0) {
            // Until all is there.
          }
          tunnel.out().write(piece.flip());
          tunnel.out().end();
        };
    var address =
        start(
                ProxySettings.DEFAULT
                    .withOrigins(List.of(new Origin(false, "127.0.0.1", serve(greets, null))))
                    .withOriginVersion(UpstreamVersion.HTTP_2))
            .addresses()
            .getFirst();
    try (var browser = new Browser(address)) {
      browser.ask(
          "GET",
          "/socket",
          "Connection: Upgrade",
          "Upgrade: WebSocket",
          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
          "Sec-WebSocket-Version: 13");
      var answer = browser.receive();
      assertEquals(101, answer.status());
      assertEquals("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", answer.field("Sec-WebSocket-Accept"));
      assertEquals("websocket", answer.field("Upgrade"));
      assertEquals("chat", answer.field("Sec-WebSocket-Protocol"));
      assertEquals("hello", browser.read(5));
      browser.send("ping");
      assertEquals("ping", browser.read(4));
      assertTrue(browser.ended());
    }
  }

  /** An origin by HTTP/2 that says nothing of RFC 8441, until it is left. */
  private static void withoutWebSockets(Connection connection) throws IOException {
    connection.write(new byte[] {0, 0, 0, 4, 0, 0, 0, 0, 0});
    connection.flush();
    var into = ByteBuffer.allocate(1 << 10);
    while (connection.read(into.clear()) >= 0) {
      // Until the proxy ends it.
    }
  }

  private int serveWithoutWebSockets(@Nullable ServerTls tls) throws IOException {
    return serveWithoutWebSockets(tls, 0, Connection::reset);
  }

  /**
   * An origin that has WebSockets by HTTP/1.1 only.
   *
   * @param failing which of its connections fails before TLS; 0 for none
   * @param fails what it does with that one
   */
  private int serveWithoutWebSockets(@Nullable ServerTls tls, int failing, Listener.Handler fails)
      throws IOException {
    var connections = new AtomicInteger();
    Handler greets =
        exchange -> {
          assertEquals(Version.HTTP_1_1, exchange.request().version());
          var fields = Fields.of("Connection", "upgrade", "Upgrade", "websocket");
          var tunnel = exchange.tunnel(ResponseHead.of(101, fields));
          tunnel.out().write("hello".getBytes(ISO_8859_1));
          tunnel.out().end();
        };
    var listener = fibers.listen(new InetSocketAddress("localhost", 0));
    var server = new HttpServer(fibers, greets, HttpSettings.DEFAULT);
    fibers.spawn(
        () ->
            listener.serve(
                raw -> {
                  if (connections.incrementAndGet() == failing) {
                    fails.serve(raw);
                    return;
                  }
                  var connection =
                      tls == null ? raw : raw.overTls(tls.engine(), Duration.ofSeconds(10));
                  var session = connection.tlsSession();
                  if (session.isEmpty()
                      || session.get().applicationProtocol().equals(Optional.of("h2"))) {
                    withoutWebSockets(connection);
                  } else {
                    server.serve(connection, listener.draining());
                  }
                }));
    return ((InetSocketAddress) listener.address()).getPort();
  }

  private static Browser.Answer askForWebSocket(Browser browser) throws IOException {
    browser.ask(
        "GET",
        "/socket",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13");
    return browser.receive();
  }

  @Test
  void webSocketsAreAskedForByHttp1WhereHttp2HasNone(@TempDir Path folder) throws Exception {
    int port = serveWithoutWebSockets(certificate(folder, "localhost", "h2", "http/1.1"));
    var address = beforeTls(port, folder);
    for (int i = 0; i < 2; i++) {
      try (var browser = new Browser(address)) {
        assertEquals(101, askForWebSocket(browser).status());
        assertEquals("hello", browser.read(5));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aConnectionByHttp1ThatFailsIsTriedAgain(boolean resets, @TempDir Path folder)
      throws Exception {
    var tls = certificate(folder, "localhost", "h2", "http/1.1");
    // What comes without TLS where that is due is a failure of TLS.
    Listener.Handler fails = resets ? Connection::reset : Http2OriginTest::withoutWebSockets;
    int port = serveWithoutWebSockets(tls, 2, fails); // that by HTTP/2 is the first
    var address = beforeTls(port, folder);
    try (var browser = new Browser(address)) {
      assertEquals(101, askForWebSocket(browser).status());
    }
  }

  @Test
  void webSocketsAre502WhereHttp1IsRefused(@TempDir Path folder) throws Exception {
    int port = serveWithoutWebSockets(certificate(folder, "localhost", "h2"));
    try (var browser = new Browser(beforeTls(port, folder))) {
      var answer = askForWebSocket(browser);
      assertEquals("502 the origin: no-websockets", answer.status() + " " + answer.body().strip());
    }
  }

  @Test
  void whoAwaitsToContinueIsToldSoByAnOriginByHttp2() throws Exception {
    Handler refusesSome =
        exchange -> {
          if (exchange.request().path().equals("/refused")) {
            exchange.respond(ResponseHead.of(417), ByteBuffer.allocate(0));
            return;
          }
          var body = ByteBuffer.allocate(4);
          while (body.hasRemaining() && exchange.body().read(body) >= 0) {
            // Until all is there.
          }
          exchange.respond(ResponseHead.of(200), body.flip());
        };
    var address = beforeHttp2(serve(refusesSome, null));
    for (var path : List.of("/refused", "/wanted")) {
      try (var browser = new Browser(address)) {
        browser.send("PUT " + path + " HTTP/1.1\r\nHost: test\r\n");
        browser.send("Expect: 100-continue\r\nContent-Length: 4\r\n\r\n");
        boolean refused = path.equals("/refused");
        assertEquals(refused ? 417 : 100, browser.receive().status(), "RFC 9110 §10.1.1");
        if (!refused) {
          browser.send("body");
          assertEquals("body", browser.receive().body());
        }
      }
    }
  }

  @Test
  void webSocketsAre502WhereThereAreNone() throws Exception {
    int port = serveWithoutWebSockets(null);
    var address = beforeHttp2(port);
    try (var browser = new Browser(address)) {
      var answer = askForWebSocket(browser);
      assertEquals("502 the origin: no-websockets", answer.status() + " " + answer.body().strip());
    }
  }

  /** RFC 6455 §4.2.2. */
  private static String accept(String key) {
    try {
      var whole = (key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").getBytes(ISO_8859_1);
      return Base64.getEncoder().encodeToString(MessageDigest.getInstance("SHA-1").digest(whole));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has SHA-1", e);
    }
  }

  /** What an origin of HTTP/1.1 says to consent. */
  private static String consent(String key) {
    return "HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: "
        + accept(key)
        + "\r\n\r\n";
  }

  private static void connect(RawHttp2 client, int stream, String protocol) throws IOException {
    client.frame(
        RawHttp2.HEADERS,
        RawHttp2.END_HEADERS,
        stream,
        RawHttp2.block(
            ":method",
            "CONNECT",
            ":protocol",
            protocol,
            ":scheme",
            "http",
            ":path",
            "/socket",
            ":authority",
            "test",
            "sec-websocket-version",
            "13"));
  }

  private RawHttp2 before(ScriptedOrigin origin) throws IOException {
    var settings = ProxySettings.DEFAULT.withOrigins(List.of(origin.origin()));
    return new RawHttp2(start(settings).addresses().getFirst());
  }

  @Test
  void webSocketsByHttp2PassToOriginsByHttp1() throws Exception {
    try (var origin = new ScriptedOrigin()) {
      origin.then(
          (request, wire) -> {
            wire.send(consent(request.field("Sec-WebSocket-Key")) + "hello");
            wire.send(new String(wire.in().readNBytes(4), ISO_8859_1) + "!");
            wire.socket().close();
          });
      try (var client = before(origin)) {
        connect(client, 1, "websocket");
        assertEquals("200", client.status(1), "RFC 8441 §5");
        client.frame(RawHttp2.DATA, 0, 1, "ping".getBytes(ISO_8859_1));
        assertEquals("helloping!", client.data(1, 10));
      }
      var asked = origin.next();
      assertEquals("GET /socket HTTP/1.1", asked.line());
      assertEquals("websocket", asked.field("Upgrade"));
      assertEquals(24, asked.field("Sec-WebSocket-Key").length());
      assertEquals("13", asked.field("Sec-WebSocket-Version"));
    }
  }

  @Test
  void whoHasNotReadTheKeyHasNotConsented() throws Exception {
    try (var origin = new ScriptedOrigin()) {
      origin
          .then((_, wire) -> wire.send(consent("dGhlIHNhbXBsZSBub25jZQ==")))
          .then((_, wire) -> wire.send("HTTP/1.1 101 X\r\nUpgrade: websocket\r\n\r\n"));
      try (var client = before(origin)) {
        connect(client, 1, "websocket");
        assertEquals("502", client.status(1), "RFC 6455 §4.1");
        connect(client, 3, "websocket");
        assertEquals("502", client.status(3));
      }
    }
  }

  @Test
  void anAnswerOfHttpIsNoConsentToLeaveIt() throws Exception {
    try (var origin = new ScriptedOrigin()) {
      origin.then(200, "a page").then(404, "none");
      try (var client = before(origin)) {
        connect(client, 1, "websocket");
        assertEquals("502", client.status(1), "200 would open the WebSocket");
        connect(client, 3, "websocket");
        assertEquals("404", client.status(3));
      }
    }
  }

  @Test
  void aProtocolThatDoesNotPassIsNotAnsweredFromTheCache() throws Exception {
    try (var origin = new ScriptedOrigin()) {
      origin.then(200, "a page", "Cache-Control: max-age=60");
      try (var client = before(origin)) {
        client.get(1, "/socket");
        assertEquals("200", client.status(1));
        connect(client, 3, "h2c");
        assertEquals("501", client.status(3), "200 would open a tunnel");
      }
      assertEquals(1, origin.count());
    }
  }
}
