package dev.evergreen.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Dialer;
import dev.evergreen.fibers.Names;
import dev.evergreen.tls.ClientTls;
import dev.evergreen.tls.PemFiles;
import dev.evergreen.tls.ServerTls;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** HTTP by TLS: versions by ALPN, origins by their certificates, and ends that are told. */
@Timeout(60)
class TlsTest {
  @TempDir private static Path folder;

  @BeforeAll
  static void makeCertificates() throws Exception {
    var script = Path.of("..", "scripts", "certificates").toString();
    var process = new ProcessBuilder(script, folder.toString(), "localhost").inheritIO().start();
    assertEquals(0, process.waitFor());
  }

  private static PemFiles files() {
    return new PemFiles(
        folder.resolve("localhost.key"),
        folder.resolve("localhost.pem"),
        folder.resolve("authority.pem"));
  }

  /** Serves by TLS; answers the port. */
  private static int serve(TestTls server) {
    Talk.FIBERS.spawn(
        () ->
            server.listener.serve(
                raw -> {
                  var connection = raw.overTls(server.tls.engine(), Duration.ofSeconds(10));
                  new HttpServer(Talk.FIBERS, server.handler, HttpSettings.DEFAULT)
                      .serve(connection, server.listener.draining());
                }));
    return ((InetSocketAddress) server.listener.address()).getPort();
  }

  private record TestTls(dev.evergreen.fibers.Listener listener, ServerTls tls, Handler handler)
      implements AutoCloseable {

    static TestTls of(Handler handler) throws Exception {
      var settings = ServerTls.Settings.of(files()).withProtocols("h2", "http/1.1");
      return new TestTls(
          Talk.FIBERS.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)),
          new ServerTls(settings),
          handler);
    }

    @Override
    public void close() {
      listener.close();
    }
  }

  @Test
  void theJdksClientSpeaksEitherVersion() throws Exception {
    Handler handler =
        exchange -> {
          assertTrue(exchange.request().secure());
          assertEquals("https", exchange.request().scheme());
          Talk.echo(exchange);
        };
    try (var server = TestTls.of(handler)) {
      var uri = URI.create("https://localhost:" + serve(server) + "/a");
      for (var version : HttpClient.Version.values()) {
        if (version.name().equals("HTTP_1_1") || version.name().equals("HTTP_2")) {
          try (var client =
              HttpClient.newBuilder().version(version).sslContext(files().load()).build()) {
            var response =
                client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString());
            assertEquals(version, response.version());
            assertTrue(response.body().startsWith("GET /a "), response.body());
          }
        }
      }
    }
  }

  /** RFC 9112 §9.8: somebody on the way may have cut it off. */
  @Test
  void aBodyThatLastsToTheEndIsWholeOnlyIfTlsHasSaidSo() throws Exception {
    try (var server = TestTls.of(Talk::echo)) {
      Talk.FIBERS.spawn(
          () ->
              server.listener.serve(
                  raw -> {
                    var connection = raw.overTls(server.tls.engine(), Duration.ofSeconds(10));
                    boolean says = Talk.until(connection, "\r\n\r\n").startsWith("GET /says ");
                    Talk.write(connection, "HTTP/1.1 200 OK\r\n\r\nbody");
                    if (says) {
                      connection.shutdownOutput();
                    }
                    raw.close();
                  }));
      var tls = ClientTls.trusting(folder.resolve("authority.pem")).withProtocols("http/1.1");
      int port = ((InetSocketAddress) server.listener.address()).getPort();
      try (var upstreams = upstreams(tls)) {
        var origin = new Origin(true, "localhost", port);
        assertEquals("body", body(upstreams, origin, "/says"));
        assertThrows(IOException.class, () -> body(upstreams, origin, "/cuts"));
      }
    }
  }

  /** Seen: they waited until the first exchange had ended. */
  @Test
  void whoWaitsForAConnectionSharesItOnceItTurnsOutToBeByHttp2() throws Exception {
    var told = new CountDownLatch(1);
    var release = new CountDownLatch(1);
    Handler handler =
        exchange -> {
          if (exchange.request().path().equals("/first")) {
            told.countDown();
            await(release);
          }
          Talk.echo(exchange);
        };
    var speaks = new CountDownLatch(1);
    try (var server = TestTls.of(handler)) {
      Talk.FIBERS.spawn(
          () ->
              server.listener.serve(
                  raw -> {
                    await(speaks);
                    var connection = raw.overTls(server.tls.engine(), Duration.ofSeconds(10));
                    new HttpServer(Talk.FIBERS, handler, HttpSettings.DEFAULT)
                        .serve(connection, server.listener.draining());
                  }));
      var tls = ClientTls.trusting(folder.resolve("authority.pem")).withProtocols("h2", "http/1.1");
      int port = ((InetSocketAddress) server.listener.address()).getPort();
      var patience = Duration.ofSeconds(5);
      var limits = new UpstreamLimits(1, 10, patience, patience, Duration.ofSeconds(30));
      try (var narrow =
          new Upstreams(
              Dialer.of(Talk.FIBERS),
              tls::engine,
              HttpSettings.DEFAULT,
              limits,
              UpstreamVersion.BY_ALPN)) {
        var origin = new Origin(true, "localhost", port);
        var first = Talk.start(() -> body(narrow, origin, "/first"));
        while (narrow.connections(origin) == 0) {
          Thread.onSpinWait();
        }
        var others = new ArrayList<CompletableFuture<String>>();
        for (int i = 0; i < 3; i++) {
          var path = "/" + i;
          var waits = new CompletableFuture<Thread>();
          others.add(
              Talk.start(
                  () -> {
                    waits.complete(Thread.currentThread());
                    return body(narrow, origin, path);
                  }));
          while (waits.get().getState() != Thread.State.WAITING
              && waits.get().getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
          }
        }
        speaks.countDown();
        told.await();
        for (var each : others) {
          assertTrue(each.get().startsWith("GET /"));
        }
        release.countDown();
        assertTrue(first.get().startsWith("GET /first"));
        assertEquals(1, narrow.connections(origin));
      } finally {
        release.countDown();
      }
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static String body(Upstreams upstreams, Origin origin, String path) throws IOException {
    try (var exchange = upstreams.open(origin)) {
      return body(exchange, path);
    }
  }

  private static String body(ClientExchange exchange, String path) throws IOException {
    exchange.send(RequestHead.of("GET", path));
    assertEquals(200, exchange.receive().status());
    return Talk.text(exchange.body());
  }

  @Test
  void originsAreCheckedAndTheirConnectionsUsedAgain() throws Exception {
    try (var server = TestTls.of(Talk::echo)) {
      int port = serve(server);
      var tls = ClientTls.trusting(folder.resolve("authority.pem")).withProtocols("http/1.1");
      try (var upstreams = upstreams(tls)) {
        var origin = new Origin(true, "localhost", port);
        for (int i = 0; i < 3; i++) {
          try (var exchange = upstreams.open(origin)) {
            assertEquals(i > 0, exchange.reused());
            exchange.send(RequestHead.of("GET", "/b"));
            assertEquals(200, exchange.receive().status());
            assertTrue(Talk.text(exchange.body()).startsWith("GET /b localhost:"));
          }
        }
        var other = new Origin(true, "other.example", port);
        assertThrows(SSLException.class, () -> upstreams.open(other));
        assertEquals(0, upstreams.connections(other));
      }
      try (var trustsOthers = upstreams(ClientTls.trustingPublic())) {
        assertThrows(
            SSLException.class, () -> trustsOthers.open(new Origin(true, "localhost", port)));
      }
    }
  }

  private static String version(ClientExchange exchange) throws IOException {
    return body(exchange, "/");
  }

  @Test
  void connectionsByHttp1TakeNoPlaceOfThoseByHttp2AndAreNotTakenForThem() throws Exception {
    Handler tellsVersion =
        exchange ->
            exchange.respond(
                ResponseHead.of(200),
                ByteBuffer.wrap(Talk.bytes(exchange.request().version().toString())));
    var both = ClientTls.trusting(folder.resolve("authority.pem")).withProtocols("h2", "http/1.1");
    var second = Duration.ofSeconds(1);
    var one = new UpstreamLimits(1, 1, second, Duration.ofSeconds(30), Duration.ofSeconds(30));
    try (var server = TestTls.of(tellsVersion);
        var upstreams = upstreams(both, one)) {
      var origin = new Origin(true, "localhost", serve(server));
      try (var byHttp1 = upstreams.openByHttp1(origin)) {
        try (var exchange = upstreams.open(origin)) {
          assertEquals("HTTP/2", version(exchange), "though the other has not ended");
        }
        assertEquals("HTTP/1.1", version(byHttp1));
        assertThrows(UpstreamBusyException.class, () -> upstreams.openByHttp1(origin));
      }
      assertEquals(2, upstreams.connections(origin), "that by HTTP/1.1 is kept");
    }
    try (var server = TestTls.of(tellsVersion);
        var upstreams = upstreams(both, one)) {
      var origin = new Origin(true, "localhost", serve(server));
      try (var byHttp1 = upstreams.openByHttp1(origin)) {
        assertEquals("HTTP/1.1", version(byHttp1));
      }
      try (var exchange = upstreams.open(origin)) {
        assertEquals("HTTP/2", version(exchange), "though one by HTTP/1.1 is kept");
      }
    }
  }

  private static Upstreams upstreams(ClientTls tls) {
    return upstreams(tls, UpstreamLimits.DEFAULT);
  }

  private static Upstreams upstreams(ClientTls tls, UpstreamLimits limits) {
    var names = new Names(_ -> List.of(InetAddress.getLoopbackAddress()), Duration.ofMinutes(1));
    return new Upstreams(
        Dialer.of(Talk.FIBERS).withNames(names),
        tls::engine,
        HttpSettings.DEFAULT,
        limits,
        UpstreamVersion.BY_ALPN);
  }

  @Test
  void anEndThatTlsDidNotTellIsNotTheEndOfABody() throws Exception {
    Handler cutsOff =
        exchange -> {
          var out = exchange.respond(ResponseHead.of(200));
          out.write(Talk.bytes("abc"));
          out.flush();
          // Without a word of TLS.
          exchange.connection().close();
          throw new IOException("as a test wants it");
        };
    try (var server = TestTls.of(cutsOff);
        var upstreams =
            upstreams(
                ClientTls.trusting(folder.resolve("authority.pem")).withProtocols("http/1.1"))) {
      var origin = new Origin(true, "localhost", serve(server));
      try (var exchange = upstreams.open(origin)) {
        exchange.send(RequestHead.of("GET", "/").version(Version.HTTP_1_0));
        assertEquals(200, exchange.receive().status());
        assertEquals(-1, exchange.body().length());
        assertThrows(IOException.class, () -> Talk.text(exchange.body()));
      }
    }
  }

  @Test
  void bothVersionsAreChosenByTheServersOrder() throws Exception {
    try (var server = TestTls.of(Talk::echo)) {
      int port = serve(server);
      var tls = ClientTls.trusting(folder.resolve("authority.pem"));
      for (var offered : List.of("h2", "http/1.1")) {
        var connection =
            Talk.FIBERS
                .connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
                .overTls(
                    tls.withProtocols(offered).engine("localhost", port), Duration.ofSeconds(10));
        assertEquals(
            offered, connection.tlsSession().orElseThrow().applicationProtocol().orElseThrow());
        connection.close();
      }
    }
  }

  @Test
  void aConnectionThatRestsIsEndedByTlsToo() throws Exception {
    try (var server = TestTls.of(Talk::echo)) {
      int port = serve(server);
      var tls = ClientTls.trusting(folder.resolve("authority.pem"));
      for (var version : List.of("http/1.1", "h2")) {
        var connection =
            Talk.FIBERS
                .connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
                .overTls(
                    tls.withProtocols(version).engine("localhost", port), Duration.ofSeconds(10));
        if (version.equals("h2")) {
          var settings = new byte[] {0, 0, 0, Http2Output.SETTINGS, 0, 0, 0, 0, 0};
          connection.write(ByteBuffer.wrap(Http2Connection.PREFACE));
          connection.writeAndFlush(ByteBuffer.wrap(settings));
        }
        connection.shutdownOutput();
        var all = Talk.all(connection);
        assertFalse(all.endsWith("[reset]"), version);
        connection.close();
      }
    }
  }

  /** Seen: strict clients, such as OpenSSL's, took each answer that ended a connection for cut. */
  @Test
  void anAnswerThatEndsTheConnectionIsEndedByTlsToo() throws Exception {
    try (var server = TestTls.of(Talk::echo)) {
      int port = serve(server);
      var tls = ClientTls.trusting(folder.resolve("authority.pem")).withProtocols("http/1.1");
      for (var version : List.of("1.0", "1.1")) {
        var connection =
            Talk.FIBERS
                .connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
                .overTls(tls.engine("localhost", port), Duration.ofSeconds(10));
        Talk.write(
            connection,
            "GET / HTTP/%s\r\nHost: localhost\r\nConnection: close\r\n\r\n".formatted(version));
        // Reads to the end, which is an error if TLS has not told it.
        assertTrue(Talk.until(connection, "\0").startsWith("HTTP/1.1 200 "));
        connection.close();
      }
    }
  }
}
