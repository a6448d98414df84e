package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.Freshness;
import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.live.HandNode;
import java.net.http.HttpRequest.BodyPublishers;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class ViewOverHttpTest {

  record ListParams(String user, Optional<Integer> limit, Optional<Instant> from) {}

  private final CountDownLatch asked = new CountDownLatch(1);
  private final CountDownLatch answers = new CountDownLatch(1);
  private volatile boolean signedOut;
  private volatile boolean withdrawn;

  /** What happens right after somebody was authenticated. */
  private volatile Runnable whenAuthenticated = () -> {};

  record Item(String text, Instant at, Optional<String> note) {}

  private final HandNode node = new HandNode();
  private volatile List<Item> items = List.of(new Item("one", Instant.EPOCH, Optional.empty()));
  private final AtomicInteger runs = new AtomicInteger();
  private final WebServer server =
      WebServer.builder(node)
          .port(0)
          .settings(
              WebSettings.DEFAULT
                  .withKeepViewFor(Duration.ofMillis(200))
                  .withMaxResultBytes(10_000))
          .authenticator(
              request ->
                  request
                      .header("X-User")
                      .filter(name -> !signedOut)
                      .map(Caller::named)
                      .orElse(Caller.ANONYMOUS))
          .view(
              LiveView.of(
                  "slow",
                  LiveView.NoParams.class,
                  (caller, none) -> {
                    boolean allowed = caller.signedIn() && !withdrawn;
                    whenAuthenticated.run();
                    return allowed;
                  },
                  none ->
                      () -> {
                        asked.countDown();
                        answers.await();
                        return "secret";
                      }))
          .view(
              LiveView.of(
                  "items",
                  ListParams.class,
                  Authorisation.everyone(),
                  params ->
                      () -> {
                        runs.incrementAndGet();
                        return items;
                      }))
          .view(
              LiveView.perCaller(
                  "me",
                  LiveView.NoParams.class,
                  Authorisation.signedIn(),
                  (caller, params) -> caller::name))
          .view(
              LiveView.of(
                  "admin", LiveView.NoParams.class, Authorisation.role("admin"), params -> () -> 1))
          .view(
              LiveView.of(
                  "failing",
                  Failing.class,
                  Authorisation.everyone(),
                  params ->
                      () -> {
                        throw switch (params.how()) {
                          case "known" -> new WebException(404, "no-such-user", "There is no bob.");
                          case "timeout" -> new GrainTimeoutException("User/secret-key.timeline");
                          default -> new IllegalStateException("password is 123");
                        };
                      }))
          .view(
              LiveView.of(
                  "large",
                  LiveView.NoParams.class,
                  Authorisation.everyone(),
                  params -> () -> "x".repeat(20_000)))
          .start();

  record Failing(String how) {}

  @AfterEach
  void close() {
    server.close();
  }

  @Test
  void answersWithThePresentResultAsJson() {
    var response = Http.get(server, "/live/items?user=alice");
    assertEquals(200, response.statusCode());
    assertEquals("application/json", Http.header(response, "Content-Type"));
    assertEquals("current", Http.header(response, "Evergreen-Freshness"));
    assertEquals(
        "[{\"text\":\"one\",\"at\":\"1970-01-01T00:00:00Z\",\"note\":null}]", response.body());
  }

  @Test
  void answers304ToWhoHasTheResultAlreadyAndTheNewOneAfterAChange() {
    var first = Http.get(server, "/live/items?user=alice");
    var etag = Http.header(first, "ETag");
    var again = Http.get(server, "/live/items?user=alice", "If-None-Match", "\"other\", " + etag);
    assertEquals(304, again.statusCode());
    assertEquals("", again.body());
    assertEquals(etag, Http.header(again, "ETag"));
    assertEquals(Http.header(first, "Content-Length"), Http.header(again, "Content-Length"));
    for (var lines :
        List.of(
            List.of("*"),
            List.of("W/" + etag),
            List.of("\"a\",W/\"b\"," + etag),
            List.of("\"other\"", etag))) {
      var request = Http.request(server, "/live/items?user=alice");
      lines.forEach(line -> request.header("If-None-Match", line));
      assertEquals(304, Http.send(request.build()).statusCode(), lines.toString());
    }

    items = List.of();
    node.changed();
    Await.until(
        "the new result",
        () ->
            Http.get(server, "/live/items?user=alice", "If-None-Match", etag).statusCode() == 200);
    var changed = Http.get(server, "/live/items?user=alice");
    assertEquals("[]", changed.body());
    assertNotEquals(etag, Http.header(changed, "ETag"));
  }

  @Test
  void answersHeadWithTheHeadersAlone() {
    var get = Http.get(server, "/live/items?user=alice");
    var head =
        Http.send(
            Http.request(server, "/live/items?user=alice")
                .method("HEAD", BodyPublishers.noBody())
                .build());
    assertEquals(200, head.statusCode());
    assertEquals(Http.header(get, "ETag"), Http.header(head, "ETag"));
    assertEquals("", head.body());
  }

  @Test
  void runsOneComputationForEqualParametersAndClosesItSomeTimeAfterTheLastReader() {
    for (int i = 0; i < 5; i++) {
      Http.get(server, "/live/items?user=alice&limit=3");
    }
    Http.get(server, "/live/items?limit=3&user=alice");
    assertEquals(1, runs.get());
    Http.get(server, "/live/items?limit=4&user=alice");
    assertEquals(2, runs.get());
    Await.until("computations closed", () -> node.running() == 0 && server.counts().views() == 0);
    Http.get(server, "/live/items?user=alice&limit=3");
    assertEquals(3, runs.get());
  }

  @Test
  void namesTheParameterThatIsWrong() {
    record Case(String query, String message) {}
    var cases =
        List.of(
            new Case("", "Field 'user' is missing; expected a string."),
            new Case("?user=a&limit=many", "Field 'limit' must be an integer in range."),
            new Case("?user=a&limit=1.5", "Field 'limit' must be an integer in range."),
            new Case("?user=a&limit=99999999999", "Field 'limit' must be an integer in range."),
            new Case("?user=a&limit=%221%22", "Field 'limit' must be an integer in range."),
            new Case("?user=a&limit=", "Field 'limit' must be an integer in range."),
            new Case("?user=a&from=noon", "Field 'from' must be a string of type Instant."),
            new Case("?user=a&from=1763737169", "Field 'from' must be a string of type Instant."),
            new Case("?user=a&user=b", "Field 'user' is given 2 times."),
            new Case("?user=a&colour=red", "Field 'colour' is unknown"));
    for (var one : cases) {
      var response = Http.get(server, "/live/items" + one.query());
      assertEquals(400, response.statusCode(), one.query() + ": " + response.body());
      assertEquals("application/problem+json", Http.header(response, "Content-Type"));
      assertEquals("bad-params", Http.json(response).path("type").asText());
      var detail = Http.json(response).path("detail").asText();
      assertTrue(detail.startsWith(one.message()), one.query() + ": " + detail);
    }
    assertEquals(cases.size(), server.counts().malformed());
    assertEquals(200, Http.get(server, "/live/items?user=12&limit=12").statusCode());
  }

  @Test
  void asksForASignInWhereOneIsNeededAndKeepsCallersApart() {
    assertEquals(401, Http.get(server, "/live/me").statusCode());
    assertEquals("\"ann\"", Http.get(server, "/live/me", "X-User", "ann").body());
    assertEquals("\"bob\"", Http.get(server, "/live/me", "X-User", "bob").body());
    assertEquals(403, Http.get(server, "/live/admin", "X-User", "bob").statusCode());
    assertEquals(1, server.counts().refused().get("forbidden"));
    assertEquals(1, server.counts().refused().get("unauthenticated"));
  }

  @Test
  void saysWhenThereIsNoResultInTimeAndHasItLater() {
    var ready = new CountDownLatch(1);
    try (var impatient =
        WebServer.builder(node)
            .port(0)
            .settings(WebSettings.DEFAULT.withFirstResultWithin(Duration.ofMillis(50)))
            .view(
                LiveView.of(
                    "slow",
                    LiveView.NoParams.class,
                    Authorisation.everyone(),
                    params ->
                        () -> {
                          ready.await();
                          return 1;
                        }))
            .start()) {
      assertEquals(504, Http.get(impatient, "/live/slow").statusCode());
      ready.countDown();
      Await.until("a result", () -> Http.get(impatient, "/live/slow").statusCode() == 200);
    }
  }

  @Test
  void tellsKnownFailuresAndNothingOfTheInsideOfOthers() {
    var known = Http.get(server, "/live/failing?how=known");
    assertEquals(404, known.statusCode());
    assertEquals("There is no bob.", Http.json(known).path("detail").asText());
    var timeout = Http.get(server, "/live/failing?how=timeout");
    assertEquals(504, timeout.statusCode());
    assertFalse(timeout.body().contains("secret"), timeout.body());
    var unknown = Http.get(server, "/live/failing?how=unknown");
    assertEquals(500, unknown.statusCode());
    assertFalse(unknown.body().contains("password"), unknown.body());
  }

  @Test
  void refusesAResultThatIsTooLarge() {
    var response = Http.get(server, "/live/large");
    assertEquals(500, response.statusCode());
    assertEquals("result-too-large", Http.json(response).path("type").asText());
  }

  @Test
  void saysThatAResultIsInDoubt() {
    node.freshness(Freshness.IN_DOUBT);
    assertEquals(
        "in-doubt", Http.header(Http.get(server, "/live/items?user=alice"), "Evergreen-Freshness"));
  }

  @Test
  void knowsOnlyWhatWasDeclared() {
    assertEquals(404, Http.get(server, "/live/nothing").statusCode());
    assertEquals(404, Http.get(server, "/live/items/more?user=a").statusCode());
    assertEquals(404, Http.get(server, "/").statusCode());
    var post = Http.post(server, "/live/items?user=a", "{}");
    assertEquals(405, post.statusCode());
    assertEquals("GET, HEAD", Http.header(post, "Allow"));
    var socket = Http.get(server, "/live");
    assertEquals(426, socket.statusCode());
  }

  private int slow(Runnable meanwhile) throws Exception {
    var answer = new CompletableFuture<Integer>();
    Thread.startVirtualThread(
        () -> answer.complete(Http.get(server, "/live/slow", "X-User", "ann").statusCode()));
    assertTrue(asked.await(20, TimeUnit.SECONDS));
    meanwhile.run();
    answers.countDown();
    return answer.get(20, TimeUnit.SECONDS);
  }

  @Test
  void whoSignsOutWhileTheFirstResultIsAwaitedDoesNotGetIt() throws Exception {
    assertEquals(401, slow(() -> signedOut = true));
  }

  /** Seen: nothing was awaited, so who asks was not looked at again. */
  @Test
  void whoSignsOutBeforeAResultThatIsThereIsSentDoesNotGetIt() throws Exception {
    answers.countDown();
    assertEquals(200, Http.get(server, "/live/slow", "X-User", "ann").statusCode());
    whenAuthenticated = () -> signedOut = true;
    assertEquals(401, Http.get(server, "/live/slow", "X-User", "ann").statusCode());
  }

  @Test
  void whoseRightIsWithdrawnWhileTheFirstResultIsAwaitedDoesNotGetIt() throws Exception {
    assertEquals(403, slow(() -> withdrawn = true));
  }
}
