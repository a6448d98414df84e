package dev.evergreen.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Dialer;
import dev.evergreen.fibers.Listener;
import dev.evergreen.fibers.MemoryPair;
import dev.evergreen.fibers.Pace;
import dev.evergreen.fibers.SlowPeers;
import dev.evergreen.fibers.WaitCancelledException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a client makes of what origins send, and how it keeps its connections. */
@Timeout(60)
class UpstreamsTest {
  private static final String CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";

  /** An origin that does as a test says with each of its connections. */
  private record TestOrigin(Listener listener) implements AutoCloseable {

    static TestOrigin start(Listener.Handler handler) throws IOException {
      var listener = Talk.FIBERS.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      Talk.FIBERS.spawn(() -> listener.serve(handler));
      return new TestOrigin(listener);
    }

    /** Answers each request by the same bytes, and keeps the connection. */
    static TestOrigin answering(String answer) throws IOException {
      return start(connection -> answerAll(connection, answer));
    }

    static void answerAll(Connection connection, String answer) throws IOException {
      while (!Talk.until(connection, "\r\n\r\n").isEmpty()) {
        Talk.write(connection, answer);
      }
    }

    Origin origin() {
      return new Origin(false, "127.0.0.1", ((InetSocketAddress) listener.address()).getPort());
    }

    @Override
    public void close() {
      listener.close();
    }
  }

  private static Upstreams upstreams(int connections, int waiters, Duration patience) {
    return new Upstreams(
        Dialer.of(Talk.FIBERS),
        null,
        HttpSettings.DEFAULT,
        new UpstreamLimits(
            connections, waiters, patience, Duration.ofSeconds(30), Duration.ofSeconds(5)),
        UpstreamVersion.BY_ALPN);
  }

  private static Upstreams upstreams() {
    return upstreams(10, 10, Duration.ofSeconds(30));
  }

  /** The whole of a final response, as text. */
  private static String get(ClientExchange exchange, String method) throws IOException {
    exchange.send(RequestHead.of(method, "/"));
    var text = new StringBuilder();
    ResponseHead head;
    do {
      head = exchange.receive();
      text.append(head.status()).append(' ');
    } while (head.isInformational());
    return text + Talk.text(exchange.body()) + exchange.body().trailers();
  }

  private static String get(Upstreams upstreams, Origin origin) throws IOException {
    try (var exchange = upstreams.open(origin)) {
      return get(exchange, "GET");
    }
  }

  private static String getPatiently(Upstreams upstreams, Origin origin) throws IOException {
    while (true) {
      try {
        return get(upstreams, origin);
      } catch (UpstreamBusyException e) {
        // Another one had the place to wait for a moment.
      }
    }
  }

  static Stream<Arguments> malformed() {
    var ok = "HTTP/1.1 200 OK\r\n";
    return Stream.of(
        row("two lengths", ok + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"),
        row("two lengths, equal", ok + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
        row("a list of lengths", ok + "Content-Length: 3, 3\r\n\r\nabc"),
        row("CL and TE", ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        row("TE gzip, chunked", ok + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        row("TE gzip", ok + "Transfer-Encoding: gzip\r\n\r\nabc"),
        row(
            "TE twice",
            ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        row("TE of 1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        row("bytes after the length", ok + "Content-Length: 3\r\n\r\nabcd"),
        row("bytes after no body", ok + "Content-Length: 0\r\n\r\nabcd"),
        row(
            "bytes after chunks",
            ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n"),
        row("a body of 100", "HTTP/1.1 100 Continue\r\nContent-Length: 3\r\n\r\nabc" + ok + "\r\n"),
        row("101 unasked", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
        row("informational without end", "HTTP/1.1 102 Processing\r\n\r\n".repeat(1000)),
        row("obs-fold", ok + "X: a\r\n b\r\nContent-Length: 0\r\n\r\n"),
        row("blank before the colon", ok + "Content-Length : 3\r\n\r\nabc"),
        row("bare LF", ok + "Content-Length: 0\n\r\n"),
        row("NUL", ok + "X: \u0000\r\nContent-Length: 0\r\n\r\n"),
        row("no status line", "abc\r\n\r\n"),
        row("status of two digits", "HTTP/1.1 20 OK\r\n\r\n"),
        row("status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"),
        row("status 999", "HTTP/1.1 999 OK\r\n\r\n"),
        row("status 099", "HTTP/1.1 099 OK\r\n\r\n"),
        row("version 2.0", "HTTP/2.0 200 OK\r\n\r\n"),
        row("version in small letters", "http/1.1 200 OK\r\n\r\n"),
        row("control in the reason", "HTTP/1.1 200 O\u0001K\r\n\r\n"),
        row("chunk size", ok + "Transfer-Encoding: chunked\r\n\r\nx\r\n"),
        row("a fast 101 fields", ok + "X: y\r\n".repeat(101) + "\r\n"));
  }

  private static Arguments row(String name, String sent) {
    return Arguments.of(name, sent);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("malformed")
  void whatAnOriginMustNotSendIsAnErrorAndEndsTheConnection(String name, String sent)
      throws Exception {
    try (var origin = TestOrigin.answering(sent);
        var upstreams = upstreams()) {
      assertThrows(MalformedMessageException.class, () -> get(upstreams, origin.origin()), name);
      assertEquals(0, upstreams.connections(origin.origin()));
    }
  }

  /**
   * RFC 9112 §6.3: whatever the head says, the response ends with it. So it is whole, and what is
   * behind it is the answer to nothing.
   */
  @ParameterizedTest
  @CsvSource({
    "GET, 204 No Content~~abc",
    "GET, 204 No Content~Content-Length: 3~~abc",
    "GET, 204 No Content~Content-Length: 3~~",
    "GET, 204 No Content~Transfer-Encoding: chunked~~",
    "GET, 304 Not Modified~~abc",
    "GET, 304 Not Modified~Content-Length: 3~~abc",
    "HEAD, 200 OK~Content-Length: 3~~abc",
    "HEAD, 200 OK~Transfer-Encoding: chunked~~0~~"
  })
  void whatIsBehindAHeadThatIsAllEndsTheConnection(String method, String sent) throws Exception {
    try (var origin = TestOrigin.answering("HTTP/1.1 " + sent.replace("~", "\r\n"));
        var upstreams = upstreams()) {
      for (int i = 0; i < 2; i++) {
        try (var exchange = upstreams.open(origin.origin())) {
          assertFalse(exchange.reused());
          assertEquals(sent.substring(0, 4), get(exchange, method));
        }
        assertEquals(0, upstreams.connections(origin.origin()));
      }
    }
  }

  @Test
  void whatIsCutOffIsIncomplete() throws Exception {
    var ok = "HTTP/1.1 200 OK\r\n";
    for (var cut :
        new String[] {
          "",
          "HTTP/1.1 200",
          ok + "Content-Length: 3\r\n",
          ok + "Content-Length: 3\r\n\r\nab",
          ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nab",
          ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
          ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n",
        }) {
      try (var origin =
              TestOrigin.start(
                  connection -> {
                    Talk.until(connection, "\r\n\r\n");
                    Talk.write(connection, cut);
                  });
          var upstreams = upstreams()) {
        assertThrows(IncompleteMessageException.class, () -> get(upstreams, origin.origin()), cut);
        assertEquals(0, upstreams.connections(origin.origin()));
      }
    }
  }

  /** A connection in memory to an origin, by HTTP/1.1, that has a place. */
  private static final class Wire implements AutoCloseable {
    private final Origin origin = new Origin(false, "a", 80);
    private final MemoryPair pair = MemoryPair.of(Talk.FIBERS);
    private final Pool pool = new Pool(origin, UpstreamLimits.DEFAULT, Talk.FIBERS, null);
    private final ClientExchange exchange;

    Wire() throws IOException {
      assertNull(pool.take(false));
      exchange = new Http1Upstream(pair.near(), origin, HttpSettings.DEFAULT).begin(pool, false);
      pair.far().readTimeout(Duration.ofSeconds(5));
    }

    @Override
    public void close() {
      pair.close();
    }
  }

  /** Seen: the request stayed in the output, and the next one was written behind it. */
  @Test
  void whatComesBeforeTheRequestIsNoAnswer() throws Exception {
    try (var wire = new Wire()) {
      Talk.write(wire.pair.far(), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      wire.exchange.send(RequestHead.of("GET", "/"));
      assertThrows(MalformedMessageException.class, wire.exchange::receive);
      assertFalse(wire.exchange.anySent());
      wire.exchange.close();
      assertEquals(0, wire.pool.open());
    }
  }

  @Test
  void aConnectionIsKeptWithNothingInItsOutput() throws Exception {
    try (var wire = new Wire()) {
      var body = wire.exchange.send(RequestHead.of("POST", "/"), 3);
      body.flush();
      Talk.write(wire.pair.far(), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      body.write(Talk.bytes("abc"));
      body.end();
      assertEquals(200, wire.exchange.receive().status());
      wire.exchange.close();
      assertEquals(1, wire.pool.open());
      // Not by this thread, as it would flush what it has written before it waits.
      var sent = Talk.start(() -> Talk.until(wire.pair.far(), "abc"));
      assertTrue(sent.get().endsWith("\r\n\r\nabc"), "all of it");
    }
  }

  /** Seen: it was given to the next one, who then waited behind all others. */
  @Test
  void aConnectionWhoseRequestWasGivenUpIsNotKept() throws Exception {
    try (var wire = new Wire()) {
      var body = wire.exchange.send(RequestHead.of("POST", "/"), 3);
      body.write(Talk.bytes("a"));
      body.flush();
      Talk.write(wire.pair.far(), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      assertEquals(200, wire.exchange.receive().status());
      body.abort();
      wire.exchange.close();
      assertEquals(0, wire.pool.open());
    }
  }

  private static Thread taking(Pool pool) throws InterruptedException {
    var taker =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    assertNull(pool.take(false));
                  } catch (IOException e) {
                    throw new AssertionError(e);
                  }
                });
    while (taker.getState() != Thread.State.TIMED_WAITING) {
      assertTrue(taker.isAlive(), "it has to wait");
      Thread.onSpinWait();
    }
    return taker;
  }

  @Test
  void whoWaitedForAConnectionThatHasEndedHasItsPlace() throws Exception {
    var limits =
        new UpstreamLimits(
            1, 10, Duration.ofSeconds(50), Duration.ofSeconds(30), Duration.ofSeconds(5));
    var origin = new Origin(false, "a", 80);
    var pool = new Pool(origin, limits, Talk.FIBERS, null);
    assertNull(pool.take(false));
    var first = taking(pool);
    var second = taking(pool);
    try (var pair = MemoryPair.of(Talk.FIBERS)) {
      pair.far().close();
      pool.keep(new Http1Upstream(pair.near(), origin, HttpSettings.DEFAULT));
      assertTrue(first.join(Duration.ofSeconds(10)), "it gives its place up");
    }
    assertTrue(second.isAlive());
    pool.free();
    assertTrue(second.join(Duration.ofSeconds(10)));
  }

  /** Seen: a descriptor was lost for each name that an engine refused. */
  @Test
  void aConnectionForWhichThereIsNoEngineIsClosed() throws Exception {
    var ended = new CompletableFuture<String>();
    try (var origin = TestOrigin.start(connection -> ended.complete(Talk.all(connection)));
        var upstreams =
            new Upstreams(
                Dialer.of(Talk.FIBERS),
                (host, _) -> {
                  throw new IllegalArgumentException("no engine for " + host);
                },
                HttpSettings.DEFAULT,
                UpstreamLimits.DEFAULT,
                UpstreamVersion.BY_ALPN)) {
      var secure = new Origin(true, "127.0.0.1", origin.origin().port());
      assertThrows(IllegalArgumentException.class, () -> upstreams.open(secure));
      assertEquals("", ended.get(10, TimeUnit.SECONDS));
      assertEquals(0, upstreams.connections(secure));
    }
  }

  @Test
  void framingsAreUnderstood() throws Exception {
    var chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n";
    var answers =
        new String[][] {
          {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "200 abc"},
          {"HTTP/1.1 200\r\nContent-Length: 3\r\n\r\nabc", "200 abc"},
          {"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", "200 "},
          {
            CONTINUE
                + "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n"
                + "HTTP/1.1 404 Gone fishing\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n"
                + "0\r\nT: u\r\nTransfer-Encoding: x\r\n\r\n",
            "100 103 404 abcT: u\r\n"
          },
          {chunked + "Connection: A\r\n\r\n0\r\nA: b\r\nT: u\r\n\r\n", "200 T: u\r\n"},
          {"HTTP/1.1 204 No Content\r\n\r\n", "204 "},
          {"HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n", "304 "},
          {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc", "200 abc"},
        };
    for (var answer : answers) {
      try (var origin = TestOrigin.answering(answer[0]);
          var upstreams = upstreams()) {
        assertEquals(answer[1], get(upstreams, origin.origin()));
        // The connection is used again.
        try (var exchange = upstreams.open(origin.origin())) {
          assertTrue(exchange.reused(), answer[0]);
          assertFalse(exchange.anySent());
          assertEquals(answer[1], get(exchange, "GET"));
          assertTrue(exchange.anySent() && exchange.anyReceived());
        }
        assertEquals(1, upstreams.connections(origin.origin()));
      }
    }
    try (var origin = TestOrigin.answering("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
        var upstreams = upstreams();
        var exchange = upstreams.open(origin.origin())) {
      assertEquals("200 ", get(exchange, "HEAD"));
    }
  }

  @Test
  void whatLastsUntilTheEndOrIsTheLastEndsTheConnection() throws Exception {
    for (var answer :
        new String[] {
          "HTTP/1.1 200 OK\r\n\r\nabc",
          "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 3\r\n\r\nabc",
          "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        }) {
      try (var origin =
              TestOrigin.start(
                  connection -> {
                    Talk.until(connection, "\r\n\r\n");
                    Talk.write(connection, answer);
                  });
          var upstreams = upstreams()) {
        assertEquals("200 abc", get(upstreams, origin.origin()));
        assertEquals(0, upstreams.connections(origin.origin()));
      }
    }
  }

  @Test
  void requestsAreFramedAnew() throws Exception {
    var seen = new LinkedBlockingQueue<String>();
    try (var origin =
            TestOrigin.start(
                connection -> {
                  for (int i = 0; i < 2; i++) {
                    seen.add(Talk.until(connection, "\r\n\r\n"));
                    seen.add(Talk.until(connection, "!"));
                    Talk.write(connection, "HTTP/1.1 204 No Content\r\n\r\n");
                  }
                  Talk.all(connection);
                });
        var upstreams = upstreams()) {
      var fields =
          Fields.of(
              "Host",
              "other",
              "Connection",
              "x, close",
              "X",
              "y",
              "Transfer-Encoding",
              "chunked",
              "Content-Length",
              "99",
              "Upgrade",
              "h2c",
              "A",
              "b");
      try (var exchange = upstreams.open(origin.origin())) {
        var out = exchange.send(RequestHead.of("POST", "/a?b", fields), 3);
        out.write(Talk.bytes("ab!"));
        out.end();
        assertEquals(204, exchange.receive().status());
      }
      assertEquals(
          "POST /a?b HTTP/1.1\r\nHost: other\r\nA: b\r\nContent-Length: 3\r\n\r\n", seen.take());
      assertEquals("ab!", seen.take());
      try (var exchange = upstreams.open(origin.origin())) {
        var out = exchange.send(RequestHead.of("PUT", "/"), -1);
        out.write(Talk.bytes("ab"));
        out.end(Fields.of("T", "!"));
        assertEquals(204, exchange.receive().status());
      }
      assertEquals(
          "PUT / HTTP/1.1\r\nHost: 127.0.0.1:"
              + origin.origin().port()
              + "\r\nTransfer-Encoding: chunked\r\n\r\n",
          seen.take());
      assertEquals("2\r\nab\r\n0\r\nT: !", seen.take());
    }
  }

  @Test
  void aConnectionThatTheOriginHasEndedIsNotUsed() throws Exception {
    var rounds = 20;
    var accepted = new AtomicInteger();
    try (var origin =
            TestOrigin.start(
                connection -> {
                  accepted.incrementAndGet();
                  Talk.until(connection, "\r\n\r\n");
                  Talk.write(connection, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
                });
        var upstreams = upstreams()) {
      for (int i = 0; i < rounds; i++) {
        Connection used;
        try (var exchange = upstreams.open(origin.origin())) {
          used = exchange.connection();
          assertFalse(exchange.reused());
          assertEquals("200 abc", get(exchange, "GET"));
        }
        // The origin's end has arrived when it can be seen.
        while (used.tryRead(ByteBuffer.allocate(1)) == 0) {
          Thread.onSpinWait();
        }
      }
      assertEquals(rounds, accepted.get());
    }
  }

  @Test
  void limitsAreKeptAndWaitersServedInOrder() throws Exception {
    try (var origin = TestOrigin.answering("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
        var upstreams = upstreams(1, 1, Duration.ofSeconds(30))) {
      var first = upstreams.open(origin.origin());
      var waiting = Talk.start(() -> getPatiently(upstreams, origin.origin()));
      // One waits; whoever else would is refused at once.
      UpstreamBusyException busy = null;
      while (busy == null) {
        try {
          CancelScope.within(Duration.ofMillis(5)).call(() -> upstreams.open(origin.origin()));
        } catch (UpstreamBusyException e) {
          busy = e;
        } catch (IOException e) {
          // The other one did not wait yet.
        }
      }
      assertEquals("200 abc", get(first, "GET"));
      first.close();
      first.close();
      assertEquals("200 abc", waiting.join());
      assertEquals(1, upstreams.connections(origin.origin()));
      // A connection that breaks gives its place to who waits.
      var broken = upstreams.open(origin.origin());
      var next = Talk.start(() -> get(upstreams, origin.origin()));
      broken.close();
      assertEquals("200 abc", next.join());
      assertEquals(1, upstreams.connections(origin.origin()));
    }
  }

  @Test
  void aConnectionThatNobodyUsesIsClosedAfterAWhile() throws Exception {
    var ended = new CompletableFuture<String>();
    try (var origin =
            TestOrigin.start(
                connection -> {
                  Talk.until(connection, "\r\n\r\n");
                  Talk.write(connection, "HTTP/1.1 204 No Content\r\n\r\n");
                  ended.complete(Talk.all(connection));
                });
        var upstreams =
            new Upstreams(
                Dialer.of(Talk.FIBERS),
                null,
                HttpSettings.DEFAULT,
                new UpstreamLimits(
                    1, 1, Duration.ofSeconds(9), Duration.ofMillis(20), Duration.ofSeconds(9)),
                UpstreamVersion.BY_ALPN)) {
      assertEquals("204 ", get(upstreams, origin.origin()));
      assertEquals("", ended.get());
      while (upstreams.connections(origin.origin()) > 0) {
        Thread.onSpinWait();
      }
    }
  }

  @Test
  void aWaitForAConnectionCanBeCancelledAndIsBounded() throws Exception {
    try (var origin = TestOrigin.answering("HTTP/1.1 204 No Content\r\n\r\n");
        var upstreams = upstreams(1, 10, Duration.ofMillis(20))) {
      var first = upstreams.open(origin.origin());
      assertThrows(UpstreamBusyException.class, () -> upstreams.open(origin.origin()));
      var scope = CancelScope.open();
      scope.cancel();
      assertThrows(
          WaitCancelledException.class, () -> scope.call(() -> upstreams.open(origin.origin())));
      first.close();
      assertEquals("204 ", get(upstreams, origin.origin()));
    }
  }

  @Test
  void tunnelsTakeNoPlacesOfRequests() throws Exception {
    try (var origin = TestOrigin.answering("HTTP/1.1 204 No Content\r\n\r\n");
        var upstreams = upstreams(1, 10, Duration.ofMillis(20));
        var _ = upstreams.tunnel(origin.origin())) {
      assertEquals("204 ", get(upstreams, origin.origin()));
      assertThrows(UpstreamBusyException.class, () -> upstreams.tunnel(origin.origin()));
      assertEquals(2, upstreams.connections(origin.origin()));
    }
  }

  private static ClientExchange upgraded(Upstreams upstreams, Origin origin) throws IOException {
    var exchange = upstreams.open(origin);
    try {
      exchange.send(RequestHead.of("GET", "/", Fields.of("Connection", "Upgrade", "Upgrade", "x")));
      assertEquals(101, exchange.receive().status());
      return exchange;
    } catch (IOException e) {
      exchange.close();
      throw e;
    }
  }

  /** Seen: whatever it went over to was passed on. */
  @ParameterizedTest
  @ValueSource(strings = {"", "Upgrade: y\r\n", "Upgrade: x, y\r\n"})
  void anOriginGoesOverOnlyToWhatItIsAskedFor(String named) throws Exception {
    try (var origin = TestOrigin.answering("HTTP/1.1 101 X\r\n" + named + "\r\n");
        var upstreams = upstreams()) {
      assertThrows(MalformedMessageException.class, () -> upgraded(upstreams, origin.origin()));
      assertEquals(0, upstreams.connections(origin.origin()));
    }
  }

  /** Seen: requests met the end of the connection, and those that change something failed. */
  @ParameterizedTest
  @CsvSource({"timeout=0, 2", "'max=9, Timeout=0', 2", "timeout=60, 1", "timeout=x, 1"})
  void anOriginIsBelievedForHowLongItKeepsAConnection(String said, int connections)
      throws Exception {
    var made = new AtomicInteger();
    var answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nKeep-Alive: " + said + "\r\n\r\n";
    try (var origin =
            TestOrigin.start(
                connection -> {
                  made.incrementAndGet();
                  for (int i = 0; i < 2; i++) {
                    Talk.until(connection, "\r\n\r\n");
                    Talk.write(connection, answer);
                  }
                });
        var upstreams = upstreams()) {
      for (int i = 0; i < 2; i++) {
        assertEquals("200 ", get(upstreams, origin.origin()));
      }
      assertEquals(connections, made.get());
    }
  }

  @Test
  void whatHasLeftHttpTakesNoPlacesOfRequests() throws Exception {
    var upgrade = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n";
    try (var origin =
            TestOrigin.start(
                connection -> {
                  boolean leaves = Talk.until(connection, "\r\n\r\n").contains("Upgrade");
                  Talk.write(connection, leaves ? upgrade : "HTTP/1.1 204 No Content\r\n\r\n");
                  Talk.all(connection);
                });
        var upstreams = upstreams(1, 10, Duration.ofMillis(20))) {
      for (int i = 0; i < 2; i++) {
        try (var _ = upgraded(upstreams, origin.origin())) {
          assertThrows(UpstreamBusyException.class, () -> upgraded(upstreams, origin.origin()));
          assertEquals(1, upstreams.connections(origin.origin()));
          try (var request = upstreams.open(origin.origin())) {
            assertEquals("204 ", get(request, "GET"));
            request.abort();
          }
        }
        assertEquals(0, upstreams.connections(origin.origin()));
      }
    }
  }

  @Test
  void whoMayNotLeaveHttpIsNotAskedFor() throws Exception {
    var asked = new AtomicInteger();
    try (var origin =
            TestOrigin.start(
                connection -> {
                  Talk.until(connection, "\r\n\r\n");
                  asked.incrementAndGet();
                  Talk.write(connection, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n");
                  Talk.all(connection);
                });
        var upstreams = upstreams(1, 10, Duration.ofMillis(20));
        var _ = upgraded(upstreams, origin.origin());
        var second = upstreams.open(origin.origin())) {
      var upgrade = RequestHead.of("GET", "/", Fields.of("Connection", "Upgrade", "Upgrade", "x"));
      assertThrows(UpstreamBusyException.class, () -> second.send(upgrade));
      assertFalse(second.anySent(), "it may be sent elsewhere");
      assertEquals(1, asked.get());
    }
  }

  @Test
  void anOriginThatDoesNotLeaveHttpKeepsNoPlaceForThat() throws Exception {
    try (var origin = TestOrigin.answering("HTTP/1.1 204 No Content\r\n\r\n");
        var upstreams = upstreams(1, 10, Duration.ofMillis(20))) {
      for (int i = 0; i < 2; i++) {
        try (var exchange = upstreams.open(origin.origin())) {
          exchange.send(
              RequestHead.of("GET", "/", Fields.of("Connection", "Upgrade", "Upgrade", "x")));
          assertEquals(204, exchange.receive().status());
          upstreams.tunnel(origin.origin()).close();
        }
      }
      try (var exchange = upstreams.open(origin.origin())) {
        exchange.send(
            RequestHead.of("GET", "/", Fields.of("Connection", "Upgrade", "Upgrade", "x")));
      }
      upstreams.tunnel(origin.origin()).close();
    }
  }

  @Test
  void aDeadlineEndsAWaitForAConnectionThoughPatienceIsLeft() throws Exception {
    try (var origin = TestOrigin.answering("");
        var upstreams = upstreams(1, 10, Duration.ofHours(1));
        var _ = upstreams.open(origin.origin())) {
      var scope = CancelScope.within(Duration.ofMillis(10));
      assertThrows(
          UpstreamBusyException.class, () -> scope.call(() -> upstreams.open(origin.origin())));
    }
  }

  /** Keeps an origin waiting for a time, in which it moves so many bytes. */
  private static SlowPeers.Hold keepWaiting(SlowPeers peers, Duration time, int bytes) {
    var pace = new Pace();
    var hold = peers.hold(pace, () -> {});
    long since = System.nanoTime();
    pace.waits();
    pace.moved(bytes);
    while (System.nanoTime() - since <= time.toNanos()) {
      Thread.onSpinWait();
    }
    return hold;
  }

  @Test
  void whoIsSlowPaysOnlyIfSomebodyHasWaitedInVain() throws Exception {
    var patience = Duration.ofMillis(100);
    try (var origin = TestOrigin.answering("");
        var upstreams = upstreams(1, 10, patience);
        var _ = upstreams.open(origin.origin())) {
      var peers = upstreams.slowPeers(origin.origin());
      var leaves = CancelScope.open();
      leaves.cancel();
      try (var _ = keepWaiting(peers, patience, 1)) {
        assertThrows(
            WaitCancelledException.class, () -> leaves.call(() -> upstreams.open(origin.origin())));
        assertEquals(0, peers.hungUp());
        assertThrows(UpstreamBusyException.class, () -> upstreams.open(origin.origin()));
        assertEquals(1, peers.hungUp());
      }
    }
  }

  @Test
  void whoIsFastDoesNotPay() throws Exception {
    var patience = Duration.ofMillis(100);
    try (var origin = TestOrigin.answering("");
        var upstreams = upstreams(1, 10, patience);
        var _ = upstreams.open(origin.origin())) {
      var peers = upstreams.slowPeers(origin.origin());
      try (var _ = keepWaiting(peers, patience, 1 << 30)) {
        assertThrows(UpstreamBusyException.class, () -> upstreams.open(origin.origin()));
        assertEquals(0, peers.hungUp());
      }
    }
  }

  @Test
  void anAnswerIsSeenWhileTheRequestIsStillSent() throws Exception {
    try (var origin =
            TestOrigin.start(
                connection -> {
                  Talk.until(connection, "\r\n\r\n");
                  Talk.write(
                      connection, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n");
                  Talk.until(connection, "never");
                });
        var upstreams = upstreams();
        var exchange = upstreams.open(origin.origin())) {
      var out = exchange.send(RequestHead.of("POST", "/"), -1);
      out.flush();
      var sender =
          Talk.start(
              () -> {
                while (true) {
                  out.write(new byte[10_000]);
                }
              });
      assertEquals(413, exchange.receive().status());
      exchange.abort();
      assertThrows(Exception.class, sender::join);
    }
  }

  @Test
  void tunnelsPassBytesBothWays() throws Exception {
    try (var origin =
            TestOrigin.start(
                connection -> {
                  Talk.until(connection, "\r\n\r\n");
                  Talk.write(
                      connection, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nfirst");
                  Talk.write(connection, Talk.all(connection) + "last");
                });
        var upstreams = upstreams();
        var exchange = upstreams.open(origin.origin())) {
      exchange.send(RequestHead.of("GET", "/", Fields.of("Connection", "Upgrade", "Upgrade", "x")));
      assertEquals(101, exchange.receive().status());
      var tunnel = exchange.tunnel();
      tunnel.out().write(Talk.bytes("middle"));
      tunnel.out().end();
      assertEquals("firstmiddlelast", Talk.text(tunnel.in()));
    }
  }
}
