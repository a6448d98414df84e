package dev.evergreen.http;

import static dev.evergreen.http.Http2Client.CONTINUATION;
import static dev.evergreen.http.Http2Client.DATA;
import static dev.evergreen.http.Http2Client.END_HEADERS;
import static dev.evergreen.http.Http2Client.END_STREAM;
import static dev.evergreen.http.Http2Client.GOAWAY;
import static dev.evergreen.http.Http2Client.HEADERS;
import static dev.evergreen.http.Http2Client.PING;
import static dev.evergreen.http.Http2Client.PRIORITY;
import static dev.evergreen.http.Http2Client.PUSH_PROMISE;
import static dev.evergreen.http.Http2Client.RST_STREAM;
import static dev.evergreen.http.Http2Client.SETTINGS;
import static dev.evergreen.http.Http2Client.WINDOW_UPDATE;
import static dev.evergreen.http.Http2Client.bytes;
import static dev.evergreen.http.Http2Client.get;
import static dev.evergreen.http.Http2Client.request;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.MemoryPair;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a client of HTTP/2 sees of a server, and what becomes of one that breaks its rules. */
@Timeout(60)
class Http2ServerTest {
  private static final int PROTOCOL_ERROR = 1;
  private static final int FLOW_CONTROL_ERROR = 3;
  private static final int STREAM_CLOSED = 5;
  private static final int FRAME_SIZE_ERROR = 6;
  private static final int REFUSED_STREAM = 7;
  private static final int COMPRESSION_ERROR = 9;
  private static final int ENHANCE_YOUR_CALM = 11;

  @Test
  void requestsAreAnsweredWhateverTheCuts() throws Exception {
    for (int piece : new int[] {1, 2, 3, 5, 9, 10, 100, MemoryPair.CAPACITY}) {
      try (var client =
          Http2Client.connect(Talk::echo, HttpSettings.DEFAULT, CancelScope.open(), piece)) {
        client.headers(1, true, get("/a?b"));
        assertEquals("200 GET /a?b a /a?b||", client.response(1));
        client.headers(3, false, request("POST", "/", "content-length", "6", "cookie", "a=b"));
        client.send(DATA, 0, 3, Talk.bytes("abc"));
        client.send(DATA, 8 | END_STREAM, 3, Talk.bytes("\2def\0\0"));
        assertEquals("200 POST / a /|abcdef|", client.response(3));
        // A head in pieces, and trailers.
        var block = client.block(request("PUT", "/x"));
        client.send(HEADERS, 0, 5, Arrays.copyOf(block, 1));
        client.send(CONTINUATION, 0, 5);
        client.send(CONTINUATION, END_HEADERS, 5, Arrays.copyOfRange(block, 1, block.length));
        client.send(DATA, 0, 5, Talk.bytes("abc"));
        client.headers(5, true, "t", "u", "te", "trailers", "authorization", "v");
        assertEquals("200 PUT /x a /x|abc|t: u\r\n", client.response(5));
      }
    }
  }

  @Test
  void headsAreMadeOfPseudoFields() throws Exception {
    var seen = new CompletableFuture<RequestHead>();
    Handler handler =
        exchange -> {
          seen.complete(exchange.request().copy());
          Talk.echo(exchange);
        };
    try (var client = Http2Client.connect(handler)) {
      client.headers(
          1,
          true,
          get(
              "/",
              "x",
              "1",
              "cookie",
              "a=b",
              "X".toLowerCase(java.util.Locale.ROOT),
              "2",
              "cookie",
              "c=d",
              "te",
              "trailers"));
      client.response(1);
      var head = seen.join();
      assertEquals(Version.HTTP_2, head.version());
      assertEquals(
          Fields.of("x", "1", "cookie", "a=b; c=d", "x", "2", "te", "trailers", "host", "a"),
          head.fields());
    }
  }

  private static byte[] settings(int... namesAndValues) {
    var settings = ByteBuffer.allocate(3 * namesAndValues.length);
    for (int i = 0; i < namesAndValues.length; i += 2) {
      settings.putShort((short) namesAndValues[i]).putInt(namesAndValues[i + 1]);
    }
    return settings.array();
  }

  /** Seen: each changed what the encoder had to say, and a server ran out of memory. */
  @Test
  void ofAllSizesOfATableTheNextHeadTellsTheSmallestAndTheLast() throws Exception {
    try (var client = Http2Client.connect(Talk::echo)) {
      client.send(SETTINGS, 0, 0, settings(1, 100, 1, 4096, 1, 50, 1, 200, 1, 4096));
      client.headers(1, true, get("/"));
      var block = ByteBuffer.wrap(client.next(HEADERS).payload());
      assertEquals(0x3f_13, block.getShort(), "50");
      assertEquals(0x3f_e1_1f, block.getShort() << 8 | block.get(), "4096");
      assertEquals((byte) 0x88, block.get(), "status 200");
    }
  }

  @Test
  void manySettingsOfOneFrameCountAsManyFrames() throws Exception {
    var many = new int[2 * 2730];
    Arrays.fill(many, 3);
    try (var client = Http2Client.connect(Talk::echo)) {
      client.send(SETTINGS, 0, 0, settings(many));
      client.send(SETTINGS, 0, 0, settings(many));
      client.send(PING, 0, 0, new byte[8]);
      var frame = client.next();
      while (frame.type() != PING && frame.type() != GOAWAY) {
        frame = client.next();
      }
      assertEquals(GOAWAY, frame.type());
      assertEquals(ENHANCE_YOUR_CALM, ByteBuffer.wrap(frame.payload()).getInt(4));
    }
  }

  /** Seen: whatever was sent to the client began the time anew. */
  @Test
  void aPingDoesNotMakeUpForAWindowThatStaysShut() throws Exception {
    var times = Duration.ofSeconds(30);
    var settings = HttpSettings.DEFAULT.withTimes(times, times, times, Duration.ofMillis(300));
    Handler handler =
        exchange -> exchange.respond(ResponseHead.of(200), ByteBuffer.wrap(new byte[100_000]));
    try (var client =
        Http2Client.connect(handler, settings, CancelScope.open(), MemoryPair.CAPACITY)) {
      client.headers(1, true, get("/"));
      boolean reset = false;
      for (int pings = 0; !reset && pings < 60; pings++) {
        client.send(PING, 0, 0, new byte[8]);
        for (var frame = client.nextWithin(Duration.ofMillis(50));
            frame != null && !reset;
            frame = client.nextWithin(Duration.ofMillis(50))) {
          reset = frame.type() == RST_STREAM;
        }
      }
      assertTrue(reset, "the stream waits for ever");
    }
  }

  /** Answers streams by bodies of a length, all of whose windows are large but the common one. */
  private static Http2Client streamsOfOneWindow(int streams, int length, Duration write)
      throws Exception {
    var client = ofOneWindow(ofLength(length), write);
    begin(client, streams);
    takeFirstWindow(client);
    return client;
  }

  private static Handler ofLength(int length) {
    return exchange -> exchange.respond(ResponseHead.of(200), ByteBuffer.wrap(new byte[length]));
  }

  private static Http2Client ofOneWindow(Handler handler, Duration write) throws IOException {
    var times = Duration.ofSeconds(30);
    var settings = HttpSettings.DEFAULT.withTimes(times, times, times, write);
    var client = Http2Client.connectWithRoom(handler, settings);
    client.send(SETTINGS, 0, 0, setting(4, 1 << 30));
    return client;
  }

  private static void begin(Http2Client client, int streams) throws IOException {
    for (int i = 0; i < streams; i++) {
      client.headers(1 + 2 * i, true, get("/"));
    }
  }

  private static void takeFirstWindow(Http2Client client) throws IOException {
    for (int received = 0; received < 65_535; ) {
      received += client.next(DATA).payload().length;
    }
  }

  /** Who opens its window by less at a time is sent away after some hundred times. */
  private static final int PART = 1 << 10;

  /** Opens the common window, and answers who has got how much of it. */
  private static Map<Integer, Integer> open(Http2Client client, int bytes) throws IOException {
    client.send(WINDOW_UPDATE, 0, 0, bytes);
    var shares = new HashMap<Integer, Integer>();
    for (int received = 0; received < bytes; ) {
      var frame = client.next(DATA);
      assertEquals(DATA, frame.type());
      received += frame.payload().length;
      shares.merge(frame.stream(), frame.payload().length, Integer::sum);
    }
    return shares;
  }

  /** Who has sent a part, but not all, waits for its next turn at once. */
  private static void untilAllWait(Http2Client client, int streams) throws IOException {
    var seen = new HashSet<Integer>();
    while (seen.size() < streams) {
      seen.addAll(open(client, PART).keySet());
    }
  }

  /** Seen: whoever was woken first took all, and was woken first the next time, too. */
  @Test
  void manyStreamsShareTheConnectionsWindow() throws Exception {
    int streams = 60;
    try (var client = streamsOfOneWindow(streams, 1 << 20, Duration.ofSeconds(30))) {
      untilAllWait(client, streams);
      var shares = new HashMap<Integer, Integer>();
      for (int i = 0; i < 2 * streams; i++) {
        open(client, PART).forEach((stream, bytes) -> shares.merge(stream, bytes, Integer::sum));
      }
      assertEquals(streams, shares.size());
      assertEquals(Set.of(2 * PART), Set.copyOf(shares.values()));
    }
  }

  @Test
  void ofALargePartOfTheWindowEachStreamGetsAFrameInTurn() throws Exception {
    int streams = 5;
    try (var client = streamsOfOneWindow(streams, 1 << 20, Duration.ofSeconds(30))) {
      untilAllWait(client, streams);
      var seen = new HashSet<Integer>();
      for (int i = 0; i < streams; i++) {
        seen.addAll(open(client, 20_000).keySet());
      }
      assertEquals(streams, seen.size());
    }
  }

  /** Seen: it was reset, though its reader had done nothing wrong. */
  @Test
  void aStreamWaitsForItsTurnAsLongAsTheOthersGoOn() throws Exception {
    var write = Duration.ofMillis(2500);
    try (var client = streamsOfOneWindow(8, 1 << 20, write)) {
      for (int i = 0; i < 12; i++) {
        assertEquals(1, open(client, 1).size());
        for (var frame = client.nextWithin(Duration.ofMillis(300));
            frame != null;
            frame = client.nextWithin(Duration.ofMillis(300))) {
          assertNotEquals(RST_STREAM, frame.type());
        }
      }
    }
  }

  /** Seen: what its fiber had written to another one, which took nothing, had to leave first. */
  @Test
  void whoHasToWaitForAnotherPeerHoldsUpNobody() throws Exception {
    var large = ofLength(1 << 20);
    try (var elsewhere = MemoryPair.of(Talk.FIBERS, 1, 1)) {
      Handler handler =
          exchange -> {
            if (exchange.request().path().equals("/held")) {
              elsewhere.near().write(ByteBuffer.wrap(new byte[100]));
            }
            large.handle(exchange);
          };
      try (var client = ofOneWindow(handler, Duration.ofSeconds(30))) {
        client.headers(1, true, get("/"));
        takeFirstWindow(client);
        client.headers(3, true, get("/held"));
        assertEquals(1, elsewhere.far().read(ByteBuffer.allocate(1)), "it has begun to wait");
        for (int i = 0; i < 10; i++) {
          assertEquals(Set.of(1), open(client, PART).keySet());
        }
        elsewhere.far().close();
        while (!open(client, PART).containsKey(3)) {
          // It comes to its turn.
        }
      }
    }
  }

  @Test
  void streamsEndInTimeIfThePeerNeverOpensTheConnectionsWindow() throws Exception {
    int streams = 100;
    try (var client = ofOneWindow(ofLength(1 << 20), Duration.ofMillis(500))) {
      begin(client, streams);
      var reset = new HashSet<Integer>();
      while (reset.size() < streams) {
        var frame = client.next(RST_STREAM);
        assertEquals(RST_STREAM, frame.type());
        reset.add(frame.stream());
      }
    }
  }

  /**
   * Seen: one that was reset just when it began to wait for its turn held up all others for ever.
   */
  @Test
  void whoIsResetWhileItWaitsHoldsUpNobody() throws Exception {
    int streams = 24;
    int length = 70_000; // None has got all of it by the first window.
    var random = new Random(1);
    for (int round = 0; round < 50; round++) {
      try (var client = streamsOfOneWindow(streams, length, Duration.ofSeconds(30))) {
        var left = new HashSet<Integer>();
        for (int stream = 1; stream < 2 * streams; stream += 2) {
          client.send(WINDOW_UPDATE, 0, 0, 1 + random.nextInt(20_000));
          if (random.nextBoolean()) {
            client.send(RST_STREAM, 0, stream, 8);
          } else {
            left.add(stream);
          }
        }
        client.send(WINDOW_UPDATE, 0, 0, streams * length);
        while (!left.isEmpty()) {
          var frame = client.next(DATA);
          assertEquals(DATA, frame.type());
          if ((frame.flags() & END_STREAM) != 0) {
            left.remove(frame.stream());
          }
        }
      }
    }
  }

  /** Seen: what had come behind the head was an error, which was told instead. */
  @Test
  void aHeadThatIsTooLargeIsRefusedAlsoIfMoreFollowsAtOnce() throws Exception {
    var settings = HttpSettings.DEFAULT.withHeads(100, 200, 400, 5);
    try (var client =
        Http2Client.connect(Talk::echo, settings, CancelScope.open(), MemoryPair.CAPACITY)) {
      // Often, as the answer may have been faster.
      for (int stream = 1; stream < 100; stream += 2) {
        client.headers(stream, false, request("POST", "/", "x", "x".repeat(500)));
        client.send(DATA, 0, stream, Talk.bytes("abc"));
        assertEquals("431 ", client.response(stream));
      }
    }
  }

  /** Seen: no room was waited for, and all native memory was used up. */
  @Test
  void whoDoesNotReadIsNotInformedWithoutEnd() throws Exception {
    var informed = new CountDownLatch(1);
    Handler handler =
        exchange -> {
          var hints = ResponseHead.of(103);
          hints.fields().add("link", "x".repeat(8000));
          for (int i = 0; i < 500; i++) {
            exchange.inform(hints);
          }
          informed.countDown();
          exchange.respond(ResponseHead.of(200), ByteBuffer.wrap(Talk.bytes("a")));
        };
    try (var client = Http2Client.connect(handler)) {
      client.headers(1, true, get("/"));
      informed.await();
      int bytes = 0;
      var frame = client.next();
      while (frame.type() != DATA) {
        bytes += frame.payload().length;
        frame = client.next();
      }
      assertTrue(bytes < 1 << 20, "it was sent " + bytes);
    }
  }

  static Stream<Arguments> malformed() {
    var tooLong = "content-length";
    return Stream.of(
        row("no method", ":scheme", "http", ":authority", "a", ":path", "/"),
        row("no scheme", ":method", "GET", ":authority", "a", ":path", "/"),
        row("no path", ":method", "GET", ":scheme", "http", ":authority", "a"),
        row("a scheme that is none", schemed("http\r\nx: y")),
        row("a scheme with an authority", schemed("http://b")),
        row("an empty scheme", schemed("")),
        row("another scheme", schemed("ftp")),
        row("empty path", get("")),
        row("path without slash", get("a")),
        row("path that is a URI", get("http://b/")),
        row("path with blank", get("/a b")),
        row("path with fragment", get("/#a")),
        row("asterisk of GET", get("*")),
        row(
            "an empty authority",
            ":method",
            "GET",
            ":scheme",
            "http",
            ":authority",
            "",
            ":path",
            "/"),
        row("no authority", ":method", "GET", ":scheme", "http", ":path", "/"),
        row(
            "authority with user",
            ":method",
            "GET",
            ":scheme",
            "http",
            ":path",
            "/",
            ":authority",
            "u@a"),
        row("authority that is not Host", get("/", "host", "b")),
        row("two Hosts", get("/", "host", "a", "host", "a")),
        row("method twice", get("/", ":method", "GET")),
        row("unknown pseudo-field", get("/", ":x", "y")),
        row("pseudo-field of responses", get("/", ":status", "200")),
        row("a protocol of GET", request("GET", "/", ":protocol", "websocket")),
        row("no protocol", request("CONNECT", "/", ":protocol", "")),
        row("CONNECT with path", request("CONNECT", "/")),
        row(
            "pseudo-field behind",
            ":method",
            "GET",
            ":scheme",
            "http",
            "x",
            "y",
            ":authority",
            "a",
            ":path",
            "/"),
        row("capital letters", get("/", "X-a", "y")),
        row("empty name", get("/", "", "y")),
        row("name with blank", get("/", "x y", "y")),
        row("name with colon", get("/", "x:y", "y")),
        row("CR in a value", get("/", "x", "a\rb")),
        row("LF in a value", get("/", "x", "a\nb")),
        row("CR LF in a value", get("/", "x", "a\r\nb: c")),
        row("NUL in a value", get("/", "x", "a\0b")),
        row("blank before a value", get("/", "x", " a")),
        row("blank behind a value", get("/", "x", "a ")),
        row("LF in the method", request("GET\n", "/")),
        row("method with a blank", request("GET / HTTP/1.1", "/")),
        row("Connection", get("/", "connection", "close")),
        row("Keep-Alive", get("/", "keep-alive", "1")),
        row("Proxy-Connection", get("/", "proxy-connection", "close")),
        row("Transfer-Encoding", get("/", "transfer-encoding", "chunked")),
        row("Upgrade", get("/", "upgrade", "h2c")),
        row("TE", get("/", "te", "gzip")),
        row("a length and no body", get("/", tooLong, "3")),
        row("a piece of a cookie with a blank at its end", get("/", "cookie", "a ", "cookie", "b")),
        row("a later one with one", get("/", "cookie", "a", "cookie", "b ", "cookie", "c")),
        row("an empty last piece", get("/", "cookie", "a", "cookie", "")),
        row("two lengths", get("/", tooLong, "0", tooLong, "0")),
        row("a length that is none", get("/", tooLong, "x")));
  }

  private static String[] schemed(String scheme) {
    return new String[] {":method", "GET", ":scheme", scheme, ":authority", "a", ":path", "/"};
  }

  private static Arguments row(String name, String... fields) {
    return Arguments.of(name, fields);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("malformed")
  void aMalformedRequestEndsItsStreamOnly(String name, String[] fields) throws Exception {
    try (var client = Http2Client.connect(Talk::echo)) {
      client.headers(1, true, fields);
      assertEquals("[reset " + PROTOCOL_ERROR + "]", client.response(1), name);
      client.headers(3, false, fields);
      client.send(DATA, END_STREAM, 3, Talk.bytes("on its way"));
      assertEquals("[reset " + PROTOCOL_ERROR + "]", client.response(3), name);
      client.headers(5, true, get("/"));
      assertEquals("200 GET / a /||", client.response(5));
    }
  }

  @Test
  void aBodyMustHaveTheLengthThatItTold() throws Exception {
    for (var body : new String[] {"ab", "abcd"}) {
      var failure = new CompletableFuture<Exception>();
      Handler handler =
          exchange -> {
            try {
              Talk.echo(exchange);
            } catch (IOException e) {
              failure.complete(e);
              throw e;
            }
          };
      try (var client = Http2Client.connect(handler)) {
        client.headers(1, false, request("POST", "/", "content-length", "3"));
        client.send(DATA, END_STREAM, 1, Talk.bytes(body));
        assertEquals("[reset " + PROTOCOL_ERROR + "]", client.response(1));
        assertInstanceOf(IncompleteMessageException.class, failure.join());
      }
    }
  }

  /** Something wrong that a client does. */
  private interface Wrong {
    void by(Http2Client client) throws IOException;
  }

  static Stream<Arguments> errorsOfConnections() {
    return Stream.of(
        error("data of no stream", PROTOCOL_ERROR, c -> c.send(DATA, 0, 0, (byte) 1)),
        error("data of an idle stream", PROTOCOL_ERROR, c -> c.send(DATA, 0, 1, (byte) 1)),
        error("headers of no stream", PROTOCOL_ERROR, c -> c.headers(0, true, get("/"))),
        error("headers of an even stream", PROTOCOL_ERROR, c -> c.headers(2, true, get("/"))),
        error(
            "headers of an older stream",
            STREAM_CLOSED,
            c -> {
              c.headers(5, true, get("/"));
              c.headers(3, true, get("/"));
            }),
        error(
            "padding longer than the frame",
            PROTOCOL_ERROR,
            c -> {
              c.headers(1, false, request("POST", "/"));
              c.send(DATA, 8, 1, (byte) 5, (byte) 0);
            }),
        error("padded headers", PROTOCOL_ERROR, c -> c.send(HEADERS, 8, 1, (byte) 9, (byte) 0)),
        error("no padding's length", FRAME_SIZE_ERROR, c -> c.send(HEADERS, 8, 1)),
        error(
            "no HPACK",
            COMPRESSION_ERROR,
            c ->
                c.send(
                    HEADERS,
                    END_HEADERS,
                    1,
                    (byte) 0xff,
                    (byte) 0xff,
                    (byte) 0xff,
                    (byte) 0xff,
                    (byte) 0xff,
                    (byte) 0xff)),
        error(
            "headers not continued",
            PROTOCOL_ERROR,
            c -> {
              c.send(HEADERS, 0, 1, c.block(get("/")));
              c.send(PING, 0, 0, new byte[8]);
            }),
        error(
            "headers continued elsewhere",
            PROTOCOL_ERROR,
            c -> {
              c.send(HEADERS, 0, 1, c.block(get("/")));
              c.send(CONTINUATION, END_HEADERS, 3);
            }),
        error("continuation of nothing", PROTOCOL_ERROR, c -> c.send(CONTINUATION, END_HEADERS, 1)),
        error(
            "a flood of continuations",
            ENHANCE_YOUR_CALM,
            c -> {
              c.send(HEADERS, 0, 1, c.block(get("/")));
              for (int i = 0; i < 20; i++) {
                c.send(CONTINUATION, 0, 1);
              }
            }),
        error(
            "continuations of too much",
            ENHANCE_YOUR_CALM,
            c -> {
              c.send(HEADERS, 0, 1, c.block(get("/")));
              for (int i = 0; i < 6; i++) {
                c.send(CONTINUATION, 0, 1, new byte[16_000]);
              }
            }),
        error("priority of no stream", PROTOCOL_ERROR, c -> c.send(PRIORITY, 0, 0, new byte[5])),
        // Seen: the stream was reset, and a request that began it then was never answered.
        error(
            "priority of an idle stream that depends on itself",
            PROTOCOL_ERROR,
            c -> c.send(PRIORITY, 0, 1, ByteBuffer.allocate(5).putInt(1).array())),
        error(
            "priority of four bytes of an idle stream",
            FRAME_SIZE_ERROR,
            c -> c.send(PRIORITY, 0, 1, bytes(3))),
        error("reset of no stream", PROTOCOL_ERROR, c -> c.send(RST_STREAM, 0, 0, 8)),
        error("reset of an idle stream", PROTOCOL_ERROR, c -> c.send(RST_STREAM, 0, 1, 8)),
        error("reset of three bytes", FRAME_SIZE_ERROR, c -> c.send(RST_STREAM, 0, 1, new byte[3])),
        error("settings of a stream", PROTOCOL_ERROR, c -> c.send(SETTINGS, 0, 1)),
        error("settings of five bytes", FRAME_SIZE_ERROR, c -> c.send(SETTINGS, 0, 0, new byte[5])),
        error("acknowledged settings", FRAME_SIZE_ERROR, c -> c.send(SETTINGS, 1, 0, new byte[6])),
        error("push of 2", PROTOCOL_ERROR, c -> c.send(SETTINGS, 0, 0, setting(2, 2))),
        error("window too large", FLOW_CONTROL_ERROR, c -> c.send(SETTINGS, 0, 0, setting(4, -1))),
        error("frames too small", PROTOCOL_ERROR, c -> c.send(SETTINGS, 0, 0, setting(5, 16_383))),
        error("frames too large", PROTOCOL_ERROR, c -> c.send(SETTINGS, 0, 0, setting(5, 1 << 24))),
        error("promise", PROTOCOL_ERROR, c -> c.send(PUSH_PROMISE, 0, 1, 2)),
        error("ping of a stream", PROTOCOL_ERROR, c -> c.send(PING, 0, 1, new byte[8])),
        error("ping of seven bytes", FRAME_SIZE_ERROR, c -> c.send(PING, 0, 0, new byte[7])),
        error("goaway of a stream", PROTOCOL_ERROR, c -> c.send(GOAWAY, 0, 1, new byte[8])),
        error("short goaway", FRAME_SIZE_ERROR, c -> c.send(GOAWAY, 0, 0, new byte[7])),
        error("window of nothing", PROTOCOL_ERROR, c -> c.send(WINDOW_UPDATE, 0, 0, 0)),
        error("window of an idle stream", PROTOCOL_ERROR, c -> c.send(WINDOW_UPDATE, 0, 1, 1)),
        error(
            "window of three bytes",
            FRAME_SIZE_ERROR,
            c -> c.send(WINDOW_UPDATE, 0, 0, new byte[3])),
        error(
            "window beyond all",
            FLOW_CONTROL_ERROR,
            c -> c.send(WINDOW_UPDATE, 0, 0, Integer.MAX_VALUE)),
        error("frame too large", FRAME_SIZE_ERROR, c -> c.send(99, 0, 0, new byte[16_385])),
        error("flood of settings", ENHANCE_YOUR_CALM, flood(c -> c.send(SETTINGS, 0, 0))),
        error("flood of pings", ENHANCE_YOUR_CALM, flood(c -> c.send(PING, 0, 0, new byte[8]))),
        error(
            "flood of priorities",
            ENHANCE_YOUR_CALM,
            flood(c -> c.send(PRIORITY, 0, 1, new byte[5]))),
        error("flood of what is unknown", ENHANCE_YOUR_CALM, flood(c -> c.send(99, 0, 0))),
        error("flood of windows", ENHANCE_YOUR_CALM, flood(c -> c.send(WINDOW_UPDATE, 0, 0, 1))),
        error(
            "flood of farewells", ENHANCE_YOUR_CALM, flood(c -> c.send(GOAWAY, 0, 0, new byte[8]))),
        error(
            "flood of empty data",
            ENHANCE_YOUR_CALM,
            c -> {
              c.headers(1, false, request("POST", "/"));
              flood(it -> it.send(DATA, 0, 1)).by(c);
            }),
        error("flood of data for a reset stream", ENHANCE_YOUR_CALM, behindReset(true)),
        error("flood of fields for a reset stream", ENHANCE_YOUR_CALM, behindReset(false)),
        error(
            "rapid resets",
            ENHANCE_YOUR_CALM,
            c -> {
              for (int i = 0; i < 300; i++) {
                c.headers(2 * i + 1, true, get("/"));
                c.send(RST_STREAM, 0, 2 * i + 1, 8);
              }
            }),
        error(
            "rapid errors",
            ENHANCE_YOUR_CALM,
            c -> {
              for (int i = 0; i < 300; i++) {
                c.headers(2 * i + 1, true, get("x"));
              }
            }));
  }

  private static Arguments error(String name, int code, Wrong wrong) {
    return Arguments.of(name, code, wrong);
  }

  /** A request that is malformed has its stream reset at once. */
  private static Wrong behindReset(boolean data) {
    return client -> {
      client.headers(1, false, get("x"));
      // What its window allows of so small data, and then as many as always.
      for (int i = 0; i < (data ? 3 : 1); i++) {
        flood(it -> it.send(data ? DATA : HEADERS, END_HEADERS, 1, new byte[] {(byte) 0x88}))
            .by(client);
      }
    };
  }

  private static byte[] setting(int name, int value) {
    return ByteBuffer.allocate(6).putShort((short) name).putInt(value).array();
  }

  private static Wrong flood(Wrong each) {
    return client -> {
      for (int i = 0; i < 600; i++) {
        each.by(client);
      }
    };
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("errorsOfConnections")
  void anErrorOfTheConnectionEndsIt(String name, int code, Wrong wrong) throws Exception {
    Handler waits =
        exchange -> {
          if (exchange.request().is("POST")) {
            Talk.echo(exchange);
          } else {
            exchange.respond(ResponseHead.of(200), ByteBuffer.allocate(0));
          }
        };
    try (var client = Http2Client.connect(waits)) {
      var sender =
          Talk.start(
              () -> {
                wrong.by(client);
                return 0;
              });
      assertEquals(code, client.goAway(), name);
      assertEquals(-1, client.next(GOAWAY).type());
      sender.exceptionally(_ -> 0).join();
    }
  }

  /** As many remote calls do, for each piece of a body: it measures, and opens both windows. */
  private static void asks(Http2Client client, int stream) throws IOException {
    client.send(PING, 0, 0, new byte[8]);
    client.send(WINDOW_UPDATE, 0, 0, 100);
    client.send(WINDOW_UPDATE, 0, stream, 100);
  }

  @Test
  void whoSendsMuchMayAskOften() throws Exception {
    int pieces = 3000;
    Handler counts =
        exchange -> {
          var length = Integer.toString(Talk.text(exchange.body()).length());
          exchange.respond(ResponseHead.of(200), ByteBuffer.wrap(Talk.bytes(length)));
        };
    try (var client = Http2Client.connect(counts)) {
      client.headers(1, false, request("POST", "/"));
      var sender =
          Talk.start(
              () -> {
                for (int i = 0; i < pieces; i++) {
                  client.send(DATA, 0, 1, new byte[10]);
                  asks(client, 1);
                }
                client.send(DATA, END_STREAM, 1);
                return 0;
              });
      assertEquals("200 " + 10 * pieces, client.response(1));
      sender.join();
    }
  }

  @Test
  void whoReceivesMuchMayAskOften() throws Exception {
    int pieces = 3000;
    Handler streams =
        exchange -> {
          var out = exchange.respond(ResponseHead.of(200));
          for (int i = 0; i < pieces; i++) {
            out.write(new byte[100]);
          }
          out.end();
        };
    try (var client = Http2Client.connect(streams)) {
      client.headers(1, true, get("/"));
      int received = 0;
      for (var frame = client.next(DATA); received < 100 * pieces; frame = client.next(DATA)) {
        assertEquals(DATA, frame.type(), "after " + received);
        received += frame.payload().length;
        asks(client, 1);
      }
    }
  }

  /** As Go's clients and servers do, for each piece that is read, whose windows are large. */
  @ParameterizedTest
  @ValueSource(ints = {4096, 512})
  void whoReceivesMuchMayOpenBothWindowsForEachPageOfIt(int page) throws Exception {
    int length = 1500 * page;
    Handler streams =
        exchange -> {
          var out = exchange.respond(ResponseHead.of(200));
          for (int i = 0; i < length; i += 16 << 10) {
            out.write(new byte[16 << 10]);
          }
          out.end();
        };
    try (var client = Http2Client.connect(streams)) {
      client.send(SETTINGS, 0, 0, setting(4, 4 << 20));
      client.send(WINDOW_UPDATE, 0, 0, 1 << 30);
      client.headers(1, true, get("/"));
      int received = 0;
      int opened = 0;
      while (received < length) {
        var frame = client.next(DATA);
        assertEquals(DATA, frame.type(), "after " + received);
        received += frame.payload().length;
        for (; opened + page <= received; opened += page) {
          client.send(WINDOW_UPDATE, 0, 0, page);
          client.send(WINDOW_UPDATE, 0, 1, page);
        }
      }
      client.send(PING, 0, 0, new byte[8]);
      assertEquals(PING, client.next(PING).type(), "it has read all that was opened");
    }
  }

  @Test
  void whoOpensItsWindowByTheByteEarnsNothing() throws Exception {
    int length = 3000;
    try (var client = Http2Client.connect(Talk::echo)) {
      client.send(SETTINGS, 0, 0, setting(4, 0));
      client.headers(1, false, request("POST", "/"));
      client.send(DATA, END_STREAM, 1, new byte[length]);
      int received = 0;
      for (int type = DATA; type == DATA && received < length; received++) {
        client.send(WINDOW_UPDATE, 0, 1, 1);
        do {
          type = client.next().type();
        } while (type != DATA && type != GOAWAY && type != -1);
      }
      assertTrue(received < length, "bytes that came in a frame each");
    }
  }

  /** Waits until the server has ended the connection, or reset it, as bytes lie unread there. */
  private static boolean isHungUp(Http2Client client) {
    try {
      return client.next(-1).type() == -1;
    } catch (IOException e) {
      return true;
    }
  }

  @Test
  void whoPausesAmidAFrameIsHungUpOn() throws Exception {
    var forever = Duration.ofMinutes(10);
    var settings =
        HttpSettings.DEFAULT.withTimes(forever, Duration.ofMillis(200), forever, forever);
    byte[][] cut = {
      {0, 0, 8, PING, 0}, // amid the frame's head
      {0, 0, 8, PING, 0, 0, 0, 0, 0, 1, 2}, // amid what it has
      {0, 0, 1, HEADERS, 0, 0, 0, 0, 3, (byte) 0x82}, // amid a head of several frames
    };
    for (var bytes : cut) {
      var ended = new CountDownLatch(1);
      Handler hangs =
          exchange -> {
            try {
              exchange.body().await();
            } finally {
              ended.countDown();
            }
          };
      try (var client =
          Http2Client.connect(hangs, settings, CancelScope.open(), MemoryPair.CAPACITY)) {
        client.headers(1, false, request("POST", "/"));
        client.raw(new String(bytes, java.nio.charset.StandardCharsets.ISO_8859_1));
        assertTrue(isHungUp(client), "though a stream is being answered");
        await(ended);
      }
    }
  }

  @Test
  void thePrefaceMustBeFollowedBySettings() throws Exception {
    try (var client = Http2Client.silent(Talk::echo)) {
      client.raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
      client.send(PING, 0, 0, new byte[8]);
      assertEquals(PROTOCOL_ERROR, client.goAway());
    }
  }

  static Stream<Arguments> errorsOfStreams() {
    return Stream.of(
        error(
            "depends on itself",
            PROTOCOL_ERROR,
            c -> {
              var block = c.block(get("/"));
              var payload =
                  ByteBuffer.allocate(5 + block.length).putInt(1).put((byte) 0).put(block);
              c.send(HEADERS, END_STREAM | END_HEADERS | 0x20, 1, payload.array());
            }),
        error(
            "priority that depends on itself",
            PROTOCOL_ERROR,
            c -> {
              c.headers(1, false, request("POST", "/"));
              c.send(PRIORITY, 0, 1, ByteBuffer.allocate(5).putInt(1).array());
            }),
        error(
            "priority of four bytes",
            FRAME_SIZE_ERROR,
            c -> {
              c.headers(1, false, request("POST", "/"));
              c.send(PRIORITY, 0, 1, bytes(3));
            }),
        error(
            "window of nothing",
            PROTOCOL_ERROR,
            c -> {
              c.headers(1, false, request("POST", "/"));
              c.send(WINDOW_UPDATE, 0, 1, 0);
            }),
        error(
            "window too large",
            FLOW_CONTROL_ERROR,
            c -> {
              c.headers(1, false, request("POST", "/"));
              c.send(WINDOW_UPDATE, 0, 1, Integer.MAX_VALUE);
            }),
        error(
            "fields amid a body",
            PROTOCOL_ERROR,
            c -> {
              c.headers(1, false, request("POST", "/"));
              c.headers(1, false, "t", "u");
            }),
        error(
            "pseudo-fields in trailers",
            PROTOCOL_ERROR,
            c -> {
              c.headers(1, false, request("POST", "/"));
              c.headers(1, true, ":path", "/");
            }),
        error(
            "more than the window",
            FLOW_CONTROL_ERROR,
            c -> {
              c.headers(1, false, request("UNREAD", "/"));
              for (int i = 0; i < 5; i++) {
                c.send(DATA, 0, 1, new byte[16_000]);
              }
            }));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("errorsOfStreams")
  void anErrorOfAStreamEndsItOnly(String name, int code, Wrong wrong) throws Exception {
    var go = new CountDownLatch(1);
    Handler handler =
        exchange -> {
          if (exchange.request().is("UNREAD")) {
            await(go);
          }
          Talk.echo(exchange);
        };
    try (var client = Http2Client.connect(handler)) {
      wrong.by(client);
      assertEquals("[reset " + code + "]", client.response(1), name);
      go.countDown();
      client.headers(3, true, get("/"));
      assertEquals("200 GET / a /||", client.response(3));
    }
  }

  private static void await(CountDownLatch latch) throws IOException {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  @Test
  void dataBehindTheEndIsAnErrorOfTheStream() throws Exception {
    var go = new CountDownLatch(1);
    Handler handler =
        exchange -> {
          await(go);
          Talk.echo(exchange);
        };
    try (var client = Http2Client.connect(handler)) {
      client.headers(1, true, get("/"));
      client.send(DATA, 0, 1, (byte) 1);
      assertEquals("[reset " + STREAM_CLOSED + "]", client.response(1));
      go.countDown();
    }
  }

  @Test
  void whatWasOnItsWayToAStreamThatWasResetIsNoFault() throws Exception {
    Handler refuses = exchange -> exchange.respond(ResponseHead.of(413), ByteBuffer.allocate(0));
    try (var client = Http2Client.connect(refuses)) {
      for (int stream = 1; stream < 300; stream += 2) {
        client.headers(stream, false, request("POST", "/"));
        assertEquals("413 ", client.response(stream));
        assertEquals(stream, client.next(RST_STREAM).stream());
        for (int i = 0; i < 20; i++) {
          client.send(DATA, 0, stream, new byte[1000]);
        }
        client.headers(stream, true, "trailer", "too");
      }
      client.headers(301, true, get("/"));
      assertEquals("413 ", client.response(301));
    }
  }

  @Test
  void moreStreamsThanAllowedAreRefusedAlsoIfTheOthersWereReset() throws Exception {
    var go = new CountDownLatch(1);
    Handler handler =
        exchange -> {
          await(go);
          Talk.echo(exchange);
        };
    var settings = HttpSettings.DEFAULT.withStreams(3);
    try (var client =
        Http2Client.connect(handler, settings, CancelScope.open(), MemoryPair.CAPACITY)) {
      for (int id = 1; id <= 5; id += 2) {
        client.headers(id, true, get("/" + id));
      }
      client.send(RST_STREAM, 0, 3, 8);
      client.headers(7, true, get("/7"));
      assertEquals("[reset " + REFUSED_STREAM + "]", client.response(7));
      go.countDown();
      assertEquals("200 GET /5 a /5||", client.response(5));
    }
  }

  @Test
  void windowsAreKeptBothWays() throws Exception {
    int length = 300_000;
    Handler handler =
        exchange -> {
          if (exchange.request().is("POST")) {
            var size = Talk.text(exchange.body()).length();
            exchange.respond(
                ResponseHead.of(200), ByteBuffer.wrap(Talk.bytes(Integer.toString(size))));
          } else {
            exchange.respond(ResponseHead.of(200), ByteBuffer.allocateDirect(length));
          }
        };
    try (var client = Http2Client.connect(handler)) {
      client.send(SETTINGS, 0, 0, setting(4, 1000));
      client.headers(1, true, get("/"));
      int received = 0;
      int stream = 1000;
      int all = 65_535;
      boolean end = false;
      while (!end) {
        var frame = client.next(DATA);
        int n = frame.payload().length;
        received += n;
        stream -= n;
        all -= n;
        end = (frame.flags() & END_STREAM) != 0;
        assertTrue(stream >= 0 && all >= 0, "the server sends more than it may");
        if (stream == 0) {
          client.send(WINDOW_UPDATE, 0, 1, 7000);
          stream = 7000;
        }
        if (all < 20_000) {
          client.send(WINDOW_UPDATE, 0, 0, 40_000);
          all += 40_000;
        }
      }
      assertEquals(length, received);
      // The other way: the server must tell that it takes more.
      client.headers(3, false, request("POST", "/"));
      int window = 65_535;
      for (int sent = 0; sent < length; sent += 10_000) {
        while (window < 10_000) {
          var frame = client.next(WINDOW_UPDATE);
          window += frame.stream() == 3 ? frame.number() : 0;
        }
        client.send(DATA, 0, 3, new byte[10_000]);
        window -= 10_000;
      }
      client.send(DATA, END_STREAM, 3);
      client.send(WINDOW_UPDATE, 0, 0, 40_000);
      assertEquals("200 " + length, client.response(3));
    }
  }

  @Test
  void whatIsNotWholeIsReset() throws Exception {
    Handler handler =
        exchange -> {
          switch (exchange.request().path()) {
            case "/fails" -> {
              exchange.respond(ResponseHead.of(200)).write(Talk.bytes("abc"));
              throw new IOException("the origin died");
            }
            case "/forgets" -> exchange.respond(ResponseHead.of(200)).write(Talk.bytes("abc"));
            case "/nothing" -> {}
            case "/unread" -> exchange.respond(ResponseHead.of(200), ByteBuffer.allocate(0));
            default -> exchange.respond(ResponseHead.of(200, Fields.of("Content-Length", "4")));
          }
        };
    try (var client = Http2Client.connect(handler)) {
      client.headers(1, true, get("/fails"));
      assertEquals("200 abc[reset 2]", client.response(1));
      client.headers(3, true, get("/forgets"));
      assertEquals("200 abc[reset 2]", client.response(3));
      client.headers(5, true, get("/nothing"));
      assertEquals("500 ", client.response(5));
      client.headers(7, true, get("/short"));
      assertEquals("200 [reset 2]", client.response(7));
      client.headers(9, false, request("POST", "/unread"));
      assertEquals("200 ", client.response(9));
      var reset = client.next(RST_STREAM);
      assertEquals(9, reset.stream());
      assertEquals(0, reset.number());
    }
  }

  @Test
  void tooLargeAHeadGets431() throws Exception {
    try (var client = Http2Client.connect(Talk::echo)) {
      var block = client.block(get("/", "x", "<".repeat(20_000), "y", "<".repeat(14_000)));
      client.send(HEADERS, END_STREAM, 1, Arrays.copyOf(block, 16_000));
      client.send(CONTINUATION, 0, 1, Arrays.copyOfRange(block, 16_000, 32_000));
      client.send(CONTINUATION, END_HEADERS, 1, Arrays.copyOfRange(block, 32_000, block.length));
      assertEquals("431 ", client.response(1));
      var many = new String[202];
      for (int i = 0; i < many.length; i += 2) {
        many[i] = "x" + i;
        many[i + 1] = "y";
      }
      client.headers(3, true, get("/", many));
      var refused = client.fields(client.next(HEADERS));
      assertEquals("431", String.valueOf(refused.status()));
      var date = String.valueOf(refused.get("date"));
      assertTrue(HttpDate.parse(date, 0).isPresent(), date);
    }
  }

  @Test
  void whoWaitsFor100IsTold() throws Exception {
    try (var client = Http2Client.connect(Talk::echo)) {
      client.headers(1, false, request("POST", "/", "expect", "100-continue"));
      assertEquals(HEADERS, client.next(HEADERS).type());
      client.send(DATA, END_STREAM, 1, Talk.bytes("abc"));
      assertTrue(client.response(1).endsWith("|abc|"));
    }
  }

  @Test
  void headsHaveNoBodies() throws Exception {
    try (var client = Http2Client.connect(Talk::echo)) {
      client.headers(1, true, request("HEAD", "/"));
      assertEquals("200 ", client.response(1));
    }
  }

  @Test
  void aHeadAloneIsTheEnd() throws Exception {
    Handler handler =
        exchange ->
            exchange.respondByHeadAlone(ResponseHead.of(200, Fields.of("Grpc-Status", "5")));
    try (var client = Http2Client.connect(handler)) {
      client.headers(1, true, request("POST", "/"));
      assertEquals(END_HEADERS | END_STREAM, client.next(HEADERS).flags());
    }
    var answer = Talk.answer(handler, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    assertTrue(answer.endsWith("\r\n\r\n0\r\n\r\n"), answer);
  }

  @Test
  void tunnelsPassBytesBothWays() throws Exception {
    Handler handler =
        exchange -> {
          assertEquals("b:80", exchange.request().target());
          var tunnel = exchange.tunnel(ResponseHead.of(200));
          tunnel.out().write(Talk.bytes("first"));
          tunnel.out().write(Talk.bytes(Talk.text(tunnel.in())));
          tunnel.out().end();
        };
    try (var client = Http2Client.connect(handler)) {
      client.headers(1, false, ":method", "CONNECT", ":authority", "b:80");
      client.send(DATA, END_STREAM, 1, Talk.bytes("abc"));
      assertEquals("200 firstabc", client.response(1));
    }
  }

  @Test
  void aResetStreamIsBrokenForItsHandler() throws Exception {
    var failure = new CompletableFuture<Exception>();
    Handler handler =
        exchange -> {
          try {
            Talk.echo(exchange);
          } catch (IOException e) {
            failure.complete(e);
          }
        };
    try (var client = Http2Client.connect(handler)) {
      client.headers(1, false, request("POST", "/"));
      client.send(RST_STREAM, 0, 1, 8);
      assertInstanceOf(IncompleteMessageException.class, failure.join());
    }
  }

  @Test
  void drainingLetsStreamsEndAndTakesNoNewOnes() throws Exception {
    var draining = CancelScope.open();
    var go = new CountDownLatch(1);
    Handler handler =
        exchange -> {
          await(go);
          Talk.echo(exchange);
        };
    try (var client =
        Http2Client.connect(handler, HttpSettings.DEFAULT, draining, MemoryPair.CAPACITY)) {
      client.headers(1, true, get("/1"));
      client.send(PING, 0, 0, new byte[8]);
      assertEquals(PING, client.next(PING).type());
      draining.cancel();
      assertEquals(0, client.goAway());
      client.headers(3, true, get("/3"));
      assertEquals("[reset " + REFUSED_STREAM + "]", client.response(3));
      go.countDown();
      assertEquals("200 GET /1 a /1||", client.response(1));
      assertEquals(-1, client.next(GOAWAY).type());
      client.served.join();
    }
  }

  @Test
  void aSecondGoAwayNamesNoHigherStream() throws Exception {
    var draining = CancelScope.open();
    var go = new CountDownLatch(1);
    Handler handler =
        exchange -> {
          await(go);
          Talk.echo(exchange);
        };
    try (var client =
        Http2Client.connect(handler, HttpSettings.DEFAULT, draining, MemoryPair.CAPACITY)) {
      client.headers(1, true, get("/1"));
      client.send(PING, 0, 0, new byte[8]);
      assertEquals(PING, client.next(PING).type());
      draining.cancel();
      assertEquals(1, ByteBuffer.wrap(client.next(GOAWAY).payload()).getInt());
      client.headers(3, true, get("/3"));
      client.send(PING, 0, 1, new byte[8]);
      var second = ByteBuffer.wrap(client.next(GOAWAY).payload());
      assertEquals(1, second.getInt(), "RFC 9113 §6.8");
      assertEquals(PROTOCOL_ERROR, second.getInt());
      go.countDown();
    }
  }

  @Test
  void anExtendedConnectStandsForAnUpgrade() throws Exception {
    Handler handler =
        exchange -> {
          var request = exchange.request();
          var asked = request.method() + " " + request.fields().get("upgrade");
          var key = String.valueOf(request.fields().get("sec-websocket-key"));
          assertEquals(24, key.length());
          assertTrue(exchange.body().ended(), "what follows is no body");
          assertThrows(
              MalformedMessageException.class,
              () -> exchange.tunnel(accepting("dGhlIHNhbXBsZSBub25jZQ==", asked)),
              "RFC 6455 §4.1");
          var tunnel = exchange.tunnel(accepting(key, asked));
          var piece = ByteBuffer.allocate(100);
          while (tunnel.in().read(piece) >= 0) {
            tunnel.out().write(piece.flip());
            piece.clear();
          }
          tunnel.out().end();
        };
    try (var client = Http2Client.connect(handler)) {
      client.headers(1, false, request("CONNECT", "/", ":protocol", "websocket"));
      client.send(DATA, END_STREAM, 1, Talk.bytes("hello"));
      assertEquals("200 hello", client.response(1), "RFC 8441 §5");
    }
  }

  private static ResponseHead accepting(String key, String asked) {
    return Http2Heads.webSocketAccepted(ResponseHead.of(200, Fields.of("A", asked)), key);
  }
}
