package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.http.UpstreamLimits;
import dev.evergreen.proxy.storage.Entry;
import dev.evergreen.proxy.storage.Lease;
import dev.evergreen.proxy.storage.StorageOptions;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Clients that take a response slowly, which loses its place in memory meanwhile, as others hold
 * all that may be held.
 */
@Timeout(60)
class SlowClientsTest {
  private static final int WINDOW = 65_535;
  private static final int WINDOW_UPDATE = 8;
  private static final String BODY =
      IntStream.range(0, 1 << 17).mapToObj("%07d "::formatted).collect(Collectors.joining());

  private static final UpstreamLimits ONE_CONNECTION =
      new UpstreamLimits(
          1, 16, Duration.ofSeconds(3), Duration.ofSeconds(30), Duration.ofSeconds(10));

  private final ScriptedOrigin origin = new ScriptedOrigin();
  private final Proxy proxy;
  private final List<Lease> held = new ArrayList<>();

  SlowClientsTest() throws IOException {
    proxy =
        Proxy.start(
            ProxySettings.DEFAULT
                .withAddresses(List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)))
                .withOrigins(List.of(origin.origin()))
                .withProcessors(2)
                .withOriginLimits(ONE_CONNECTION)
                .withStorage(StorageOptions.memory(16 << 20)));
  }

  @BeforeEach
  void holdWhatMayBeHeld() throws IOException {
    // More than a tenth of the memory.
    for (int i = 0; i < 5; i++) {
      var key = store("http://test/held" + i);
      held.add(Objects.requireNonNull(proxy.storage().find(key, _ -> true)));
    }
  }

  private MemorySegment store(String uri) throws IOException {
    var key = Proxy.segment(uri);
    var bytes = BODY.getBytes(ISO_8859_1);
    var entry = new Entry(key, new byte[0], proxy.storage().stamp(), bytes.length);
    try (var appender = proxy.storage().append(entry)) {
      appender.append(ByteBuffer.wrap(bytes));
      assertTrue(appender.commit());
    }
    return key;
  }

  @AfterEach
  void end() throws IOException {
    held.forEach(Lease::close);
    origin.close();
    proxy.close();
  }

  /** Asks, and waits until what came is stored. */
  private String get(String path) throws IOException {
    try (var browser = new Browser(proxy.addresses().getFirst())) {
      var body = browser.get(path).body();
      while (proxy.fetches().underWay() > 0) {
        Thread.onSpinWait();
      }
      return body;
    }
  }

  private void purge() throws IOException {
    try (var browser = new Browser(proxy.addresses().getFirst())) {
      browser.ask("PURGE", "/a");
      assertEquals(200, browser.receive().status());
    }
    // It is taken out of memory when it is met.
    assertNull(proxy.storage().find(Proxy.segment("http://test/a"), _ -> true));
    // Until its memory is used for others it is read on.
    for (int i = 0; i < 20; i++) {
      var _ = store("http://test/other" + i);
    }
  }

  private void answer(String tag) {
    origin.then(200, BODY, "Cache-Control: max-age=60", "ETag: " + tag);
  }

  /** What the request's Range asks for, as it is sent by an origin that has the same. */
  private static String part(ScriptedOrigin.Received request, String... more) {
    assertEquals("\"1\"", request.field("If-Range"));
    var ends = request.field("Range").substring("bytes=".length()).split("-", 2);
    int begin = Integer.parseInt(ends[0]);
    int end = Integer.parseInt(ends[1]);
    assertTrue(end - begin < 1 << 16, "no more than is at hand");
    var fields = new ArrayList<>(List.of(more));
    if (fields.stream().noneMatch(field -> field.startsWith("ETag"))) {
      fields.add("ETag: \"1\"");
    }
    if (fields.stream().noneMatch(field -> field.startsWith("Content-Range"))) {
      fields.add("Content-Range: bytes " + begin + "-" + end + "/" + BODY.length());
    }
    return ScriptedOrigin.response(
        206, BODY.substring(begin, end + 1), fields.toArray(String[]::new));
  }

  private static void answerByPart(ScriptedOrigin.Received request, ScriptedOrigin.Wire wire)
      throws IOException {
    wire.send(part(request));
  }

  /** Asks, and takes as much as there is a window for. */
  private RawHttp2 begin(String... fields) throws IOException {
    var client = new RawHttp2(proxy.addresses().getFirst());
    client.get(1, "/a", fields);
    assertEquals(BODY.substring(0, WINDOW), client.data(1, WINDOW));
    return client;
  }

  /** Takes what there is yet. */
  private static String rest(RawHttp2 client) throws IOException {
    return rest(client, 1);
  }

  private static String rest(RawHttp2 client, int stream) throws IOException {
    var much = ByteBuffer.allocate(4).putInt(1 << 30).array();
    client.frame(WINDOW_UPDATE, 0, 0, much);
    client.frame(WINDOW_UPDATE, 0, stream, much);
    var rest = new StringBuilder();
    while (true) {
      var frame = client.next();
      if (frame.type() == RawHttp2.RST_STREAM) {
        return "cut off";
      }
      if (frame.type() == RawHttp2.DATA) {
        rest.append(new String(frame.payload(), ISO_8859_1));
        if ((frame.flags() & RawHttp2.END_STREAM) != 0) {
          return rest.toString();
        }
      }
    }
  }

  /** Whether the slow client is the one for whom it is fetched, or finds it. */
  private RawHttp2 begin(boolean first) throws IOException {
    if (!first) {
      get("/a");
    }
    var client = begin();
    while (proxy.fetches().underWay() > 0) {
      Thread.onSpinWait();
    }
    return client;
  }

  /**
   * Seen: what was found was kept as long as the client took what was fetched in its place; as it
   * counted, the new one was not kept.
   */
  @Test
  void whatWasFetchedIsKeptInPlaceOfWhatWasFound() throws Exception {
    held.forEach(Lease::close);
    answer("\"1\"");
    get("/a");
    answer("\"2\"");
    try (var client = begin("cache-control", "no-cache")) {
      while (proxy.fetches().underWay() > 0) {
        Thread.onSpinWait();
      }
      purge();
      answer("\"3\"");
      get("/a");
      assertEquals(BODY.substring(WINDOW), rest(client));
    }
  }

  /** The same of who follows what was fetched for another: nothing is left to count. */
  @Test
  void whoFollowsLetsGoOfWhatWasFound() throws Exception {
    held.forEach(Lease::close);
    answer("\"1\"");
    get("/a");
    answer("\"b\"");
    get("/b");
    var joined = new CountDownLatch(1);
    origin.then(
        (_, wire) -> {
          joined.await();
          wire.send(ScriptedOrigin.response(200, BODY, "Cache-Control: max-age=60"));
        });
    try (var leader = new Browser(proxy.addresses().getFirst());
        var client = new RawHttp2(proxy.addresses().getFirst())) {
      leader.ask("GET", "/a", "Cache-Control: no-cache");
      while (proxy.fetches().underWay() == 0) {
        Thread.onSpinWait();
      }
      client.get(1, "/a", "cache-control", "no-cache");
      while (proxy.statistics().get(Statistics.Count.COLLAPSED) == 0) {
        Thread.onSpinWait();
      }
      joined.countDown();
      assertEquals(BODY, leader.receive().body());
      assertEquals(BODY.substring(0, WINDOW), client.data(1, WINDOW));
      client.frame(WINDOW_UPDATE, 0, 0, ByteBuffer.allocate(4).putInt(WINDOW).array());
      client.get(3, "/b");
      assertEquals(BODY.substring(0, WINDOW), client.data(3, WINDOW));
      answer("\"c\"");
      leader.get("/b", "Cache-Control: no-cache");
      assertEquals(BODY.substring(WINDOW), rest(client, 3));
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whoReadsOnGoesOnWithTheSameThatIsStoredAnew(boolean first) throws Exception {
    answer("\"1\"");
    try (var client = begin(first)) {
      purge();
      get("/a");
      assertEquals(BODY.substring(WINDOW), rest(client));
    }
    assertEquals(2, origin.count());
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whatIsStoredNoMoreComesFromTheOriginInParts(boolean first) throws Exception {
    answer("\"1\"");
    origin.then(SlowClientsTest::answerByPart);
    try (var client = begin(first)) {
      purge();
      assertEquals(BODY.substring(WINDOW), rest(client));
    }
    assertTrue(origin.count() > 10, "each part was asked for");
  }

  @ParameterizedTest
  @ValueSource(strings = {"\"2\"", "W/\"1\""})
  void whatIsNotSurelyTheSameIsCutOff(String tag) throws Exception {
    answer("\"1\"");
    answer(tag);
    try (var client = begin(false)) {
      purge();
      get("/a");
      assertEquals("cut off", rest(client));
    }
  }

  /** Seen: the bytes of another coding were sent behind the first ones. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "Content-Encoding: br",
        "ETag: \"2\"",
        "ETag: W/\"1\"",
        "Content-Range: bytes 65536-131071/1048577",
        "Content-Range: bytes 65536-131070/1048576"
      })
  void noPartOfSomethingElseFollows(String other) throws Exception {
    answer("\"1\"");
    origin.then((request, wire) -> wire.send(part(request, other)));
    try (var client = begin(false)) {
      purge();
      assertEquals("cut off", rest(client));
    }
    assertEquals(2, origin.count());
  }

  @Test
  void nothingOfAnotherCodingFollowsThatIsStoredNow() throws Exception {
    origin.then(200, BODY, "Cache-Control: max-age=60", "ETag: \"1\"", "Content-Encoding: gzip");
    origin.then(200, BODY, "Cache-Control: max-age=60", "ETag: \"1\"", "Content-Encoding: br");
    try (var client = begin(false)) {
      purge();
      get("/a");
      assertEquals("cut off", rest(client));
    }
  }

  @Test
  void whatHasACodingIsGoneOnWithInThat() throws Exception {
    var coding = "Content-Encoding: GZIP";
    origin.then(200, BODY, "Cache-Control: max-age=60", "ETag: \"1\"", "Content-Encoding: gzip");
    origin.then((request, wire) -> wire.send(part(request, coding)));
    try (var client = begin(false)) {
      purge();
      assertEquals(BODY.substring(WINDOW), rest(client));
    }
  }

  /** RFC 9111 §5.2.1.7. Seen: the origin was asked for the rest. */
  @Test
  void whoWantsOnlyWhatIsCachedIsCutOffWhenThatIsGone() throws Exception {
    answer("\"1\"");
    origin.then(SlowClientsTest::answerByPart);
    get("/a");
    try (var client = begin("cache-control", "only-if-cached")) {
      purge();
      assertEquals("cut off", rest(client));
    }
    assertEquals(1, origin.count());
  }

  /** Seen: the origin's connection was kept for a client that had gone. */
  @Test
  void thePartOfAClientThatLeavesIsGivenUp() throws Exception {
    answer("\"1\"");
    var sent = new CountDownLatch(1);
    var told = new CountDownLatch(1);
    origin.then(
        (request, wire) -> {
          wire.send(part(request).substring(0, 10_000));
          sent.countDown();
          try {
            assertEquals(-1, wire.in().read());
          } catch (IOException e) {
            // A reset says so, too.
          }
          told.countDown();
        });
    try (var client = begin(false)) {
      purge();
      var much = ByteBuffer.allocate(4).putInt(1 << 30).array();
      client.frame(WINDOW_UPDATE, 0, 0, much);
      client.frame(WINDOW_UPDATE, 0, 1, much);
      sent.await();
      client.frame(RawHttp2.RST_STREAM, 0, 1, ByteBuffer.allocate(4).putInt(8).array());
      assertTrue(told.await(20, TimeUnit.SECONDS), "the origin waits for ever");
    }
  }

  /** What it was told at first must not take the place that the rest needs. */
  @ParameterizedTest
  @ValueSource(ints = {304, 503})
  void whoseResponseIsValidatedHoldsNoPlaceAtTheOriginMeanwhile(int status) throws Exception {
    origin.then(
        200, BODY, "Cache-Control: max-age=60, stale-if-error=60", "ETag: \"1\"", "Age: 60");
    origin.then(
        (_, wire) ->
            wire.send(
                status == 304
                    ? "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n"
                    : "HTTP/1.1 503 Busy\r\nContent-Length: 100000\r\n\r\nno"));
    origin.then(SlowClientsTest::answerByPart);
    get("/a");
    try (var client = begin()) {
      purge();
      assertEquals(BODY.substring(WINDOW), rest(client));
    }
  }

  /** Seen: its parts were asked for, though nothing had been sent. */
  @Test
  void whatIsGoneBeforeItHasBegunIsAskedForAnew() throws Exception {
    origin.then(200, BODY, "Cache-Control: max-age=60", "ETag: \"1\"", "Age: 60");
    origin.then(
        (_, wire) -> {
          purge();
          wire.send("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n");
        });
    origin.then(200, BODY, "Cache-Control: max-age=60", "ETag: \"2\"");
    get("/a");
    assertEquals(BODY, get("/a"));
    var requests = origin.requests();
    assertEquals(3, requests.size());
    assertFalse(requests.getLast().has("Range"));
    assertFalse(requests.getLast().has("If-None-Match"));
  }

  /** Seen: it ended the response, as that had begun. */
  @Test
  void whatInformsAmidTheResponseIsPassedOnToNobody() throws Exception {
    answer("\"1\"");
    origin.then(
        (request, wire) ->
            wire.send("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + part(request)));
    try (var client = begin(false)) {
      purge();
      assertEquals(BODY.substring(WINDOW), rest(client));
    }
  }
}
