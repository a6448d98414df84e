package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the page of a trace answers its script, and whom it refuses. */
@Timeout(60)
final class TracePageTest {
  private static final JsonMapper JSON = new JsonMapper();
  private static final Client ANNA = new Client("127.0.0.1:1", "anna", "", "tiny");
  private static final Client BERT = new Client("127.0.0.1:2", "", "", "tiny");

  @TempDir Path directory;
  private final HttpClient client = HttpClient.newHttpClient();
  private Recording recording;
  private Spool spool;
  private long epoch;
  private long lane;
  private long anna;
  private long bert;
  private TracePage page;

  @BeforeEach
  void start() throws IOException {
    var redactor = Redactor.open(directory, List.of());
    recording = Recording.open(directory, "", SpoolSettings.DEFAULT, redactor, Retention.ALL);
    spool = recording.spool();
    epoch = spool.epoch("tiny", "here:1", "content: empty");
    lane = spool.lane(epoch, "shared");
    anna = spool.connect(epoch, ANNA);
    bert = spool.connect(epoch, BERT);
    var loopback = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    page =
        TracePage.start(
            directory.toString(),
            new TracePage.Settings(loopback, "the-token", List.of("trace.example")));
  }

  @AfterEach
  void end() throws IOException {
    page.close();
    recording.close();
    client.close();
  }

  private long exchange(long connection, String request, String reply) {
    long row = spool.request(connection, lane, 0, Frames.bytes(request));
    spool.reply(row, Frames.bytes(reply));
    return row;
  }

  private URI uri(String path) {
    var address = URI.create(page.url());
    return URI.create("http://127.0.0.1:" + address.getPort() + path);
  }

  private HttpResponse<String> get(String path, String token) throws Exception {
    var request = HttpRequest.newBuilder(uri(path)).header("Authorization", "Bearer " + token);
    return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  private JsonNode ask(String path) throws Exception {
    assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)));
    var response = get("/api/" + path, "the-token");
    assertEquals(200, response.statusCode(), response.body());
    return JSON.readTree(response.body());
  }

  private static String id(String... path) {
    return HexFormat.of().formatHex(Cell.of(path).encoded());
  }

  private static List<String> texts(JsonNode list, String field) {
    return StreamSupport.stream(list.spliterator(), false)
        .map(element -> element.path(field).asText())
        .toList();
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  /** Else whoever asks hears nothing, and nobody knows why. */
  @Test
  void saysThatAQuestionTakesTooMuchMemory() throws Exception {
    spool.epoch("steps", "here:1", "content: empty");
    assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)));
    StepsKind.DEATHS.set(1);
    try {
      var response = get("/api/why?request=" + encoded("starve a"), "the-token");
      assertEquals(503, response.statusCode(), response.body());
      assertTrue(response.body().contains("memory"), response.body());
      assertTrue(ask("why?request=" + encoded("starve a")).has("certainty"));
    } finally {
      StepsKind.DEATHS.set(0);
    }
  }

  /** It has asked them before anybody does, of what is there when it starts. */
  @Test
  void hasAnAnswerOfEachKindAboutTheLastOperation() throws Exception {
    exchange(anna, "set a 1", "ok");
    exchange(anna, "get a", "1");
    long last = exchange(bert, "set b 2", "ok");
    assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)));
    try (var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
      var samples = JSON.readTree(TraceView.json(new TraceExplorer(trace).samples()));
      assertEquals(last, samples.path("operation").path("row").asLong());
      assertEquals(List.of("a", "b"), texts(samples.path("keys").path("keys"), "name"));
      assertEquals(1, samples.path("timeline").path("operations").size());
      assertTrue(samples.path("before").has("reads"), samples.toString());
      assertTrue(samples.path("why").has("certainty"), samples.toString());
      assertTrue(samples.path("about").has("row"), samples.toString());
    }
  }

  @Test
  void findsKeysByTheirBeginningInPages() throws Exception {
    for (int i = 0; i < 120; i++) {
      exchange(anna, "set user:%03d 1".formatted(i), "ok");
    }
    exchange(anna, "set use 1", "ok");
    exchange(anna, "set zebra 1", "ok");
    var names = new ArrayList<String>();
    var found = ask("keys?space=0&prefix=user");
    names.addAll(texts(found.path("keys"), "name"));
    while (found.path("more").asBoolean()) {
      var last = found.path("keys").get(found.path("keys").size() - 1).path("id").asText();
      found = ask("keys?space=0&prefix=user&after=" + last);
      names.addAll(texts(found.path("keys"), "name"));
    }
    assertEquals(120, names.size());
    assertEquals("user:000", names.getFirst());
    assertEquals("user:119", names.getLast());
    assertEquals(
        List.of("use"), texts(ask("keys?space=0&prefix=use").path("keys"), "name").subList(0, 1));
    assertEquals(0, ask("keys?space=0&prefix=nothing").path("keys").size());
    assertEquals(50, ask("keys?space=0&prefix=").path("keys").size());
  }

  @Test
  void tellsTheHistoryOfAKeyWithWhatInterruptsIt() throws Exception {
    long set = exchange(anna, "set a 1", "ok");
    spool.gap("the spool was full");
    long add = exchange(bert, "setnx a 2", "0");
    long other = spool.epoch("tiny", "here:2", "");
    lane = spool.lane(other, "shared");
    long open = spool.request(spool.connect(other, ANNA), lane, 0, Frames.bytes("set a 3"));
    var history = ask("timeline?cell=" + id("0", "a"));
    var operations = history.path("operations");
    assertEquals(
        List.of(Long.toString(open), Long.toString(add), Long.toString(set)),
        texts(operations, "row"));
    assertEquals(List.of("anna", "127.0.0.1:2", "anna"), texts(operations, "client"));
    assertEquals(List.of("unknown", "none", "replaced"), texts(operations, "effect"));
    assertEquals(List.of("epoch", "gap", "epoch"), texts(history.path("marks"), "kind"));
    assertFalse(history.path("more").asBoolean());
  }

  @Test
  void pagesALongHistory() throws Exception {
    for (int i = 0; i < 130; i++) {
      exchange(anna, "set a " + i, "ok");
    }
    var rows = new ArrayList<String>();
    var before = "";
    for (boolean more = true; more; ) {
      var history = ask("timeline?cell=%s&before=%s".formatted(id("0", "a"), before));
      rows.addAll(texts(history.path("operations"), "row"));
      before = rows.getLast();
      more = history.path("more").asBoolean();
    }
    assertEquals(130, rows.size());
    assertEquals(130, rows.stream().distinct().count());
  }

  @Test
  void showsOfALongReplyTheBeginning() throws Exception {
    long get = exchange(bert, "get a", "y".repeat(100_000));
    var reply = ask("operation?row=" + get).path("reply").asText();
    assertTrue(reply.endsWith("… (100000 bytes)"), reply);
    assertTrue(reply.length() < 2_000, reply);
  }

  @Test
  void givesUpWhatTakesTooLong() throws Exception {
    exchange(anna, "set a 1", "ok");
    assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)));
    try (var readers = new TraceReaders(directory.toString(), Duration.ofNanos(1))) {
      var e = assertThrows(TraceException.class, () -> readers.ask(trace -> trace.last(1)));
      assertTrue(String.valueOf(e.getMessage()).contains("takes longer"), e.toString());
    }
  }

  /** Such as one of those that the page asks before anybody does. */
  @Test
  void whatIsBeingAskedEndsWhenThePageIsClosed() throws Exception {
    exchange(anna, "set a 1", "ok");
    assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)));
    var begun = new CountDownLatch(1);
    var readers = new TraceReaders(directory.toString(), Duration.ZERO);
    var asked =
        new FutureTask<>(
            () ->
                readers.ask(
                    trace -> {
                      begun.countDown();
                      while (true) {
                        trace.last(1);
                      }
                    }));
    Thread.ofVirtual().start(asked);
    begun.await();
    readers.close();
    var e = assertThrows(ExecutionException.class, asked::get);
    assertTrue(e.getCause() instanceof TraceException, () -> "" + e.getCause());
    assertThrows(TraceException.class, () -> readers.ask(trace -> trace.last(1)));
  }

  /** By a clock that nobody sets: that of the computer may have been set back. */
  @Test
  void aReplyThatDoesNotComeIsWaitedForASecond() {
    spool.request(anna, lane, 0, Frames.bytes("set a 1"));
    assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)));
    var nanos = new AtomicLong(Long.MAX_VALUE - 5);
    try (var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
      var tail = new TraceTail(0, nanos::get);
      assertEquals(0, tail.next(trace, 10).size());
      nanos.addAndGet(Duration.ofMillis(999).toNanos());
      assertEquals(0, tail.next(trace, 10).size());
      nanos.addAndGet(Duration.ofMillis(1).toNanos());
      assertEquals(1, tail.next(trace, 10).size());
    }
  }

  /** All at the same time: else a hundred who wait for their replies would take as many seconds. */
  @Test
  void repliesThatDoNotComeAreWaitedForTogether() {
    for (int i = 0; i < 5; i++) {
      spool.request(anna, lane, 0, Frames.bytes("set a " + i));
    }
    assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)));
    var nanos = new AtomicLong();
    try (var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
      var tail = new TraceTail(0, nanos::get);
      assertEquals(0, tail.next(trace, 3).size());
      nanos.addAndGet(Duration.ofSeconds(1).toNanos());
      assertEquals(3, tail.next(trace, 3).size());
      assertEquals(2, tail.next(trace, 3).size());
    }
  }

  @Test
  void explainsAnAnswerAsAGraphAndWhatTheSenderHadRead() throws Exception {
    long set = exchange(anna, "set a 1", "ok");
    long get = exchange(bert, "get a", "1");
    long copy = exchange(bert, "copy a b", "1");
    var answer = ask("why?request=" + encoded("get b") + "&space=0");
    // This kind of store has no model that could tell.
    assertFalse(answer.path("known").asBoolean());
    assertEquals("certain", answer.path("certainty").asText());
    var witness = answer.path("witnesses").get(0);
    assertEquals(
        List.of(Long.toString(set), Long.toString(copy)), texts(witness.path("elements"), "row"));
    assertEquals("[[%d,%d],[0,%d]]".formatted(copy, set, copy), witness.path("edges").toString());
    var before = ask("before?row=" + copy);
    assertEquals(List.of(Long.toString(get)), texts(before.path("reads"), "row"));
    var past = ask("why?row=" + get);
    assertTrue(past.path("known").asBoolean());
    assertEquals("1", past.path("reply").asText());
    assertEquals("[[0,%d]]".formatted(set), past.path("witnesses").get(0).path("edges").toString());
    var details = ask("operation?row=" + copy);
    assertEquals("127.0.0.1:2", details.path("address").asText());
    assertEquals(List.of("b"), texts(details.path("cells"), "name"));
  }

  @Test
  void tellsWhatPassesWithItsReply() throws Exception {
    exchange(anna, "set a 0", "ok");
    assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)));
    var request =
        HttpRequest.newBuilder(uri("/api/tail")).header("Authorization", "Bearer the-token");
    var response = client.send(request.build(), HttpResponse.BodyHandlers.ofInputStream());
    try (var lines =
        new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8))) {
      assertEquals("text/event-stream", response.headers().firstValue("content-type").orElse(""));
      long wanted = exchange(bert, "set a 1", "ok");
      JsonNode found = null;
      while (found == null) {
        var line = lines.readLine();
        if (line.startsWith("data: ")) {
          for (var operation : JSON.readTree(line.substring(6)).path("operations")) {
            if (operation.path("row").asLong() == wanted) {
              found = operation;
            }
          }
        }
      }
      assertEquals("[\"set\",\"a\",\"1\"]", found.path("command").toString());
      assertEquals("ok", found.path("reply").asText());
    }
  }

  @Test
  void leavesOutWhatIsTooMuchToBeLookedAt() {
    for (int i = 0; i < 1_000; i++) {
      exchange(anna, "set a " + i, "ok");
    }
    assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)));
    try (var trace = StoredTrace.open(directory.toString(), Duration.ZERO)) {
      var tail = new TraceTail(0);
      assertEquals(900, tail.skipTo(trace, 100));
      assertEquals(100, tail.next(trace, 1_000).size());
      assertEquals(0, tail.skipTo(trace, 100));
    }
  }

  @Test
  void refusesWhoDoesNotKnowTheToken() throws Exception {
    exchange(anna, "set secret 1", "ok");
    for (var path : List.of("about", "keys?prefix=s", "tail", "why?row=1", "none")) {
      for (var token : List.of("", "the-toke", "the-token2", "Bearer the-token")) {
        var response = get("/api/" + path, token);
        assertEquals(401, response.statusCode(), path);
        assertFalse(response.body().contains("secret"), response.body());
      }
    }
    // What the page itself is made of tells nothing.
    assertEquals(200, get("/", "").statusCode());
    assertTrue(page.url().endsWith("/#the-token"), page.url());
  }

  @Test
  void refusesOtherNamesOfTheHostAndOtherMethods() throws Exception {
    int port = URI.create(page.url()).getPort();
    for (var host : List.of("evil.example", "evil.example:" + port, "127.0.0.1.evil.example", "")) {
      assertTrue(raw("GET / HTTP/1.1\r\nHost: " + host).contains(" 421 "), host);
    }
    for (var host : List.of("localhost:" + port, "LOCALHOST:" + port, "trace.example", "[::1]")) {
      assertTrue(raw("GET / HTTP/1.1\r\nHost: " + host).contains(" 200 "), host);
    }
    assertTrue(raw("POST / HTTP/1.1\r\nContent-Length: 0\r\nHost: localhost").contains(" 405 "));
  }

  private String raw(String head) throws IOException {
    int port = URI.create(page.url()).getPort();
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      var text = head + "\r\nConnection: close\r\n\r\n";
      socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
      var in = new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8);
      return String.valueOf(new BufferedReader(in).readLine());
    }
  }

  @Test
  void saysWhatItCannotAnswer() throws Exception {
    exchange(anna, "set a 1", "ok");
    assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)));
    assertEquals(404, get("/api/why?row=99999", "the-token").statusCode());
    assertEquals(404, get("/api/operation?row=99999", "the-token").statusCode());
    assertEquals(404, get("/api/nothing", "the-token").statusCode());
    assertEquals(404, get("/../trace.db", "the-token").statusCode());
    for (var wrong :
        List.of(
            "timeline?cell=zz",
            "timeline?cell=0100",
            "timeline?cell=",
            "why?row=x",
            "why?request=get+a&at=noon",
            "keys?after=00",
            "timeline?cell=01&before=many")) {
      assertEquals(400, get("/api/" + wrong, "the-token").statusCode(), wrong);
    }
  }

  @Test
  void allowsNoScriptsButItsOwn() throws Exception {
    for (var path : List.of("/", "/trace.js", "/page.css", "/api/about", "/none")) {
      var headers = get(path, "the-token").headers();
      var policy = headers.firstValue("Content-Security-Policy").orElse("");
      assertTrue(policy.contains("default-src 'none'; script-src 'self'"), policy);
      assertEquals("nosniff", headers.firstValue("X-Content-Type-Options").orElse(""));
      assertEquals("no-store", headers.firstValue("Cache-Control").orElse(""));
    }
  }
}
