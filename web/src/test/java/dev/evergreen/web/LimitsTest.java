package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Grain;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.live.HandNode;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class LimitsTest {

  private static final String GET = "GET /live/value HTTP/1.1\r\nHost: localhost\r\n\r\n";

  record Wait() {}

  private final CountDownLatch begun = new CountDownLatch(1);
  private final CountDownLatch hold = new CountDownLatch(1);

  /** How often it was asked who asks for a page. */
  private final AtomicInteger pages = new AtomicInteger();

  /** How many commands are worked on until {@link #hold} ends. */
  private final AtomicInteger holding = new AtomicInteger();

  private @Nullable WebServer server;

  @TempDir private Path folder;

  private WebServer start(WebSettings settings) {
    var started =
        WebServer.builder(new HandNode())
            .port(0)
            .settings(settings)
            .view(
                LiveView.of(
                    "value", LiveView.NoParams.class, Authorisation.everyone(), params -> () -> 1))
            .command(
                "wait",
                Wait.class,
                Authorisation.everyone(),
                (caller, c) -> {
                  begun.countDown();
                  hold.await();
                })
            .start();
    server = started;
    return started;
  }

  @AfterEach
  void close() {
    hold.countDown();
    if (server != null) {
      server.close();
    }
  }

  @Test
  void tellsConnectionsAboveTheLimitWhenToComeBack() throws Exception {
    aboveTheLimit(WebSettings.DEFAULT.withMaxConnections(3), "too-many-connections");
  }

  @Test
  void tellsAnAddressWithTooManyConnectionsWhenToComeBack() throws Exception {
    aboveTheLimit(WebSettings.DEFAULT.withMaxConnectionsPerAddress(3), "too-many-from-address");
  }

  private void aboveTheLimit(WebSettings settings, String reason) throws Exception {
    var server = start(settings);
    var open = new ArrayList<RawClient>();
    for (int i = 0; i < 3; i++) {
      var client = new RawClient(server);
      client.send(GET);
      assertEquals(200, client.status());
      open.add(client);
    }
    try (var client = new RawClient(server)) {
      client.send(GET);
      assertEquals(503, client.status());
      assertTrue(client.rest().contains(reason));
    }
    assertEquals(1, server.counts().refused().get(reason));
    open.removeFirst().close();
    Await.until("room again", () -> server.counts().connections() == 2);
    try (var client = new RawClient(server)) {
      client.send(GET);
      assertEquals(200, client.status());
    }
    for (var client : open) {
      client.close();
    }
    Await.until("no connections", () -> server.counts().connections() == 0);
  }

  record Which(int n) {}

  @Test
  void anAddressHasItsShareOfTheComputationsAndNoMore() {
    var settings =
        WebSettings.DEFAULT.withMaxViewsPerAddress(2).withKeepViewFor(Duration.ofHours(1));
    try (var shared =
        WebServer.builder(new HandNode())
            .port(0)
            .settings(settings)
            .view(LiveView.of("number", Which.class, Authorisation.everyone(), params -> params::n))
            .start()) {
      var browser = Browser.open(shared);
      browser.subscribe(1, "number", "{\"n\":1}", null);
      assertEquals("result", browser.next().path("type").asText());
      assertEquals(200, Http.get(shared, "/live/number?n=2").statusCode());
      // What is computed already costs nothing more, and what nobody looks at makes room.
      assertEquals(200, Http.get(shared, "/live/number?n=1").statusCode());
      browser.subscribe(3, "number", "{\"n\":3}", null);
      assertEquals("result", browser.next().path("type").asText());
      browser.subscribe(4, "number", "{\"n\":4}", null);
      var refused = browser.next();
      assertEquals("end", refused.path("type").asText());
      assertEquals("too-many-from-address", refused.path("error").path("type").asText());
      browser.send("{\"type\":\"unsubscribe\",\"id\":3}");
      Await.until("room", () -> Http.get(shared, "/live/number?n=4").statusCode() == 200);
      browser.close();
    }
  }

  private static WebServer numbers(HandNode node, WebSettings settings) {
    return WebServer.builder(node)
        .port(0)
        .settings(settings.withKeepViewFor(Duration.ofHours(1)))
        .view(LiveView.of("number", Which.class, Authorisation.everyone(), params -> params::n))
        .start();
  }

  @Test
  void whatStrangersHaveMadeAndLeftKeepsNobodyFromNewViews() {
    var node = new HandNode();
    try (var server =
            numbers(node, WebSettings.DEFAULT.withMaxViews(20).withMaxViewsPerAddress(20));
        var browser = Browser.open(server)) {
      browser.subscribe(1, "number", "{\"n\":-1}", null);
      assertEquals("result", browser.next().path("type").asText());
      for (int n = 0; n < 100; n++) {
        assertEquals(200, Http.get(server, "/live/number?n=" + n).statusCode());
      }
      assertEquals(20, server.counts().views());
      assertEquals(1, server.counts().subscriptions());
      Await.until("the others closed", () -> node.running() == 20);
    }
  }

  @Test
  void anAddressMayHaveOnlySoManyComputationsMadeInAWhile() {
    var node = new HandNode();
    try (var server = numbers(node, WebSettings.DEFAULT.withMaxNewViewsPerSecond(1))) {
      int n = 0;
      long asked;
      HttpResponse<String> refused;
      do {
        asked = System.nanoTime();
        refused = Http.get(server, "/live/number?n=" + n++);
      } while (refused.statusCode() == 200);
      assertTrue(n > 60, n + " were made");
      assertEquals(429, refused.statusCode());
      // The least time that it takes: who is refused cannot ask at full speed.
      assertTrue(System.nanoTime() - asked >= Edge.REFUSED_PAUSE.toNanos(), "told at once");
      assertEquals("too-many-new-views", Http.json(refused).path("type").asText());
      assertEquals("1", Http.header(refused, "Retry-After"));
      assertEquals(200, Http.get(server, "/live/number?n=0").statusCode());
    }
  }

  @Test
  void answersACommandThatTakesLongerThanAConnectionMayBeIdle() throws Exception {
    var server = start(WebSettings.DEFAULT.withRequestWithin(Duration.ofMillis(50)));
    var answer = new CompletableFuture<HttpResponse<String>>();
    Thread.startVirtualThread(() -> answer.complete(Http.post(server, "/commands/wait", "{}")));
    assertTrue(begun.await(20, TimeUnit.SECONDS));
    for (int i = 0; i < 2; i++) {
      try (var idle = new RawClient(server)) {
        idle.send(GET);
        idle.rest();
      }
    }
    hold.countDown();
    assertEquals(204, answer.get(20, TimeUnit.SECONDS).statusCode());
  }

  @Test
  void answersWhatIsWorkedOnWhenItStopsAndEndsItsConnection() throws Exception {
    var server = start(WebSettings.DEFAULT);
    var browser = Browser.open(server);
    browser.subscribe(1, "value", "{}", null);
    browser.next();
    var answer = new CompletableFuture<HttpResponse<String>>();
    Thread.startVirtualThread(() -> answer.complete(Http.post(server, "/commands/wait", "{}")));
    assertTrue(begun.await(20, TimeUnit.SECONDS));
    var stopping = Thread.startVirtualThread(server::close);
    assertEquals("bye", browser.next().path("type").asText());
    hold.countDown();
    assertEquals(204, answer.get(20, TimeUnit.SECONDS).statusCode());
    assertTrue(stopping.join(Duration.ofSeconds(20)));
  }

  /** Has it closed, and returns when nobody new is let in. */
  private static Thread closing(WebServer server) {
    var closing = Thread.startVirtualThread(server::close);
    Await.until("no longer listening", () -> server.port() < 0);
    return closing;
  }

  @Test
  void answersARequestThatHasBegunToArriveWhenItStops() throws Exception {
    var server = start(WebSettings.DEFAULT);
    hold.countDown();
    try (var client = new RawClient(server)) {
      client.send(HALF.formatted("wait"));
      Await.until("heard", () -> server.counts().requests() == 1);
      var closing = closing(server);
      client.send("}" + " ".repeat(98));
      assertEquals(204, client.status());
      assertTrue(closing.join(Duration.ofSeconds(20)));
    }
  }

  /** A grain that answers when it may. */
  public interface Slow extends Grain {
    @ReadOnly
    int value() throws InterruptedException;
  }

  @Test
  void whoWaitsForAFirstResultTooLongWhenItStopsIsToldThatThereIsNone() throws Exception {
    Slow blocked =
        () -> {
          begun.countDown();
          hold.await();
          return 1;
        };
    try (var node = EmbeddedNode.builder().grain(Slow.class, key -> blocked).start();
        var server =
            WebServer.builder(node)
                .port(0)
                .settings(WebSettings.DEFAULT.withFirstResultWithin(Duration.ofMinutes(1)))
                .view(
                    LiveView.of(
                        "slow",
                        LiveView.NoParams.class,
                        Authorisation.everyone(),
                        params -> () -> node.grains().get(Slow.class, "a").value()))
                .start();
        var client = new RawClient(server)) {
      client.send(RawClient.lines("GET /live/slow HTTP/1.1", "", ""));
      assertTrue(begun.await(20, TimeUnit.SECONDS));
      var closing = Thread.startVirtualThread(server::close);
      assertEquals(503, client.status());
      assertTrue(closing.join(Duration.ofSeconds(20)));
      hold.countDown();
    }
  }

  @Test
  void closesConnectionsFarAboveTheLimitUnheard() throws Exception {
    var server = start(WebSettings.DEFAULT.withMaxConnections(4));
    var open = new ArrayList<RawClient>();
    for (int i = 0; i < 40; i++) {
      open.add(new RawClient(server));
    }
    Await.until(
        "some closed",
        () -> server.counts().refused().getOrDefault("too-many-connections", 0L) >= 20);
    assertTrue(server.counts().connections() < 20);
    for (var client : open) {
      client.close();
    }
  }

  @Test
  void answersBusyWhenTooManyRequestsAreWorkedOn() throws Exception {
    var server = start(WebSettings.DEFAULT.withMaxRequests(1));
    var first = Thread.ofVirtual().start(() -> Http.post(server, "/commands/wait", "{}"));
    assertTrue(begun.await(20, TimeUnit.SECONDS));
    Await.until(
        "the only place taken",
        () -> {
          var answer = Http.get(server, "/live/value");
          return answer.statusCode() == 503
              && Http.json(answer).path("type").asText().equals("too-many-requests")
              && Http.header(answer, "Retry-After").equals("1");
        });
    hold.countDown();
    Await.until("served again", () -> Http.get(server, "/live/value").statusCode() == 200);
    assertTrue(first.getName().isEmpty());
  }

  /** Seen: slow commands of five addresses kept everybody else out. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void slowWorkForSomeAddressesKeepsNobodyElseOut(boolean bodiesComeLate) throws Exception {
    var open = new ArrayList<RawClient>();
    try (var server = atATime(6)) {
      for (int i = 0; i < 12; i++) {
        var client = new RawClient(server);
        open.add(client);
        client.send(
            HALF.formatted("hold")
                .replace("\r\n\r\n", "\r\nX-Forwarded-For: 192.0.2." + i % 2 + "\r\n\r\n"));
        if (!bodiesComeLate) {
          client.send("}" + " ".repeat(98));
        }
      }
      Await.until("all heard", () -> server.counts().requests() == 12);
      if (bodiesComeLate) {
        for (var client : open) {
          client.send("}" + " ".repeat(98));
        }
      }
      // Of six, each has two, and one has a third where it was the first by so much.
      Await.until("held", () -> holding.get() >= 4);
      for (int i = 0; i < 3; i++) {
        var other = Http.get(server, "/live/value", "X-Forwarded-For", "192.0.2.9");
        assertEquals(200, other.statusCode());
      }
      hold.countDown();
      for (var client : open) {
        int status = client.status();
        assertTrue(status == 204 || (status == 503 && !bodiesComeLate), "" + status);
      }
    } finally {
      for (var client : open) {
        client.close();
      }
    }
  }

  /** Of which nothing more is ever sent. */
  private static final String HALF =
      RawClient.lines(
          "POST /commands/%s HTTP/1.1",
          "Content-Type: application/json", "Content-Length: 100", "", "{");

  @Test
  void bodiesThatAreWaitedForTakeNobodysPlace() throws Exception {
    // Of fewer one address would not have two at a time, before they are left.
    try (var server = atATime(3);
        var first = new RawClient(server);
        var second = new RawClient(server)) {
      for (var half : List.of(first, second)) {
        half.send(HALF.formatted("anybody"));
      }
      Await.until("both heard", () -> server.counts().requests() == 2);
      Await.until("served", () -> Http.get(server, "/live/value").statusCode() == 200);
      Await.until("done", () -> Http.post(server, "/commands/anybody", "{}").statusCode() == 204);
      first.impatient(Duration.ofMillis(1));
      assertThrows(SocketTimeoutException.class, first::status);
    }
  }

  @Test
  void aBodyThatHasComeTakesAPlaceAgain() throws Exception {
    try (var server = atATime(1);
        var client = new RawClient(server)) {
      client.send(HALF.formatted("hold"));
      Await.until("heard", () -> server.counts().requests() == 1);
      Await.until("served", () -> Http.get(server, "/live/value").statusCode() == 200);
      client.send("}" + " ".repeat(98));
      assertTrue(begun.await(20, TimeUnit.SECONDS));
      assertEquals(503, Http.get(server, "/live/value").statusCode());
      hold.countDown();
      assertEquals(204, client.status());
      Await.until("given back", () -> Http.get(server, "/live/value").statusCode() == 200);
    }
  }

  /** Seen: who had sent everything in time was told to be slow, as the server was busy. */
  @Test
  void theTimeInWhichABodyWaitsForAPlaceIsNotTheClients() throws Exception {
    // In which the client sends, however busy the machine is.
    var within = Duration.ofSeconds(5);
    try (var server = atATime(1, within);
        var client = new RawClient(server)) {
      // What is slow the first time shall not take the client's time.
      assertEquals(204, Http.post(server, "/commands/anybody", "{}").statusCode());
      assertEquals(200, Http.get(server, "/live/value").statusCode());
      client.send(HALF.formatted("anybody"));
      Await.until("heard", () -> server.counts().requests() == 3);
      Await.until("served", () -> Http.get(server, "/live/value").statusCode() == 200);
      long began = System.nanoTime();
      var holder =
          CompletableFuture.supplyAsync(
              () -> Http.post(server, "/commands/hold", "{}").statusCode());
      assertTrue(begun.await(20, TimeUnit.SECONDS));
      client.send("}" + " ".repeat(98));
      Await.until("too late", () -> System.nanoTime() - began > within.toNanos() * 3 / 2);
      hold.countDown();
      assertEquals(204, holder.join());
      assertEquals(204, client.status());
    }
  }

  /** Seen: each byte of a body woke who waited for it, for which it needed a place. */
  @Test
  void aBodyNeedsNoPlaceBeforeAllOfItHasCome() throws Exception {
    try (var server = atATime(1, Duration.ofMinutes(1), Duration.ofMillis(1));
        var client = new RawClient(server)) {
      client.send(HALF.formatted("anybody"));
      Await.until("heard", () -> server.counts().requests() == 1);
      Await.until("served", () -> Http.get(server, "/live/value").statusCode() == 200);
      var holder =
          CompletableFuture.supplyAsync(
              () -> Http.post(server, "/commands/hold", "{}").statusCode());
      assertTrue(begun.await(20, TimeUnit.SECONDS));
      client.send("}");
      client.impatient(Duration.ofMillis(100));
      assertThrows(SocketTimeoutException.class, client::status);
      client.impatient(Duration.ofSeconds(20));
      hold.countDown();
      assertEquals(204, holder.join());
      client.send(" ".repeat(98));
      assertEquals(204, client.status());
    }
  }

  /** The first byte is read when a connection is accepted, if it has come by then. */
  @Test
  void allOfARequestIsReadThoughSomeOfItCameBeforeItsConnectionWasAccepted() throws Exception {
    var server = start(WebSettings.DEFAULT);
    var request = RawClient.lines("GET /live/value HTTP/1.1", "Connection: close", "", "");
    // Some are accepted after they have sent, some before.
    for (int part : new int[] {request.length(), 1, 2}) {
      var clients = new ArrayList<RawClient>();
      for (int i = 0; i < 50; i++) {
        var client = new RawClient(server);
        clients.add(client);
        client.send(request.substring(0, part));
      }
      for (var client : clients) {
        client.send(request.substring(part));
      }
      for (var client : clients) {
        assertEquals(200, client.status());
        client.close();
      }
    }
    assertEquals(0, server.counts().malformed());
  }

  @Test
  void whoHasHungUpBeforeItsConnectionWasAcceptedLeavesNothing() throws Exception {
    var server = start(WebSettings.DEFAULT);
    for (int i = 0; i < 200; i++) {
      try (var socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
        socket.setSoLinger(i % 2 == 0, 0);
      }
    }
    assertEquals(200, Http.get(server, "/live/value").statusCode());
    // That of the client which has just asked is kept open.
    Await.until("closed", () -> server.counts().connections() <= 1);
  }

  /** Seen: a few slow views kept everybody out. */
  @Test
  void firstResultsThatAreWaitedForTakeNobodysPlace() throws Exception {
    try (var server = atATime(1);
        var client = new RawClient(server)) {
      client.send(RawClient.lines("GET /live/slow HTTP/1.1", "", ""));
      assertTrue(begun.await(20, TimeUnit.SECONDS));
      Await.until("served", () -> Http.get(server, "/live/value").statusCode() == 200);
      hold.countDown();
      assertEquals(200, client.status());
    }
  }

  /** A page waits for half a second; before it is answered its caller is looked up once more. */
  @Test
  void aPageThatWaitsForItsFirstResultsTakesNobodysPlace() throws Exception {
    try (var server = atATime(1)) {
      Await.until(
          "served while a page waits",
          () -> {
            int before = pages.get();
            var page = CompletableFuture.supplyAsync(() -> Http.get(server, "/page").statusCode());
            Await.until("page asked for", () -> pages.get() > before);
            Await.until("served", () -> Http.get(server, "/live/value").statusCode() == 200);
            boolean waits = pages.get() == before + 1;
            return page.join() == 200 && waits;
          });
    }
  }

  @Test
  void nothingIsReadForThoseWhoMayNotInAnyCase() throws Exception {
    try (var server = atATime(1);
        var stranger = new RawClient(server)) {
      stranger.send(HALF.formatted("somebody"));
      assertEquals(401, stranger.status());
      stranger.rest();
    }
  }

  @Test
  void healthIsToldWhenEveryPlaceIsTakenAndByAnyName() throws Exception {
    Files.writeString(folder.resolve("page.txt"), "a page");
    try (var server = atATime(1)) {
      var held =
          Thread.ofVirtual().name("held").start(() -> Http.post(server, "/commands/hold", "{}"));
      assertTrue(begun.await(20, TimeUnit.SECONDS));
      assertEquals(503, Http.get(server, "/live/value").statusCode());
      try (var probe = new RawClient(server)) {
        probe.send("GET /health HTTP/1.1\r\nHost: 10.0.0.7:8080\r\n\r\n");
        assertEquals(200, probe.status());
      }
      assertEquals(404, Http.get(server, "/no-file").statusCode());
      assertEquals("a page", Http.get(server, "/page.txt").body());
      hold.countDown();
      assertTrue(held.join(Duration.ofSeconds(20)));
    }
  }

  private WebServer atATime(int requests) {
    return atATime(requests, Duration.ofMinutes(1));
  }

  private WebServer atATime(int requests, Duration within) {
    return atATime(requests, within, Duration.ofMinutes(1));
  }

  private WebServer atATime(int requests, Duration within, Duration goOnWithin) {
    return WebServer.builder(new HandNode())
        .port(0)
        .behind(Proxies.xForwardedFor("127.0.0.1"))
        .goOnWithin(goOnWithin)
        .settings(
            WebSettings.DEFAULT
                .withMaxRequests(requests)
                .withRequestWithin(within)
                .withFirstResultWithin(Duration.ofMinutes(1)))
        .authenticator(
            request -> {
              if (request.path().equals("/page")) {
                pages.incrementAndGet();
              }
              return Caller.ANONYMOUS;
            })
        .view(
            LiveView.of(
                "value", LiveView.NoParams.class, Authorisation.everyone(), params -> () -> 1))
        .view(
            LiveView.of(
                "slow",
                LiveView.NoParams.class,
                Authorisation.everyone(),
                params ->
                    () -> {
                      begun.countDown();
                      hold.await();
                      return 1;
                    }))
        .page(
            "/page",
            "<head></head>",
            request -> List.of(new FirstResult("slow", new LiveView.NoParams())))
        .command("anybody", Wait.class, Authorisation.everyone(), (caller, c) -> {})
        .command("somebody", Wait.class, Authorisation.signedIn(), (caller, c) -> {})
        .command(
            "hold",
            Wait.class,
            Authorisation.everyone(),
            (caller, c) -> {
              begun.countDown();
              holding.incrementAndGet();
              hold.await();
            })
        .health("/health", Optional::empty)
        .staticFiles("/", folder)
        .start();
  }

  @Test
  void refusesRequestsThatAreTooLongOrNotHttp() throws Exception {
    record Case(String request, int status) {}
    var server = start(WebSettings.DEFAULT.withMaxHeaderBytes(2000));
    var cases =
        List.of(
            new Case("GET /" + "a".repeat(3000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
            new Case(
                "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + "a".repeat(3000) + "\r\n\r\n", 431),
            new Case("GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400),
            new Case("GET / HTTP/1.1\r\nHost: localhost\r\n X: folded\r\n\r\n", 400),
            new Case("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 426),
            new Case("GET  HTTP/9.9\r\n\r\n", 505),
            new Case("\u0000\u0001\u0002\r\n\r\n", 400),
            new Case("GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
            new Case("GET /a/..%2f..%2fetc HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
            new Case(
                RawClient.lines(
                    "POST /commands/wait HTTP/1.1",
                    "Content-Length: 5",
                    "Transfer-Encoding: chunked",
                    "",
                    "0",
                    "",
                    ""),
                400),
            new Case(
                "POST /commands/wait HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
                400));
    long counted = 0;
    for (var one : cases) {
      try (var client = new RawClient(server)) {
        sendMaybe(client, one.request());
        int status = client.status();
        assertTrue(status == one.status() || status == 400, one.request() + " gave " + status);
        client.rest();
      }
      assertEquals(++counted, server.counts().malformed(), one.request());
    }
    Await.until("all closed", () -> server.counts().connections() == 0);
  }

  private static void sendMaybe(RawClient client, String request) throws IOException {
    try {
      client.send(request);
    } catch (SocketException e) {
      // The server may have answered and closed before it heard everything.
    }
  }

  @Test
  void cutsWhoIsSlowToSendARequestEvenByteByByte() throws Exception {
    var server = start(WebSettings.DEFAULT.withRequestWithin(Duration.ofMillis(300)));
    try (var silent = new RawClient(server);
        var dripping = new RawClient(server)) {
      dripping.send("GET / HTTP/1.1\r\nHost: localhost\r\nX: ");
      var drip = drip(dripping, "a");
      assertEquals("", dripping.rest());
      assertEquals("", silent.rest());
      drip.join();
    }
    assertEquals(2, server.counts().cut().get("slow-request"));
  }

  @Test
  void refusesABodyThatDoesNotArriveInTime() throws Exception {
    var server = start(WebSettings.DEFAULT.withRequestWithin(Duration.ofMillis(300)));
    try (var client = new RawClient(server)) {
      client.send(HALF.formatted("wait"));
      assertEquals(408, client.status());
      client.rest();
    }
  }

  /** Each byte comes in time, all of them do not. */
  @Test
  void refusesABodyThatComesByteByByte() throws Exception {
    var server = start(WebSettings.DEFAULT.withRequestWithin(Duration.ofMillis(300)));
    try (var client = new RawClient(server)) {
      client.send(HALF.formatted("wait"));
      var dripping = drip(client, " ");
      // What still comes when the server has closed may take the answer away.
      Await.until("refused", () -> server.counts().refused().getOrDefault("slow-request", 0L) == 1);
      client.rest();
      dripping.join();
    }
  }

  /** Sends something now and then until it is cut off. */
  private static Thread drip(RawClient client, String drop) {
    return Thread.ofVirtual()
        .start(
            () -> {
              try {
                while (true) {
                  client.send(drop);
                  Thread.sleep(20);
                }
              } catch (IOException | InterruptedException e) {
                // Cut, as it should be.
              }
            });
  }

  @Test
  void refusesAnEndlessBodyWithoutReadingItAll() throws Exception {
    var server = start(WebSettings.DEFAULT.withMaxMessageBytes(1000));
    try (var client = new RawClient(server)) {
      client.send(
          RawClient.lines(
              "POST /commands/wait HTTP/1.1",
              "Content-Type: application/json",
              "Transfer-Encoding: chunked",
              "",
              ""));
      var endless =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      while (true) {
                        client.send("64\r\n" + " ".repeat(100) + "\r\n");
                      }
                    } catch (IOException e) {
                      // Cut, as it should be.
                    }
                  });
      assertEquals(413, client.status());
      client.rest();
      endless.join();
    }
  }
}
