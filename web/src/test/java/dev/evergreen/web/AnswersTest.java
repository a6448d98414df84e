package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Pace;
import dev.evergreen.live.HandNode;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** How many bytes of answers may wait for clients that are slow to take them. */
final class AnswersTest {

  /** More than the system takes for a client that does not read. */
  private static final int LARGE = 8 << 20;

  record Nothing() {}

  private final HandNode node = new HandNode();
  private final String large = "x".repeat(LARGE);
  private final AtomicInteger done = new AtomicInteger();

  private WebServer start(WebSettings settings) {
    return WebServer.builder(node)
        .port(0)
        .settings(settings.withMaxResultBytes(2 * LARGE))
        .view(
            LiveView.of(
                "large", LiveView.NoParams.class, Authorisation.everyone(), none -> () -> large))
        .route("GET", "/large", request -> Reply.text(large))
        .route(
            "POST",
            "/order",
            request -> {
              done.incrementAndGet();
              return Reply.text("y".repeat(100));
            })
        .health("/health", Optional::empty)
        .route("GET", "/small", request -> Reply.text("small"))
        .command(
            "count",
            Nothing.class,
            Authorisation.everyone(),
            (caller, nothing) -> done.incrementAndGet())
        .start();
  }

  @AfterEach
  void close() {
    node.close();
  }

  /** A client that asks for something large, and takes no more than its head. */
  private static RawClient ask(WebServer server, String path) throws IOException {
    var client = new RawClient(server, 4096);
    client.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assertEquals(200, client.status());
    return client;
  }

  @Test
  void anAddressHasAShareOfWhatWaitsToBeTaken() throws Exception {
    try (var server = start(WebSettings.DEFAULT.withMaxAnswerBytesPerAddress(5 * LARGE / 2));
        var _ = ask(server, "/large")) {
      try (var _ = ask(server, "/live/large")) {
        for (var path : List.of("/large", "/live/large")) {
          var refused = Http.get(server, path);
          assertEquals(429, refused.statusCode());
          assertEquals("too-many-bytes", Http.json(refused).path("type").asText());
          assertEquals(200, Http.send(Http.request(server, path).HEAD().build()).statusCode());
        }
        assertEquals(200, Http.get(server, "/small").statusCode());
      }
      Await.until("room", () -> Http.get(server, "/large").statusCode() == 200);
    }
  }

  @Test
  void allTogetherHaveABudget() throws Exception {
    try (var server = start(WebSettings.DEFAULT.withMaxAnswerBytes(3 * LARGE / 2))) {
      try (var _ = ask(server, "/large")) {
        assertEquals(503, Http.get(server, "/large").statusCode());
      }
      Await.until("room", () -> Http.get(server, "/large").statusCode() == 200);
    }
  }

  /** What is refused with that type may be asked for again by those who know the type. */
  @Test
  void aCommandWhoseAnswerMayHaveNoRoomIsRefusedBeforeItIsDone() throws Exception {
    try (var server = start(WebSettings.DEFAULT.withMaxAnswerBytesPerAddress(LARGE))) {
      try (var _ = ask(server, "/large")) {
        var refused = Http.post(server, "/commands/count", "{}");
        assertEquals(503, refused.statusCode());
        assertEquals("too-many-requests", Http.json(refused).path("type").asText());
        assertEquals(0, done.get());
        assertEquals(200, Http.get(server, "/health").statusCode());
      }
      Await.until("room", () -> Http.post(server, "/commands/count", "{}").statusCode() == 204);
      assertEquals(1, done.get());
    }
  }

  /** Else it would be asked for again, and done twice. */
  @Test
  void whatHasBeenDoneIsAnsweredThoughThereIsHardlyRoom() throws Exception {
    for (var settings :
        List.of(
            WebSettings.DEFAULT.withMaxAnswerBytesPerAddress(LARGE + 50),
            WebSettings.DEFAULT.withMaxAnswerBytes(LARGE + 50))) {
      done.set(0);
      try (var server = start(settings);
          var _ = ask(server, "/large")) {
        assertEquals(200, Http.post(server, "/order", "{}").statusCode());
        assertEquals(1, done.get());
      }
    }
  }

  @Test
  void whoHasSignedInHasAShareToo() {
    var answers = answers(WebSettings.DEFAULT.withMaxAnswerBytesPerAddress(10));
    var ada = Caller.named("ada");
    var here = ada.payers("here");
    answers.hold(here, 6);
    assertThrows(WebException.class, () -> answers.hold(ada.payers("there"), 5));
    answers.hold(Caller.ANONYMOUS.payers("there"), 5);
    answers.hold(Caller.named("bob").payers("there"), 5);
    assertEquals(16, answers.bytes());
    answers.giveBack(here, 6);
    answers.hold(ada.payers("elsewhere"), 10);
    assertThrows(WebException.class, () -> answers.checkRoom(ada.payers("here")));
  }

  @Test
  void aSingleAnswerMayBeLargerThanAShare() {
    var answers =
        answers(WebSettings.DEFAULT.withMaxAnswerBytes(10).withMaxAnswerBytesPerAddress(10));
    var here = Caller.ANONYMOUS.payers("here");
    answers.hold(here, 100);
    assertThrows(WebException.class, () -> answers.hold(here, 1));
    answers.giveBack(here, 100);
    answers.checkRoom(here);
    assertEquals(0, answers.bytes());
  }

  private final Counters counters = new Counters();

  private Answers answers(WebSettings settings) {
    return new Answers(settings, counters);
  }

  /** Seen: who took nothing kept its place for the whole time until it was cut for that. */
  @Test
  void whoTakesNothingMakesRoomForOthersBeforeItIsCutInAnyCase() throws Exception {
    var settings =
        WebSettings.DEFAULT
            .withMaxAnswerBytes(3 * LARGE / 2)
            .withStallAfter(Duration.ofSeconds(10));
    try (var server = start(settings);
        var _ = ask(server, "/large")) {
      for (var path : List.of("/large", "/live/large")) {
        Await.until("room", () -> Http.get(server, path).statusCode() == 200);
      }
      assertEquals(Map.of("slowest", 1L), server.counts().cut());
    }
  }

  private static final int TAKES_NONE = 0;
  private static final int TAKES_LITTLE = 1;
  private static final int TAKES_MUCH = 2;
  private static final int NOT_WAITED_FOR = 3;

  @Test
  void theSlowestPayAndNobodyElse() {
    var answers =
        answers(WebSettings.DEFAULT.withMaxAnswerBytes(10).withStallAfter(Duration.ofMillis(50)));
    var gone = new ArrayList<Integer>();
    var here = Caller.ANONYMOUS.payers("here");
    IntFunction<Pace> held =
        number -> {
          var pace = new Pace();
          answers.hold(here, 2);
          answers.takenBy(
              pace,
              () -> {
                gone.add(number);
                answers.giveBack(here, 2);
              });
          return pace;
        };
    var takesNone = held.apply(TAKES_NONE);
    var takesLittle = held.apply(TAKES_LITTLE);
    var takesMuch = held.apply(TAKES_MUCH);
    var _ = held.apply(NOT_WAITED_FOR);
    assertThrows(WebException.class, () -> answers.hold(here, 3));
    assertEquals(List.of(), gone, "nobody is waited for");
    takesNone.waits();
    takesLittle.waits();
    takesLittle.moved(1);
    takesMuch.waits();
    takesMuch.moved(1 << 20);
    Await.until("room", () -> holds(answers, here, 3));
    assertEquals(TAKES_NONE, gone.getFirst());
    assertTrue(Set.of(TAKES_NONE, TAKES_LITTLE).containsAll(gone), gone.toString());
    assertEquals(Map.of("slowest", (long) gone.size()), counters.cut());
    assertEquals(11 - 2 * gone.size(), answers.bytes());
  }

  private static boolean holds(Answers answers, List<Object> payers, int length) {
    try {
      answers.hold(payers, length);
      return true;
    } catch (WebException e) {
      return false;
    }
  }
}
