package dev.evergreen.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Dialer;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.Listener;
import dev.evergreen.fibers.MemoryPair;
import dev.evergreen.fibers.Pace;
import dev.evergreen.fibers.WaitCancelledException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Exchanges with origins by HTTP/2, by prior knowledge. */
@Timeout(60)
class Http2UpstreamTest {
  private final Upstreams upstreams = upstreams(Talk.FIBERS);
  private final AtomicInteger connections = new AtomicInteger();
  private final Listener listener;

  Http2UpstreamTest() throws IOException {
    listener = Talk.FIBERS.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }

  private static Upstreams upstreams(Fibers fibers) {
    var times = Duration.ofSeconds(30);
    return new Upstreams(
        Dialer.of(fibers),
        null,
        HttpSettings.DEFAULT.withTimes(times, times, Duration.ofSeconds(10), times),
        UpstreamLimits.DEFAULT,
        UpstreamVersion.HTTP_2);
  }

  @AfterEach
  void end() {
    upstreams.close();
    listener.close();
  }

  private Origin origin(Handler handler) {
    var server = new HttpServer(Talk.FIBERS, handler, HttpSettings.DEFAULT);
    return serving(connection -> server.serve(connection, listener.draining()));
  }

  private Origin serving(Listener.Handler handler) {
    Talk.FIBERS.spawn(
        () ->
            listener.serve(
                connection -> {
                  connections.incrementAndGet();
                  handler.serve(connection);
                }));
    return new Origin(false, "127.0.0.1", ((InetSocketAddress) listener.address()).getPort());
  }

  private String get(Origin origin, RequestHead request) throws IOException {
    return get(upstreams, origin, request);
  }

  private static String get(Upstreams upstreams, Origin origin, RequestHead request)
      throws IOException {
    try (var exchange = upstreams.open(origin)) {
      exchange.send(request);
      var text = new StringBuilder();
      ResponseHead head;
      do {
        head = exchange.receive();
        text.append(head.status()).append(' ');
      } while (head.isInformational());
      return text + Talk.text(exchange.body()) + exchange.body().trailers();
    }
  }

  private static RequestHead get(String path) {
    return RequestHead.of("GET", path, Fields.of("Host", "a"));
  }

  @Test
  void manyExchangesShareOneConnection() throws Exception {
    var all = new CountDownLatch(20);
    var origin =
        origin(
            exchange -> {
              all.countDown();
              await(all);
              Talk.echo(exchange);
            });
    var answers = new ArrayList<CompletableFuture<String>>();
    for (int i = 0; i < 20; i++) {
      var path = "/" + i;
      answers.add(Talk.start(() -> get(origin, get(path))));
    }
    for (int i = 0; i < 20; i++) {
      assertEquals("200 GET /%d a /%d||".formatted(i, i), answers.get(i).get());
    }
    assertEquals(1, connections.get());
    assertEquals(1, upstreams.connections(origin));
  }

  /** Seen: a client that left while its head waited for a buffer ended the exchanges of all. */
  @Test
  void whoLeavesWhileItsHeadWaitsForABufferEndsNobodyElsesExchange() throws Exception {
    var asked = new CountDownLatch(2);
    var answer = new CountDownLatch(1);
    var origin =
        origin(
            exchange -> {
              if (exchange.request().path().equals("/first")) {
                asked.countDown();
                await(answer);
              }
              Talk.echo(exchange);
            });
    var first = Talk.start(() -> get(origin, get("/first")));
    var held = new ArrayList<Buffers.Loan>();
    var left = CancelScope.within(Duration.ZERO);
    var given = upstreams.open(origin);
    given.send(get("/first"));
    asked.await();
    try (var exchange = upstreams.open(origin)) {
      borrowAll(held, exchange.connection());
      assertThrows(IOException.class, () -> left.run(() -> exchange.send(get("/second"))));
      var session = assertInstanceOf(Http2ClientStream.class, exchange).session;
      assertEquals(2, session.streams.size(), "what was not sent is kept nowhere");
      // Seen: it threw, and its place at the origin was taken for ever.
      left.run(given::close);
      assertEquals(1, session.streams.size());
    } finally {
      Buffers.limit(Buffers.capacity());
      held.forEach(Buffers.Loan::close);
    }
    answer.countDown();
    assertEquals("200 GET /first a /first||", first.get());
    assertEquals("200 GET /third a /third||", get(origin, get("/third")));
    assertEquals(1, connections.get());
  }

  /**
   * All that who begins may have, and then all that a writer may have. It waits a moment for each,
   * as processors give what lies ready with them only when somebody waits.
   */
  private static void borrowAll(List<Buffers.Loan> held, Connection connection) {
    Buffers.limit(Buffers.count() + 32);
    for (var lend :
        List.<Callable<Buffers.Loan>>of(Buffers::borrow, () -> Buffers.borrowToWrite(connection))) {
      assertThrows(
          Exception.class,
          () -> {
            while (true) {
              held.add(CancelScope.within(Duration.ofMillis(20)).call(lend::call));
            }
          });
    }
  }

  /** Seen: the fiber that sends waited for ever, as nothing told it that all had ended. */
  @Test
  void noFiberStaysOfAConnectionWhoseEndFindsNoBuffer() throws Exception {
    var origin = origin(Talk::echo);
    var held = new ArrayList<Buffers.Loan>();
    // Fibers of its own: others that end meanwhile must not make up for one that stays.
    try (var fibers = Fibers.builder().name("upstream").processors(1).start()) {
      var own = upstreams(fibers);
      try (var pair = MemoryPair.of(Talk.FIBERS)) {
        assertEquals("200 GET /a a /a||", get(own, origin, get("/a")));
        assertTrue(fibers.report().fibers() > 0);
        borrowAll(held, pair.near());
        own.close();
        while (own.connections(origin) > 0) {
          Thread.sleep(1);
        }
      } finally {
        Buffers.limit(Buffers.capacity());
        held.forEach(Buffers.Loan::close);
      }
      while (fibers.report().fibers() > 0) {
        Thread.sleep(1);
      }
    }
  }

  /** Some origins wait for the settings for two seconds only, which a busy machine may take. */
  @Test
  void thePrefaceComesWithItsSettings() throws Exception {
    var first = new CompletableFuture<Integer>();
    var origin =
        serving(
            connection -> {
              var into = ByteBuffer.allocate(1000);
              while (connection.tryRead(into) == 0) {
                connection.awaitInput();
              }
              first.complete(into.position());
            });
    var _ = Talk.start(() -> get(origin, get("/")));
    int preface = Http2Connection.PREFACE.length;
    assertTrue(first.get() >= preface + 9 + 2 * 6, "only " + first.get() + " bytes came at once");
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void fieldsOfAConnectionStayBehind() throws Exception {
    var origin =
        origin(
            exchange ->
                exchange.respond(
                    ResponseHead.of(200),
                    ByteBuffer.wrap(Talk.bytes(exchange.request().fields().toString()))));
    var request = get("/");
    request.fields().add("Connection", "X").add("X", "y").add("TE", "trailers").add("Y", "z");
    assertEquals("200 te: trailers\r\ny: z\r\nhost: a\r\n", sorted(get(origin, request)));
  }

  private static String sorted(String answer) {
    var lines = answer.substring(4).lines().sorted((a, b) -> b.compareTo(a)).toList();
    var order = new ArrayList<String>();
    lines.stream().filter(line -> line.startsWith("te")).forEach(order::add);
    lines.stream().filter(line -> !line.startsWith("te")).forEach(order::add);
    return answer.substring(0, 4) + String.join("\r\n", order) + "\r\n";
  }

  @Test
  void bothSidesStreamAtOnceAndEndByTrailers() throws Exception {
    var origin =
        origin(
            exchange -> {
              var out = exchange.respond(ResponseHead.of(200));
              var piece = ByteBuffer.allocate(100);
              while (exchange.body().read(piece) >= 0) {
                out.write(piece.flip());
                piece.clear();
              }
              out.end(exchange.body().trailers());
            });
    try (var exchange = upstreams.open(origin)) {
      var out = exchange.send(RequestHead.of("POST", "/", Fields.of("Host", "a")), -1);
      assertEquals(200, exchange.receive().status());
      var piece = ByteBuffer.allocate(100);
      for (var word : new String[] {"one", "two", "three"}) {
        out.write(Talk.bytes(word));
        assertEquals(word.length(), exchange.body().read(piece.clear()), "before the next");
      }
      out.end(Fields.of("Grpc-Status", "0"));
      assertEquals("", Talk.text(exchange.body()));
      assertEquals("grpc-status: 0\r\n", exchange.body().trailers().toString());
    }
  }

  /** Seen: the last byte that a length told was the end, and no trailers came behind it. */
  @Test
  void trailersFollowABodyWhoseLengthWasTold() throws Exception {
    var origin =
        origin(
            exchange -> {
              var body = Talk.bytes(Talk.text(exchange.body()));
              var told = Fields.of("Content-Length", String.valueOf(body.length));
              var out = exchange.respond(ResponseHead.of(200, told));
              out.write(body);
              out.end(exchange.body().trailers());
            });
    for (var body : new String[] {"", "abc"}) {
      try (var exchange = upstreams.open(origin)) {
        int length = body.isEmpty() ? -1 : body.length();
        var out = exchange.send(RequestHead.of("POST", "/", Fields.of("Host", "a")), length);
        out.write(Talk.bytes(body));
        out.end(Fields.of("T", "u"));
        assertEquals(200, exchange.receive().status());
        assertEquals(body.length(), exchange.body().length());
        assertEquals(body, Talk.text(exchange.body()));
        assertEquals("t: u\r\n", exchange.body().trailers().toString());
      }
    }
  }

  @Test
  void aBodyOfTheLengthThatWasToldIsWholeWithoutItsEnd() throws Exception {
    var origin =
        origin(
            exchange ->
                exchange
                    .respond(ResponseHead.of(200, Fields.of("Content-Length", "3")))
                    .write(Talk.bytes("abc")));
    assertEquals("200 abc", get(origin, get("/")));
  }

  @Test
  void whatFindsNoRoomStaysWhereItIs() throws Exception {
    var go = new CountDownLatch(1);
    var origin =
        origin(
            exchange -> {
              await(go);
              Talk.echo(exchange);
            });
    try (var exchange = upstreams.open(origin)) {
      var out = exchange.send(RequestHead.of("PUT", "/", Fields.of("Host", "a")), -1);
      var body = ByteBuffer.wrap(Talk.bytes("x".repeat(100_000)));
      out.tryWrite(body);
      assertEquals(100_000 - Http2Stream.WINDOW, body.remaining());
      go.countDown();
      out.write(body);
      out.end();
      assertEquals(200, exchange.receive().status());
      assertEquals("PUT / a /|" + "x".repeat(100_000) + "|", Talk.text(exchange.body()));
    }
  }

  @Test
  void largeBodiesGoBothWaysThroughTheWindows() throws Exception {
    var origin = origin(Talk::echo);
    var body = "0123456789".repeat(300_000);
    try (var exchange = upstreams.open(origin)) {
      var head = RequestHead.of("PUT", "/", Fields.of("Host", "a"));
      var out = exchange.send(head, body.length());
      out.write(Talk.bytes(body));
      out.end();
      assertEquals(200, exchange.receive().status());
      assertEquals("PUT / a /|" + body + "|", Talk.text(exchange.body()));
    }
  }

  @Test
  void whoDoesNotReadHindersNobody() throws Exception {
    int slow = 15; // Together their windows are nearly the first window of a connection.
    var unread = new CountDownLatch(slow);
    var origin =
        origin(
            exchange -> {
              var out = exchange.respond(ResponseHead.of(200));
              out.write(new byte[Http2Stream.WINDOW]);
              unread.countDown();
              out.write(new byte[1 << 20]);
              out.end();
            });
    var open = new ArrayList<ClientExchange>();
    try {
      for (int i = 0; i < slow; i++) {
        var exchange = upstreams.open(origin);
        open.add(exchange);
        exchange.send(get("/"));
      }
      unread.await();
      assertEquals(4 + Http2Stream.WINDOW + (1 << 20), get(origin, get("/")).length());
      assertEquals(1, connections.get());
    } finally {
      open.forEach(ClientExchange::close);
    }
  }

  @Test
  void aConnectionHasABoundOfItsOwnForStreams() throws Exception {
    // Its limit is 1,000 streams, told before the request comes.
    var origin = settingsFirst(0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 3, 232);
    var open = new ArrayList<ClientExchange>();
    try {
      var first = upstreams.open(origin);
      open.add(first);
      first.send(get("/asked"));
      assertEquals(200, first.receive().status());
      for (int i = 0; i < 100; i++) {
        open.add(upstreams.open(origin));
      }
      assertEquals(2, upstreams.connections(origin), "what lies unread is bounded");
    } finally {
      open.forEach(ClientExchange::close);
    }
  }

  /**
   * Seen: of a burst all but as many as the origin took were refused, each time anew, and failed.
   */
  @Test
  void oneAloneIsAskedForBeforeTheOriginHasSaidHowManyItTakes() throws Exception {
    var settings = HttpSettings.DEFAULT.withStreams(1);
    var server = new HttpServer(Talk.FIBERS, Talk::echo, settings);
    var speaks = new CountDownLatch(1);
    var origin =
        serving(
            connection -> {
              await(speaks);
              server.serve(connection, listener.draining());
            });
    try (var first = upstreams.open(origin)) {
      var soon = CancelScope.within(Duration.ofMillis(20));
      assertThrows(IOException.class, () -> soon.run(() -> upstreams.open(origin).close()));
      speaks.countDown();
      assertEquals("200 GET /b a /b||", get(origin, get("/b")));
      assertEquals(2, connections.get(), "the first has no room");
      first.send(get("/a"));
      assertEquals(200, first.receive().status());
    }
  }

  /** Room that came between its look and its wait was overlooked, until its patience ended. */
  @Test
  void whoBeginsToWaitOverlooksNoRoom() throws Exception {
    var one = HttpSettings.DEFAULT.withStreams(1);
    var server = new HttpServer(Talk.FIBERS, Talk::echo, one);
    var origin = serving(connection -> server.serve(connection, listener.draining()));
    var patience = Duration.ofSeconds(5);
    var limits = new UpstreamLimits(1, 10, patience, patience, Duration.ofSeconds(30));
    try (var narrow =
        new Upstreams(
            Dialer.of(Talk.FIBERS), null, HttpSettings.DEFAULT, limits, UpstreamVersion.HTTP_2)) {
      for (int round = 0; round < 5000; round++) {
        var other = Talk.start(() -> get(narrow, origin, get("/b")));
        assertEquals("200 GET /a a /a||", get(narrow, origin, get("/a")));
        assertEquals("200 GET /b a /b||", other.get());
      }
      assertEquals(1, narrow.connections(origin));
    }
  }

  /** RFC 9113 §6.5.2: only a client takes pushes. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void anOriginMustNotTakePushes(int pushes) throws Exception {
    var origin = settingsFirst(0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, pushes);
    try (var exchange = upstreams.open(origin)) {
      exchange.send(get("/asked"));
      assertEquals(200, exchange.receive().status());
      assertEquals(0, pushes);
    } catch (IOException e) {
      assertEquals(1, pushes, e.toString());
    }
  }

  @Test
  void whoIsSlowPaysByTheRoomThatItHasOnASharedConnection() throws Exception {
    var limits =
        new UpstreamLimits(
            1, 10, Duration.ofSeconds(1), Duration.ofSeconds(30), Duration.ofSeconds(5));
    try (var narrow =
        new Upstreams(
            Dialer.of(Talk.FIBERS), null, HttpSettings.DEFAULT, limits, UpstreamVersion.HTTP_2)) {
      var origin = origin(Talk::echo);
      var open = new ArrayList<ClientExchange>();
      for (int i = 0; i < 100; i++) {
        open.add(narrow.open(origin));
      }
      var slow = new Pace();
      slow.waits();
      try (var _ = narrow.slowPeers(origin).hold(slow, () -> open.getFirst().close())) {
        open.add(Talk.start(() -> narrow.open(origin)).get());
      } finally {
        open.forEach(ClientExchange::close);
      }
      assertEquals(1, narrow.connections(origin));
    }
  }

  @Test
  void whoWaitsForAConnectionThatIsNotMadeDoesNotTryItAgain() throws Exception {
    var dialled = new CountDownLatch(1);
    var release = new CountDownLatch(1);
    var port =
        serving(
                _ -> {
                  dialled.countDown();
                  await(release); // amid the handshake
                })
            .port();
    var origin = new Origin(true, "127.0.0.1", port);
    var context = SSLContext.getDefault();
    try (var secure =
        new Upstreams(
            Dialer.of(Talk.FIBERS),
            (host, at) -> {
              var engine = context.createSSLEngine(host, at);
              engine.setUseClientMode(true);
              return engine;
            },
            HttpSettings.DEFAULT,
            UpstreamLimits.DEFAULT,
            UpstreamVersion.HTTP_2)) {
      var failures = new LinkedBlockingQueue<IOException>();
      Runnable open =
          () -> failures.add(assertThrows(IOException.class, () -> secure.open(origin)));
      Talk.FIBERS.spawn(open);
      dialled.await();
      var leaving = CancelScope.open();
      var left = Talk.start(() -> leaving.call(() -> secure.open(origin)));
      for (int i = 0; i < 3; i++) {
        awaitWaiting(Talk.FIBERS.spawn(open));
      }
      leaving.cancel();
      var end = assertThrows(ExecutionException.class, left::get);
      assertInstanceOf(WaitCancelledException.class, end.getCause(), "nobody waits for it");
      release.countDown();
      var first = failures.take();
      for (int i = 0; i < 3; i++) {
        assertSame(first, failures.take());
      }
      assertEquals(1, connections.get());
    }
  }

  /** Seen: each waited for them as long as those before it had together. */
  @Test
  void whoHasWaitedForSettingsWithOthersDoesNotWaitAnew() throws Exception {
    var held = new CountDownLatch(1);
    var origin = serving(_ -> await(held)); // It never speaks.
    var times = Duration.ofSeconds(2);
    var settings = HttpSettings.DEFAULT.withTimes(times, times, times, times);
    try (var mute =
            new Upstreams(
                Dialer.of(Talk.FIBERS),
                null,
                settings,
                UpstreamLimits.DEFAULT,
                UpstreamVersion.HTTP_2);
        var _ = mute.open(origin)) {
      var failures = new LinkedBlockingQueue<IOException>();
      for (int i = 0; i < 3; i++) {
        awaitWaiting(
            Talk.FIBERS.spawn(
                () -> failures.add(assertThrows(IOException.class, () -> mute.open(origin)))));
      }
      var first = failures.take();
      assertSame(first, failures.take());
      assertSame(first, failures.take());
    } finally {
      held.countDown();
    }
  }

  private static void awaitWaiting(Thread fiber) {
    while (fiber.getState() != Thread.State.WAITING
        && fiber.getState() != Thread.State.TIMED_WAITING) {
      Thread.onSpinWait();
    }
  }

  @Test
  void responsesWithoutABodyHaveNone() throws Exception {
    var origin =
        origin(
            exchange ->
                exchange.respond(
                    ResponseHead.of(exchange.request().is("HEAD") ? 200 : 204),
                    ByteBuffer.wrap(Talk.bytes("body"))));
    assertEquals("204 ", get(origin, get("/")));
    assertEquals("200 ", get(origin, RequestHead.of("HEAD", "/", Fields.of("Host", "a"))));
  }

  @Test
  void informationComesBeforeTheResponse() throws Exception {
    var origin =
        origin(
            exchange -> {
              exchange.inform(ResponseHead.of(103));
              Talk.echo(exchange);
            });
    assertEquals("103 200 GET / a /||", get(origin, get("/")));
  }

  @Test
  void aStreamThatIsCutOffIsIncompleteAndTheConnectionGoesOn() throws Exception {
    var origin =
        origin(
            exchange -> {
              if (exchange.request().path().equals("/cut")) {
                exchange.respond(ResponseHead.of(200)).write(Talk.bytes("half"));
              } else {
                Talk.echo(exchange);
              }
            });
    assertThrows(IncompleteMessageException.class, () -> get(origin, get("/cut")));
    assertEquals("200 GET / a /||", get(origin, get("/")));
    assertEquals(1, connections.get());
  }

  @Test
  void anOriginThatGoesAwayIsDialledAgain() throws Exception {
    var origin =
        origin(
            exchange -> {
              exchange.closeAfterwards();
              Talk.echo(exchange);
            });
    assertEquals("200 GET /1 a /1||", get(origin, get("/1")));
    assertEquals("200 GET /2 a /2||", get(origin, get("/2")));
    assertEquals(2, connections.get());
  }

  @Test
  void whoIsGivenUpFreesItsRoom() throws Exception {
    var origin = origin(exchange -> exchange.body().await());
    int sent = 0;
    for (int i = 0; i < 300; i++) {
      try (var exchange = upstreams.open(origin)) {
        exchange.send(RequestHead.of("POST", "/", Fields.of("Host", "a")), -1);
        if (exchange.anySent()) { // unless the origin has said meanwhile that it takes no more
          sent++;
        }
        assertFalse(exchange.anyReceived());
      } catch (IOException e) {
        // The origin finds that these are many.
      }
    }
    assertTrue(connections.get() < 20, "each connection is used many times: " + connections);
    assertTrue(sent > 250, "most are sent: " + sent);
  }

  /** An origin that says something else than it should, once the preface and a request came. */
  private Origin saying(byte... frames) {
    return saying(new byte[] {0, 0, 0, 4, 0, 0, 0, 0, 0}, frames);
  }

  /** One with settings of its own, which answers a request. */
  private Origin settingsFirst(int... settings) {
    return saying(bytes(settings), head(4, 0x88));
  }

  private Origin saying(byte[] settings, byte[] frames) {
    return serving(
        connection -> {
          write(connection, settings);
          var into = ByteBuffer.allocate(1 << 16);
          while (new String(
                      into.array(), 0, into.position(), java.nio.charset.StandardCharsets.US_ASCII)
                  .indexOf("/asked")
              < 0) {
            if (connection.read(into) < 0) {
              return;
            }
          }
          write(connection, frames);
          while (connection.read(into.clear()) >= 0) {
            // Until the other side ends.
          }
        });
  }

  /** One that goes on with a stream that was given up, by so many frames at most. */
  private Origin goingOn(byte[] frame, int most, CompletableFuture<Boolean> hungUp) {
    return serving(
        connection -> {
          write(connection, new byte[] {0, 0, 0, 4, 0, 0, 0, 0, 0});
          var said = new StringBuilder();
          await(connection, said, new byte[] {0, 0, 4, 3, 0, 0, 0, 0, 1}); // the reset
          try {
            for (int i = 0; i < most; i++) {
              write(connection, frame);
            }
            hungUp.complete(false);
            await(connection, said, new byte[] {1, 5, 0, 0, 0, 3}); // the next request
            write(connection, of(head(5, 0x88), 3));
          } catch (IOException e) {
            hungUp.complete(true);
          }
          var into = ByteBuffer.allocate(1 << 10);
          while (connection.read(into.clear()) >= 0) {
            // Until the other side ends.
          }
        });
  }

  /** The same frame for another stream. */
  private static byte[] of(byte[] frame, int stream) {
    frame[8] = (byte) stream;
    return frame;
  }

  private static void await(Connection from, StringBuilder said, byte[] part) throws IOException {
    while (said.indexOf(new String(part, ISO_8859_1)) < 0) {
      var into = ByteBuffer.allocate(1 << 10);
      assertTrue(from.read(into) >= 0);
      said.append(new String(into.array(), 0, into.position(), ISO_8859_1));
    }
  }

  static Stream<byte[]> partsOfMessages() {
    return Stream.of(new byte[] {0, 0, 1, 0, 0, 0, 0, 0, 1, 'x'}, head(4, 0x88));
  }

  @ParameterizedTest
  @MethodSource("partsOfMessages")
  void whatWasOnItsWayWhenItWasGivenUpIsNoFault(byte[] frame) throws Exception {
    var origin = goingOn(frame, 300, new CompletableFuture<>());
    try (var given = upstreams.open(origin)) {
      given.send(RequestHead.of("GET", "/1", Fields.of("Host", "a")));
    }
    try (var exchange = upstreams.open(origin)) {
      exchange.send(RequestHead.of("GET", "/3", Fields.of("Host", "a")));
      assertEquals(200, exchange.receive().status());
    }
    assertEquals(1, connections.get());
  }

  @Test
  void whatTheWindowsAllowedCostsNothingHoweverManyAreGivenUp() throws Exception {
    int given = 40;
    var piece = new byte[9 + 1000]; // DATA
    piece[1] = 1000 >> 8;
    piece[2] = (byte) 1000;
    var origin =
        serving(
            connection -> {
              write(connection, new byte[] {0, 0, 0, 4, 0, 0, 0, 0, 0});
              var said = new StringBuilder();
              for (int i = 0; i < given; i++) {
                byte stream = (byte) (2 * i + 1);
                await(connection, said, new byte[] {0, 0, 4, 3, 0, 0, 0, 0, stream});
                write(connection, of(head(4, 0x88), stream));
                for (int n = 0; n < 60; n++) {
                  write(connection, of(piece, stream));
                }
                write(connection, of(head(5, 0x88), stream));
              }
              byte next = (byte) (2 * given + 1);
              await(connection, said, new byte[] {1, 5, 0, 0, 0, next});
              write(connection, of(head(5, 0x88), next));
              await(connection, said, new byte[] {0, 0, 8, 7}); // GOAWAY
            });
    for (int i = 0; i < given; i++) {
      try (var exchange = upstreams.open(origin)) {
        exchange.send(get("/"));
      }
    }
    try (var exchange = upstreams.open(origin)) {
      exchange.send(get("/"));
      assertEquals(200, exchange.receive().status());
    }
    assertEquals(1, connections.get());
  }

  @ParameterizedTest
  @MethodSource("partsOfMessages")
  void whoGoesOnWithoutEndIsHungUpOn(byte[] frame) throws Exception {
    var hungUp = new CompletableFuture<Boolean>();
    var origin = goingOn(frame, 1_000_000, hungUp);
    try (var given = upstreams.open(origin)) {
      given.send(RequestHead.of("GET", "/1", Fields.of("Host", "a")));
    }
    assertTrue(hungUp.get());
  }

  private static void write(Connection to, byte[] bytes) throws IOException {
    to.write(bytes);
    to.flush();
  }

  private void assertMalformed(byte... frames) {
    var origin = saying(frames);
    var request = RequestHead.of("GET", "/asked", Fields.of("Host", "a"));
    var thrown =
        assertThrows(
            IOException.class,
            () -> {
              try (var exchange = upstreams.open(origin)) {
                exchange.send(request);
                assertEquals(200, exchange.receive().status());
                var _ = Talk.text(exchange.body());
              }
            });
    assertTrue(
        thrown instanceof MalformedMessageException || thrown instanceof IncompleteMessageException,
        thrown.toString());
  }

  /** The first frame of stream 1, whose fields are those of HPACK's table by their numbers. */
  private static byte[] head(int flags, int... block) {
    var frame = new byte[9 + block.length];
    frame[2] = (byte) block.length;
    frame[3] = 1;
    frame[4] = (byte) flags;
    frame[8] = 1;
    for (int i = 0; i < block.length; i++) {
      frame[9 + i] = (byte) block[i];
    }
    return frame;
  }

  @Test
  void aResponseWithoutAStatusIsMalformed() {
    assertMalformed(head(5, 0x82));
  }

  @Test
  void aResponseWithTwoStatusesIsMalformed() {
    assertMalformed(head(5, 0x88, 0x88));
  }

  @Test
  void aResponseShorterThanItSaidIsMalformed() {
    // ":status: 200", "content-length: 9", the end.
    assertMalformed(head(5, 0x88, 0x0f, 0x0d, 1, '9'));
  }

  @Test
  void aPushEndsTheConnection() {
    var frame = head(4, 0, 0, 0, 2, 0x82);
    frame[3] = 5;
    assertMalformed(frame);
  }

  @Test
  void anAnswerToNothingEndsTheConnection() {
    var frame = head(5, 0x88);
    frame[8] = 7;
    assertMalformed(frame);
  }

  @Test
  void whatWasRefusedMayBeAskedAgain() throws Exception {
    var origin = saying(0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 7);
    try (var exchange = upstreams.open(origin)) {
      exchange.send(RequestHead.of("POST", "/asked", Fields.of("Host", "a")));
      assertInstanceOf(
          IncompleteMessageException.class, assertThrows(IOException.class, exchange::receive));
      assertFalse(exchange.anySent(), "RFC 9113 §8.7");
    }
  }

  @Test
  void aRequestBeyondTheLastMayBeSentAgainThoughItsBodyHasBegun() throws Exception {
    // GOAWAY, of which the last stream is 0.
    var origin = saying(0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    try (var exchange = upstreams.open(origin)) {
      var out = exchange.send(RequestHead.of("POST", "/", Fields.of("Host", "a")), -1);
      out.write(Talk.bytes("/asked"));
      assertThrows(IncompleteMessageException.class, exchange::receive);
      assertFalse(exchange.anySent(), "RFC 9113 §6.8");
      assertThrows(IOException.class, () -> out.write(Talk.bytes("more")));
    }
  }

  @Test
  void aRequestUpToTheLastGoesOn() throws Exception {
    // GOAWAY, of which the last stream is 1; then ":status: 200" and the end.
    var origin =
        saying(0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88);
    try (var exchange = upstreams.open(origin)) {
      exchange.send(RequestHead.of("POST", "/asked", Fields.of("Host", "a")), -1);
      assertEquals(200, exchange.receive().status());
      assertTrue(exchange.anySent());
    }
    try (var next = upstreams.open(origin)) {
      assertFalse(next.reused(), "the connection takes no new ones");
    }
  }

  @Test
  void anAnswerCountsThoughTheRestOfTheRequestIsNotWanted() throws Exception {
    // ":status: 200" with the end, then RST_STREAM (NO_ERROR).
    var origin = saying(0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88, 0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0);
    try (var exchange = upstreams.open(origin)) {
      var out = exchange.send(RequestHead.of("POST", "/asked", Fields.of("Host", "a")), -1);
      assertEquals(200, exchange.receive().status());
      assertThrows(
          IOException.class,
          () -> {
            while (true) {
              out.write(Talk.bytes("more"));
            }
          });
      assertEquals("", Talk.text(exchange.body()), "RFC 9113 §8.1");
    }
  }

  @Test
  void aWebSocketIsNotAskedForWhereTheOriginDoesNotTakeIt() throws Exception {
    try (var exchange = upstreams.open(saying())) {
      var wish = webSocket("dGhlIHNhbXBsZSBub25jZQ==");
      var head = RequestHead.of("GET", "/asked", wish);
      assertThrows(NoWebSocketException.class, () -> exchange.send(head));
      assertFalse(exchange.anySent(), "it may be asked for by HTTP/1.1");
    }
  }

  @Test
  void aConnectionThatEndsBeforeItsSettingsSaysNothingOfWebSockets() throws Exception {
    var origin = serving(connection -> connection.read(ByteBuffer.allocate(1)));
    try (var exchange = upstreams.open(origin)) {
      var wish = webSocket("dGhlIHNhbXBsZSBub25jZQ==");
      var thrown =
          assertThrows(
              IOException.class, () -> exchange.send(RequestHead.of("GET", "/asked", wish)));
      assertFalse(thrown instanceof NoWebSocketException, thrown.toString());
      assertFalse(exchange.anySent());
    }
  }

  private static Fields webSocket(String key) {
    var wish = Fields.of("Host", "a", "Connection", "upgrade", "Upgrade", "websocket");
    return key.isEmpty() ? wish : wish.add("Sec-WebSocket-Key", key);
  }

  @Test
  void whatHasNoKeyIsNoWishForAWebSocket() throws Exception {
    // ":status: 400" and the end, from an origin that takes no WebSockets.
    try (var exchange = upstreams.open(saying(head(5, 0x8c)))) {
      exchange.send(RequestHead.of("GET", "/asked", webSocket("")));
      assertEquals(400, exchange.receive().status(), "it is asked as it is");
    }
  }

  private Origin saying(int... frames) {
    return saying(bytes(frames));
  }

  private static byte[] bytes(int... values) {
    var bytes = new byte[values.length];
    for (int i = 0; i < values.length; i++) {
      bytes[i] = (byte) values[i];
    }
    return bytes;
  }
}
