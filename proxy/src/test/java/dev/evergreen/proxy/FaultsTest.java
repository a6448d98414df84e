package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.http.HttpSettings;
import dev.evergreen.http.UpstreamLimits;
import dev.evergreen.proxy.storage.StorageOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Peers that hang, lie, flood or leave: nobody else suffers, and nothing wrong is served. */
@Timeout(60)
class FaultsTest {
  private static final Duration SHORT = Duration.ofSeconds(2);
  private static final Duration LONG = Duration.ofSeconds(30);

  /** Peers that pause in a body, or take nothing, are given up soon. */
  private static final HttpSettings IMPATIENT =
      HttpSettings.DEFAULT.withTimes(LONG, LONG, SHORT, SHORT);

  private final CountDownLatch ending = new CountDownLatch(1);
  private final ScriptedOrigin origin = new ScriptedOrigin();
  private final List<AutoCloseable> open = new ArrayList<>();
  private final Proxy proxy = start(IMPATIENT);

  FaultsTest() throws IOException {}

  private ProxySettings settings(HttpSettings http) {
    return ProxySettings.DEFAULT
        .withAddresses(List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)))
        .withOrigins(List.of(origin.origin()))
        .withHttp(http)
        .withProcessors(2)
        .withStorage(StorageOptions.memory(64 << 20));
  }

  private Proxy start(HttpSettings http) throws IOException {
    return start(settings(http));
  }

  private Proxy start(ProxySettings settings) throws IOException {
    var started = Proxy.start(settings);
    open.add(started);
    return started;
  }

  @AfterEach
  void end() throws Exception {
    ending.countDown();
    for (var each : open.reversed()) {
      each.close();
    }
    origin.close();
  }

  private Browser browser() throws IOException {
    return browser(proxy);
  }

  private Browser browser(Proxy asked) throws IOException {
    var made = new Browser(asked.addresses().getFirst());
    open.add(made);
    return made;
  }

  private interface Condition {
    boolean holds() throws IOException;
  }

  private static void await(Condition condition) throws IOException, InterruptedException {
    while (!condition.holds()) {
      Thread.sleep(1);
    }
  }

  private long count(Statistics.Count what) {
    return proxy.statistics().get(what);
  }

  /** How many connections of clients and to origins there are. */
  private int connections() {
    return proxy.fibers().connections().size();
  }

  // Origins.

  private static String head(int length) {
    return "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: " + length + "\r\n\r\n";
  }

  @Test
  void anOriginThatHangsInMidBodyHoldsUpNobodyElse() throws Exception {
    // It waits for as long as it takes here to look at all.
    var patient = start(HttpSettings.DEFAULT);
    var go = new CountDownLatch(1);
    var die = new CountDownLatch(1);
    var first = new AtomicBoolean(true);
    origin.then(
        (request, wire) -> {
          if (request.line().startsWith("GET /other")) {
            wire.send(ScriptedOrigin.response(200, "other"));
          } else if (first.getAndSet(false)) {
            go.await();
            wire.send(head(10) + "01234");
            die.await();
            wire.socket().close();
          } else {
            wire.send(head(5) + "whole");
          }
        });
    var waiting = new ArrayList<Browser>();
    for (int i = 0; i < 4; i++) {
      var each = browser(patient);
      each.ask("GET", "/a");
      waiting.add(each);
    }
    await(() -> patient.statistics().get(Statistics.Count.COLLAPSED) == 3);
    go.countDown();
    for (var each : waiting) {
      while (!each.line().isEmpty()) {}
      assertEquals("01234", each.read(5));
    }
    assertEquals("other", browser(patient).get("/other").body(), "while the others wait");
    die.countDown();
    for (var each : waiting) {
      assertThrows(IOException.class, () -> each.read(1), "nobody takes the half for the whole");
    }
    await(() -> patient.fetches().underWay() == 0);
    assertEquals("whole", browser(patient).get("/a").body(), "nothing was stored");
  }

  @Test
  void anOriginThatHangsInMidBodyIsGivenUp() throws Exception {
    origin
        .then(
            (_, wire) -> {
              wire.send(head(10) + "01234");
              ending.await();
            })
        .then((_, wire) -> wire.send(head(5) + "whole"));
    assertThrows(IOException.class, () -> browser().get("/a"));
    await(() -> proxy.fetches().underWay() == 0);
    assertEquals("whole", browser().get("/a").body(), "nothing was stored");
  }

  @Test
  void anOriginThatSaysNothingIs504ForAllWhoWait() throws Exception {
    origin.then((_, _) -> ending.await());
    var waiting = new ArrayList<Browser>();
    for (int i = 0; i < 3; i++) {
      var each = browser();
      each.ask("GET", "/a");
      waiting.add(each);
    }
    for (var each : waiting) {
      assertEquals(504, each.receive().status());
    }
    assertEquals(1, origin.count(), "who takes too long is not asked again");
  }

  @Test
  void chunksThatLieAreCutOffAndNotStored() throws Exception {
    origin
        .then(
            (_, wire) -> {
              wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n");
              wire.send("Cache-Control: max-age=60\r\n\r\n3\r\nabcd\r\n0\r\n\r\n");
            })
        .then(200, "whole", "Cache-Control: max-age=60");
    assertThrows(IOException.class, () -> browser().get("/a"));
    await(() -> proxy.fetches().underWay() == 0);
    assertEquals("whole", browser().get("/a").body());
  }

  @Test
  void aTunnelLastsAsLongAsOneSideSpeaks() throws Exception {
    origin.then(
        (_, wire) -> {
          wire.send("HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: ticks\r\n\r\n");
          for (int i = 0; i < 4; i++) {
            // Together more than the client may pause.
            Thread.sleep(SHORT.dividedBy(3));
            wire.send("tick");
          }
          ending.await();
        });
    var browser = browser();
    browser.ask("GET", "/a", "Connection: upgrade", "Upgrade: ticks");
    assertEquals(101, browser.receive().status());
    assertEquals("tick".repeat(4), browser.read(16));
    assertThrows(IOException.class, () -> browser.read(1), "as now neither says anything");
  }

  // Bodies of requests.

  private static String post(int length, String... fields) {
    var text = new StringBuilder("POST /a HTTP/1.1\r\nHost: test\r\nX-Unread: 1\r\n");
    for (var field : fields) {
      text.append(field).append("\r\n");
    }
    return text.append("Content-Length: ").append(length).append("\r\n\r\n").toString();
  }

  @Test
  void whoAwaitsToContinueIsToldSoByTheOrigin() throws Exception {
    origin.then(
        (request, wire) -> {
          assertEquals("100-continue", request.field("Expect"), "RFC 9110 §10.1.1");
          wire.send("HTTP/1.1 100 Continue\r\n\r\n");
          var body = new String(wire.in().readNBytes(4), ISO_8859_1);
          wire.send(ScriptedOrigin.response(200, body));
        });
    var browser = browser();
    browser.send(post(4, "Expect: 100-continue"));
    assertEquals(100, browser.receive().status());
    browser.send("body");
    assertEquals("body", browser.receive().body());
  }

  @Test
  void whoAwaitsToContinueIsToldSoByTheOriginThatIsAskedAgain() throws Exception {
    var said = new AtomicBoolean();
    origin
        .then(200, "kept")
        .then((_, wire) -> wire.socket().close())
        .then(
            (request, wire) -> {
              assertEquals("100-continue", request.field("Expect"));
              Thread.sleep(200); // For a 100 that nobody has said.
              said.set(true);
              wire.send("HTTP/1.1 100 Continue\r\n\r\n");
              var body = new String(wire.in().readNBytes(4), ISO_8859_1);
              wire.send(ScriptedOrigin.response(200, body));
            });
    var browser = browser();
    assertEquals("kept", browser.get("/kept").body());
    browser.send(post(4, "Expect: 100-continue").replaceFirst("POST", "PUT"));
    assertEquals(100, browser.receive().status());
    assertTrue(said.get(), "an origin has said so");
    browser.send("body");
    assertEquals("body", browser.receive().body());
    assertEquals(3, origin.count());
  }

  @Test
  void whoAwaitsToContinueMayBeRefused() throws Exception {
    origin.then(417, "no");
    var browser = browser();
    browser.send(post(4, "Expect: 100-continue"));
    assertEquals(417, browser.receive().status(), "and no 100 before");
    assertTrue(browser.ended(), "as nobody knows whether the body comes");
  }

  @Test
  void anAnswerAmidAnEndlessUploadReachesItsSender() throws Exception {
    origin.then(
        (_, wire) -> {
          wire.send(ScriptedOrigin.response(413, "too much", "Connection: close"));
          wire.socket().shutdownOutput();
          ending.await();
        });
    var browser = browser();
    browser.send("POST /a HTTP/1.1\r\nHost: test\r\nX-Unread: 1\r\n");
    browser.send("Transfer-Encoding: chunked\r\n\r\n");
    var piece = "1000\r\n" + "x".repeat(0x1000) + "\r\n";
    var sender =
        CompletableFuture.runAsync(
            () -> {
              try {
                while (true) {
                  browser.send(piece);
                }
              } catch (IOException e) {
                // The proxy has hung up.
              }
            });
    assertEquals("too much", browser.receive().body());
    sender.join();
  }

  @Test
  void anOriginNeedNotAnswerBeforeTheBodysEnd() throws Exception {
    origin.then(
        (_, wire) -> {
          wire.send("HTTP/1.1 100 Continue\r\n\r\n");
          var body = new String(wire.in().readNBytes(4), ISO_8859_1);
          wire.send(ScriptedOrigin.response(200, body));
        });
    var browser = browser();
    browser.send(post(4));
    var polite = browser();
    polite.send(post(4, "Expect: 100-continue"));
    assertEquals(100, polite.receive().status());
    for (int sent = 0; sent < 4; sent++) {
      // Each pause is one that a client may make; together they are longer than that.
      Thread.sleep(SHORT.dividedBy(3));
      browser.send("x");
      polite.send("x");
    }
    assertEquals("xxxx", browser.receive().body(), "though it took longer than a pause may");
    assertEquals("xxxx", polite.receive().body());
  }

  @Test
  void anOriginThatDiesAmidAnUploadIs502AtOnce() throws Exception {
    var patient = start(HttpSettings.DEFAULT);
    origin.then(
        (_, wire) -> {
          wire.in().readNBytes(5);
          wire.socket().close();
        });
    var browser = browser(patient);
    browser.send(post(1000) + "begin");
    assertEquals(502, browser.receive().status(), "though the client is not done");
  }

  @Test
  void aClientThatLeavesAmidItsUploadIsNotTakenForWhole() throws Exception {
    var seen = new CompletableFuture<String>();
    origin.then(
        (_, wire) -> {
          try {
            wire.in().transferTo(java.io.OutputStream.nullOutputStream());
            seen.complete("the end");
          } catch (IOException e) {
            seen.complete("a reset");
          }
        });
    var browser = browser();
    browser.send(post(1000) + "begin");
    origin.next();
    browser.vanish();
    assertEquals("a reset", seen.get());
  }

  /** An origin that takes few connections, and does not answer bodies. */
  private Proxy startWithConnections(int connections) throws IOException {
    origin.then(
        (request, wire) -> {
          if (request.line().startsWith("POST")) {
            ending.await();
          }
          wire.send(ScriptedOrigin.response(200, "well"));
        });
    var few = new UpstreamLimits(connections, 10, SHORT, LONG, LONG);
    return start(settings(HttpSettings.DEFAULT).withOriginLimits(few));
  }

  private interface Sending {
    void byteOfBody() throws IOException;
  }

  /** Goes on for as long as the proxy lets it, and longer than anybody would wait. */
  private CompletableFuture<Void> trickle(Sending sending) {
    return CompletableFuture.runAsync(
        () -> {
          try {
            while (ending.getCount() > 0) {
              sending.byteOfBody();
              Thread.sleep(10);
            }
          } catch (IOException | InterruptedException e) {
            // The proxy has hung up.
          }
        });
  }

  @Test
  void whoHardlySendsPaysWhenOthersWaitForTheOrigin() throws Exception {
    var narrow = startWithConnections(1);
    var slow = browser(narrow);
    slow.send(post(1_000_000));
    origin.next();
    var sender = trickle(() -> slow.send("x"));
    assertEquals("well", browser(narrow).get("/b").body());
    assertEquals(408, slow.receive().status());
    assertEquals(0, narrow.statistics().get(Statistics.Count.ORIGIN_FAILURES));
    ending.countDown();
    sender.join();
  }

  @Test
  void whoHasSentAllDoesNotPayForThoseWhoHaveNot() throws Exception {
    var narrow = startWithConnections(2);
    var done = browser(narrow);
    done.send(post(2) + "x");
    origin.next();
    Thread.sleep(SHORT.dividedBy(2).plusMillis(300)); // Longer than others would wait for it.
    done.send("x");
    var slow = browser(narrow);
    slow.send(post(1_000_000));
    origin.next();
    var sender = trickle(() -> slow.send("x"));
    assertEquals("well", browser(narrow).get("/b").body());
    assertEquals(408, slow.receive().status());
    ending.countDown();
    assertEquals("well", done.receive().body());
    sender.join();
  }

  @Test
  void whoHardlySendsByHttp2PaysByThatStreamOnly() throws Exception {
    var narrow = startWithConnections(1);
    var client = new RawHttp2(narrow.addresses().getFirst());
    open.add(client);
    client.frame(
        RawHttp2.HEADERS,
        RawHttp2.END_HEADERS,
        1,
        RawHttp2.block(
            ":method",
            "POST",
            ":scheme",
            "http",
            ":authority",
            "test",
            ":path",
            "/",
            "x-unread",
            "1"));
    origin.next();
    client.get(3, "/b");
    var sender = trickle(() -> client.frame(RawHttp2.DATA, 0, 1, new byte[1]));
    assertEquals("408", client.status(1));
    assertEquals("200", client.status(3));
    ending.countDown();
    sender.join();
  }

  @Test
  void whoHardlyTakesWhatIsNotStoredPaysWhenOthersWaitForTheOrigin() throws Exception {
    origin.then(
        (request, wire) -> {
          if (request.line().startsWith("GET /large")) {
            wire.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
            while (true) {
              wire.send("x".repeat(1 << 16));
            }
          }
          wire.send(ScriptedOrigin.response(200, "well"));
        });
    var one = new UpstreamLimits(1, 10, LONG, LONG, LONG);
    var narrow = start(settings(HttpSettings.DEFAULT).withOriginLimits(one));
    var slow = browser(narrow);
    slow.ask("GET", "/large");
    origin.next();
    var next = browser(narrow);
    next.ask("GET", "/b");
    var peers = narrow.upstreams(Reach.ORIGINS).slowPeers(origin.origin());
    // As one who has waited for the connection does, but at once.
    await(() -> peers.hangUp(1, Duration.ZERO, Long.MAX_VALUE) == 1);
    assertEquals("well", next.receive().body());
    assertThrows(IOException.class, () -> slow.receive());
  }

  @Test
  void aBodyThatIsMalformedIsTheClientsFault() throws Exception {
    origin.then((_, _) -> ending.await());
    var browser = browser();
    browser.send("POST /a HTTP/1.1\r\nHost: test\r\nX-Unread: 1\r\n");
    browser.send("Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n");
    origin.next();
    browser.send("no length\r\n");
    assertEquals(400, browser.receive().status());
    assertEquals(0, count(Statistics.Count.ORIGIN_FAILURES));
  }

  @Test
  void forwardsAreCountedDown() throws Exception {
    origin.then(200, "1");
    var browser = browser();
    browser.ask("OPTIONS", "/a", "Max-Forwards: 5");
    assertEquals(200, browser.receive().status());
    assertEquals("4", origin.next().field("Max-Forwards"));
    browser.ask("TRACE", "/a", "Max-Forwards: 1");
    browser.receive();
    assertEquals("0", origin.next().field("Max-Forwards"));
    browser.get("/a", "Max-Forwards: 0");
    assertEquals("0", origin.next().field("Max-Forwards"), "means nothing of a GET");
  }

  // Clients.

  @Test
  void aClientThatTakesNothingIsHungUpOn() throws Exception {
    origin.then(
        (_, wire) ->
            wire.send(
                ScriptedOrigin.response(200, "x".repeat(8 << 20), "Cache-Control: max-age=60")));
    assertEquals(8 << 20, browser().get("/a").body().length());
    int before = connections();
    var slow = new ArrayList<Browser>();
    for (int i = 0; i < 8; i++) {
      var each = browser();
      each.ask("GET", "/a");
      slow.add(each);
    }
    await(() -> connections() > before);
    assertEquals(8 << 20, browser().get("/a").body().length(), "others are served meanwhile");
    await(() -> connections() <= before + 1);
    for (var each : slow) {
      assertThrows(IOException.class, () -> each.receive());
    }
  }

  @Test
  void endlessFieldsAre431() throws Exception {
    var browser = browser();
    browser.send("GET / HTTP/1.1\r\nHost: test\r\n");
    for (int i = 0; i < 101; i++) {
      browser.send("X-" + i + ": y\r\n");
    }
    assertEquals(431, browser.receive().status());
    assertTrue(browser.ended());
    assertEquals(0, origin.count());
  }

  @Test
  void aClientThatLeavesAFetchForItselfAloneEndsIt() throws Exception {
    var gone = new CompletableFuture<Boolean>();
    origin.then(
        (_, wire) -> {
          wire.send("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 1000000000\r\n");
          wire.send("\r\n");
          try {
            var piece = "x".repeat(1 << 16);
            while (true) {
              wire.send(piece);
            }
          } catch (IOException e) {
            gone.complete(true);
          }
        });
    var browser = browser();
    browser.ask("GET", "/a");
    browser.line();
    browser.vanish();
    assertTrue(gone.get(), "the origin need not go on");
    await(() -> connections() == 0);
  }

  @Test
  void whatCannotBeStoredIsNotFetchedToItsEndForNobody() throws Exception {
    var gone = new CompletableFuture<Boolean>();
    origin.then(
        (_, wire) -> {
          wire.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n");
          wire.send("Content-Length: 1000000000000\r\n\r\n");
          try {
            while (true) {
              wire.send("x".repeat(1 << 16));
            }
          } catch (IOException e) {
            gone.complete(true);
          }
        });
    var browser = browser();
    browser.ask("GET", "/a");
    browser.line();
    browser.vanish();
    assertTrue(gone.get(), "the origin need not go on");
    await(() -> connections() == 0);
    assertEquals(0, count(Statistics.Count.CUT_OFF), "it has done nothing wrong");
  }

  /** Seen: each of them asked the origin for itself. */
  @Test
  void whoComesTooLateForWhatCannotBeStoredFollowsAnotherTogether() throws Exception {
    int late = 6;
    var piece = "x".repeat(1 << 16);
    int pieces = 16 << 4;
    var memory = StorageOptions.memory(4 << 20);
    var small = start(settings(HttpSettings.DEFAULT).withStorage(memory));
    origin.then(
        (_, wire) -> {
          wire.send(head(Integer.MAX_VALUE));
          while (true) {
            wire.send(piece);
          }
        });
    origin.then(
        (_, wire) -> {
          await(() -> small.statistics().get(Statistics.Count.COLLAPSED) == late - 1);
          wire.send(head(pieces * piece.length()));
          for (int i = 0; i < pieces; i++) {
            wire.send(piece);
          }
        });
    var first = browser(small);
    first.ask("GET", "/a");
    first.read(10 * piece.length());
    var answers = new ArrayList<CompletableFuture<Void>>();
    for (int i = 0; i < late; i++) {
      var browser = browser(small);
      answers.add(
          CompletableFuture.runAsync(
              () -> take(browser, piece, pieces), Thread::startVirtualThread));
    }
    for (var answer : answers) {
      answer.get();
    }
    assertEquals(2, origin.count());
  }

  /** Takes a body of so many pieces, and keeps none of them. */
  private static void take(Browser browser, String piece, int pieces) {
    try {
      browser.ask("GET", "/a");
      while (!browser.line().isEmpty()) {
        // That is the head.
      }
      for (int i = 0; i < pieces; i++) {
        assertEquals(piece, browser.read(piece.length()));
      }
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  /** How a client leaves. */
  private interface Goodbye {
    void leave() throws IOException;
  }

  /** A client that asks for what is for it alone. */
  private Goodbye asks(String method, boolean dies) throws IOException {
    var browser = browser();
    browser.ask(method, "/a");
    return dies ? browser::vanish : browser::close;
  }

  private Goodbye asksByHttp2(boolean whole) throws IOException {
    var client = http2();
    client.frame(
        RawHttp2.HEADERS,
        RawHttp2.END_STREAM | RawHttp2.END_HEADERS,
        1,
        RawHttp2.block(
            ":method", "DELETE", ":scheme", "http", ":authority", "test", ":path", "/a"));
    var cancel = new byte[] {0, 0, 0, 8};
    return whole ? client::close : () -> client.frame(RawHttp2.RST_STREAM, 0, 1, cancel);
  }

  /** Begins each answer with something, and then says nothing more until its client leaves. */
  private CountDownLatch originThatWaits(int requests, String begin) {
    var left = new CountDownLatch(requests);
    origin.then(
        (_, wire) -> {
          wire.send(begin);
          awaitEnd(wire);
          left.countDown();
        });
    return left;
  }

  private static void awaitEnd(ScriptedOrigin.Wire wire) {
    try {
      int end = wire.in().read();
      assertEquals(-1, end);
    } catch (IOException e) {
      // A reset says so, too.
    }
  }

  @Test
  void anOriginIsToldThatTheClientForWhomItWorksHasLeft() throws Exception {
    var left = originThatWaits(6, "");
    var clients =
        List.of(
            asks("POST", false),
            asks("DELETE", true),
            asks("HEAD", false),
            asksByHttp2(false),
            asksByHttp2(true));
    browser().ask("POST", "/stays");
    for (int i = 0; i < 6; i++) {
      origin.next();
    }
    for (var client : clients) {
      client.leave();
    }
    await(() -> left.getCount() == 1);
    assertEquals(0, count(Statistics.Count.ORIGIN_FAILURES), "it has done nothing wrong");
    assertEquals(6, origin.count(), "nothing is asked again");
  }

  @Test
  void anOriginIsToldAmidAnAnswerThatTheClientHasLeft() throws Exception {
    var left =
        originThatWaits(
            3,
            """
            HTTP/1.1 200 OK\r
            Cache-Control: no-store\r
            Transfer-Encoding: chunked\r
            \r
            4\r
            tick\r
            """);
    for (int i = 0; i < 3; i++) { // The first of them might have been for others, too.
      var browser = browser();
      browser.ask("GET", "/events");
      while (!browser.line().equals("4")) {}
      assertEquals("tick", browser.read(4));
      browser.close();
    }
    left.await();
  }

  @Test
  void whoWaitsForWhatWillBeForItAloneMayLeave() throws Exception {
    var left = new CountDownLatch(1);
    origin
        .then(200, "mine", "Cache-Control: private")
        .then(
            (_, wire) -> {
              awaitEnd(wire);
              left.countDown();
            });
    browser().get("/poll");
    origin.next();
    var browser = browser();
    browser.ask("GET", "/poll");
    origin.next();
    browser.close();
    left.await();
    assertEquals(0, count(Statistics.Count.ORIGIN_FAILURES), "it has done nothing wrong");
  }

  /** Seen: 500, though nothing was wrong here. */
  @Test
  void whoSendsNoMoreAndGetsNothingForLongIsToldSo() throws Exception {
    var left = originThatWaits(1, "");
    var browser = browser();
    browser.ask("POST", "/a");
    browser.endOutput();
    assertEquals(504, browser.receive().status());
    assertTrue(browser.ended());
    left.await();
    assertEquals(0, count(Statistics.Count.ORIGIN_FAILURES), "it has done nothing wrong");
  }

  @Test
  void whoEndsItsHalfAmidItsUploadIsToldSo() throws Exception {
    var seen = new CompletableFuture<Boolean>();
    origin.then(
        (_, wire) -> {
          try {
            wire.in().transferTo(java.io.OutputStream.nullOutputStream());
            seen.complete(false);
          } catch (IOException e) {
            seen.complete(true);
          }
        });
    var browser = browser();
    browser.send(post(1000) + "begin");
    origin.next();
    browser.endOutput();
    assertEquals(400, browser.receive().status());
    assertTrue(browser.ended());
    assertTrue(seen.get(), "the part must not be taken for the whole");
  }

  @Test
  void whoOnlySendsNoMoreIsStillAnswered() throws Exception {
    origin.then(
        (_, wire) -> {
          wire.send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n");
          for (int i = 0; i < 5; i++) {
            // Together longer than it would be waited for a client that has left.
            Thread.sleep(400);
            wire.send("tick");
          }
        });
    var browser = browser();
    browser.ask("POST", "/a");
    browser.endOutput();
    assertEquals("tick".repeat(5), browser.receive().body());
  }

  /** Seen: it was served as fresh for as long as it might be. */
  @Test
  @Timeout(10)
  void whatAnUnsafeRequestMayHaveChangedIsAskedForAnewWhenItsClientHasLeft() throws Exception {
    var left = new CountDownLatch(1);
    origin
        .then(200, "old", "Cache-Control: max-age=60")
        .then(
            (_, wire) -> {
              try {
                int end = wire.in().read();
                assertEquals(-1, end);
              } catch (IOException e) {
                // A reset says so, too.
              }
              left.countDown();
            })
        .then(200, "new", "Cache-Control: max-age=60");
    assertEquals("old", browser().get("/a").body());
    origin.next();
    var client = browser();
    client.ask("DELETE", "/a");
    origin.next();
    client.vanish();
    left.await();
    await(() -> browser().get("/a").body().equals("new"));
  }

  // Clients by HTTP/2.

  private RawHttp2 http2() throws IOException {
    var made = new RawHttp2(proxy.addresses().getFirst());
    open.add(made);
    return made;
  }

  @Test
  void rapidResetsEndTheirConnectionOnly() throws Exception {
    origin.then(
        (request, wire) -> {
          if (request.line().startsWith("GET /slow")) {
            ending.await();
          }
          wire.send(ScriptedOrigin.response(200, "well"));
        });
    var client = http2();
    try {
      for (int stream = 1; stream < 4000; stream += 2) {
        client.get(stream, "/slow" + stream);
        client.frame(RawHttp2.RST_STREAM, 0, stream, new byte[] {0, 0, 0, 8});
      }
    } catch (IOException e) {
      // It has hung up already.
    }
    assertEquals(RawHttp2.ENHANCE_YOUR_CALM, client.goAway());
    assertTrue(origin.count() <= 100, "the origin is asked by no more than may be answered");
    assertEquals("well", browser().get("/b").body());
  }

  @Test
  void aHeadWithoutAnEndEndsItsConnection() throws Exception {
    var client = http2();
    client.frame(RawHttp2.HEADERS, 0, 1, RawHttp2.block(":method", "GET"));
    try {
      for (int i = 0; i < 10_000; i++) {
        client.frame(RawHttp2.CONTINUATION, 0, 1, RawHttp2.block("x", "y"));
      }
    } catch (IOException e) {
      // It has hung up already.
    }
    assertEquals(RawHttp2.ENHANCE_YOUR_CALM, client.goAway());
    assertEquals(0, origin.count());
  }

  @Test
  void tooManyFieldsAre431ByHttp2Too() throws Exception {
    origin.then(200, "well");
    var client = http2();
    var fields = new ArrayList<>(List.of(":method", "GET", ":scheme", "http"));
    fields.addAll(List.of(":authority", "test", ":path", "/"));
    for (int i = 0; i < 101; i++) {
      fields.addAll(List.of("x-" + i, "y"));
    }
    client.frame(
        RawHttp2.HEADERS,
        RawHttp2.END_STREAM | RawHttp2.END_HEADERS,
        1,
        RawHttp2.block(fields.toArray(String[]::new)));
    assertEquals("431", client.status(1));
    client.get(3, "/");
    assertEquals("200", client.status(3), "the connection goes on");
    assertFalse(origin.requests().isEmpty());
  }
}
