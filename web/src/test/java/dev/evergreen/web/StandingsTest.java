package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.evergreen.core.Computation;
import dev.evergreen.core.Freshness;
import dev.evergreen.live.HandNode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.websocket.core.CoreSession;
import org.eclipse.jetty.websocket.core.Frame;
import org.eclipse.jetty.websocket.core.OpCode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A live connection ends with its caller's standing by itself: without the watchdog, which would
 * find it a while later and hide whatever is missed here.
 */
final class StandingsTest {

  private static final Caller ADA = Caller.named("ada");

  private final HandNode node = new HandNode();
  private final Counters counters = new Counters();
  private final LiveView<LiveView.NoParams> view =
      LiveView.of("value", LiveView.NoParams.class, Authorisation.everyone(), params -> () -> 1);
  private final Hub hub =
      new Hub(
          node,
          Map.of(view.name(), view),
          WebSettings.DEFAULT,
          new Failures(failure -> Optional.empty()));

  /** Who the caller is as of now; callers with a session are not followed. */
  private volatile Caller present = ADA;

  private volatile Computation<Caller> now = () -> present;

  private final AtomicReference<Double> random = new AtomicReference<>(1.0);

  private final Standings standings = standings(WebSettings.DEFAULT);

  private Standings standings(WebSettings settings) {
    return new Standings(node, new Following(), settings, () -> random.getAndSet(0.0));
  }

  private final class Following implements Authenticator {
    @Override
    public Caller authenticate(Request request) {
      return present;
    }

    @Override
    public Optional<Computation<Caller>> standing(Caller caller) {
      return caller.session().isPresent() ? Optional.empty() : Optional.of(now);
    }
  }

  @AfterEach
  void close() {
    hub.close();
    node.close();
  }

  private RecordedConnection connection(Caller caller) {
    return connection(caller, standings);
  }

  private RecordedConnection connection(Caller caller, Standings where) {
    return new RecordedConnection(caller, counters, hub, where, () -> {});
  }

  private Standings.Standing enterAda() {
    return standings.enter(ADA, standings.of(ADA));
  }

  /** Somebody else; then the caller is not followed any more. */
  private void becomes(Caller caller) {
    Await.until("followed", () -> node.running() > 0);
    present = caller;
    node.changed();
  }

  private static void assertToldToComeBack(RecordedConnection connection)
      throws InterruptedException {
    var said = String.valueOf(connection.control.poll(20, TimeUnit.SECONDS));
    assertTrue(said.contains("disconnected"), said);
  }

  private static Caller withSession(Instant until) {
    return new Caller("ada", Set.of(), Optional.of(new Caller.Session("id", Instant.EPOCH, until)));
  }

  @Test
  void allConnectionsOfACallerWhoIsSomebodyElseByNowAreToldOnce() throws Exception {
    var connections = List.of(connection(ADA), connection(ADA));
    connections.forEach(LiveConnection::begin);
    becomes(Caller.ANONYMOUS);
    for (var connection : connections) {
      assertToldToComeBack(connection);
    }
    for (var connection : connections) {
      assertTrue(connection.callerIsOver());
      connection.close();
      assertEquals(List.of(), List.copyOf(connection.control));
    }
    assertEquals(0, standings.size());
    Await.until("nothing followed", () -> node.running() == 0);
  }

  private static final Duration DOUBT = Duration.ofMillis(100);

  /** Seen: it went on for ever while nobody could tell whether its session was ended. */
  @Test
  void whoCannotBeFoundOutAboutComesBackAfterAWhile() throws Exception {
    var connection = connection(ADA, standings(WebSettings.DEFAULT.withCallerDoubtFor(DOUBT)));
    connection.begin();
    long begun = System.nanoTime();
    Await.until("a while", () -> System.nanoTime() - begun > 3 * DOUBT.toNanos());
    assertEquals(List.of(), List.copyOf(connection.control), "it was known");
    long since = System.nanoTime();
    node.freshness(Freshness.IN_DOUBT);
    assertToldToComeBack(connection);
    assertTrue(System.nanoTime() - since >= DOUBT.toNanos() * 3 / 4, "it was given no time");
    connection.close();
  }

  /** Seen: thousands of callers came back in the same half second. */
  @Test
  void thoseWhoAreInDoubtTogetherComeBackOneAfterTheOther() throws Exception {
    var doubtful = standings(WebSettings.DEFAULT.withCallerDoubtFor(DOUBT));
    now =
        () -> {
          throw new IllegalStateException("not reached");
        };
    random.set(1e9);
    var later = connection(ADA, doubtful);
    later.begin();
    Await.until("followed", () -> Double.valueOf(0).equals(random.get()));
    var first = connection(Caller.named("bob"), doubtful);
    first.begin();
    var said = String.valueOf(first.control.poll(20, TimeUnit.SECONDS));
    assertTrue(said.contains("\"retryAfter\":1000"), said);
    assertEquals(List.of(), List.copyOf(later.control));
    List.of(first, later).forEach(LiveConnection::close);
  }

  /** Seen: nobody followed the caller any more, and its connections went on for ever. */
  @Test
  void whoIsFollowedNoMoreComesBack() throws Exception {
    var connection = connection(ADA);
    connection.begin();
    Await.until("followed", () -> node.running() > 0);
    node.close();
    assertToldToComeBack(connection);
    connection.close();
  }

  /** However often that fails, and differently each time. */
  @Test
  void whoseStandingFailsComesBackAfterAWhile() {
    now =
        () -> {
          throw new IllegalStateException("not reached");
        };
    var connection = connection(ADA, standings(WebSettings.DEFAULT.withCallerDoubtFor(DOUBT)));
    connection.begin();
    Await.until(
        "told",
        () -> {
          node.changed();
          return !connection.control.isEmpty();
        });
    connection.close();
  }

  @Test
  void oneThatBeginsToWatchAfterTheLossIsToldAsWell() throws Exception {
    var standing = enterAda();
    becomes(Caller.ANONYMOUS);
    Await.until("lost", standing::isOver);
    var late = connection(ADA);
    standing.watch(late);
    assertToldToComeBack(late);
  }

  /** While another connection of the lost standing is still about to end. */
  @Test
  void whoComesBackAsTheSameIsFollowedAnew() {
    var lost = enterAda();
    becomes(Caller.ANONYMOUS);
    Await.until("lost", lost::isOver);
    present = ADA;
    var again = enterAda();
    assertNotSame(lost, again);
    assertFalse(again.isOver());
  }

  private record Broken(boolean byError) implements Authenticator {
    @Override
    public Caller authenticate(Request request) {
      return ADA;
    }

    @Override
    public Optional<Computation<Caller>> standing(Caller caller) {
      if (byError) {
        throw new StackOverflowError();
      }
      throw new IllegalStateException("out of order");
    }
  }

  /** Seen: it stayed among the live ones for ever. */
  @Test
  void aConnectionWhoseCallerCannotBeFollowedIsRefused() throws Exception {
    try (var server =
        WebServer.builder(node).port(0).authenticator(new Broken(false)).view(view).start()) {
      var stream =
          "GET /live/value HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";
      for (var request : List.of(RawClient.UPGRADE, stream)) {
        try (var client = new RawClient(server)) {
          client.send(request);
          assertEquals(500, client.status());
        }
      }
      assertEquals(0, server.counts().liveConnections());
      assertEquals(2, server.counts().refused().get("failed"));
    }
  }

  /** Seen: the view stayed in use for ever, and so did its place. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aStreamWhoseCallerCannotBeFollowedGivesItsViewBack(boolean byError) throws Exception {
    var settings = WebSettings.DEFAULT.withKeepViewFor(Duration.ofNanos(1));
    try (var server =
            WebServer.builder(node)
                .port(0)
                .settings(settings)
                .authenticator(new Broken(byError))
                .view(view)
                .start();
        var client = new RawClient(server)) {
      client.send(RawClient.lines("GET /live/value HTTP/1.1", "Accept: text/event-stream", "", ""));
      assertEquals(500, client.status());
      Await.until("given back", () -> server.counts().views() == 0);
    }
  }

  /** What an authenticator gives that breaks its contract: not even an empty one. */
  @SuppressWarnings("NullAway") // The contract is what is broken here.
  private static Optional<Computation<Caller>> nothing() {
    return null;
  }

  /** Seen: the view stayed in use for ever, and so did its place. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void nothingIsLeftOfAConnectionThatCannotBegin(boolean socket) throws Exception {
    var settings = WebSettings.DEFAULT.withKeepViewFor(Duration.ofNanos(1));
    var authenticator =
        new Authenticator() {
          @Override
          public Caller authenticate(Request request) {
            return ADA;
          }

          @Override
          public Optional<Computation<Caller>> standing(Caller caller) {
            return nothing();
          }
        };
    try (var server =
            WebServer.builder(node)
                .port(0)
                .settings(settings)
                .authenticator(authenticator)
                .view(view)
                .start();
        var client = new RawClient(server)) {
      client.send(
          socket
              ? RawClient.UPGRADE
              : RawClient.lines("GET /live/value HTTP/1.1", "Accept: text/event-stream", "", ""));
      client.rest();
      Await.until("given back", () -> server.counts().views() == 0);
      Await.until("gone", () -> server.counts().liveConnections() == 0);
    }
  }

  @Test
  void nothingIsLeftOfAStandingThatCannotBeFollowed() {
    assertThrows(NullPointerException.class, () -> standings.enter(ADA, nothing()));
    assertEquals(0, standings.size());
  }

  @Test
  void nothingIsFollowedForAConnectionThatEndsBeforeItBegins() {
    var connection = connection(ADA);
    connection.close();
    connection.begin();
    assertEquals(0, standings.size());
    Await.until("nothing followed", () -> node.running() == 0);
  }

  /** Seen: a connection left twice, and nobody followed the caller of the other any more. */
  @Test
  void theCallerIsFollowedForTheOtherConnectionWhenOneEndsAsItBegins() throws Exception {
    var stays = connection(ADA);
    stays.begin();
    var ends = connection(ADA);
    ends.whenAskedForSubscriptions(ends::begin);
    ends.close();
    assertEquals(1, standings.size());
    becomes(Caller.ANONYMOUS);
    assertToldToComeBack(stays);
    stays.close();
    assertEquals(0, standings.size());
  }

  @Test
  void noResultIsDeliveredAfterTheTimeOfTheSession() throws Exception {
    var connection = connection(withSession(Instant.now()));
    connection.begin();
    connection.watch(hub.acquire(view, ADA, "an address", JsonNodeFactory.instance.objectNode()));
    assertToldToComeBack(connection);
    connection.close();
    assertEquals(List.of(), List.copyOf(connection.results));
  }

  /** However long it takes to look at the rights, or until a result may be sent. */
  @Test
  void noResultIsDeliveredToWhoSignsOutWhileTheRightsAreLookedAt() throws Exception {
    var standing = enterAda();
    var asked = new AtomicInteger();
    Authorisation<LiveView.NoParams> slow =
        (caller, params) -> {
          if (asked.incrementAndGet() == 2) {
            becomes(Caller.ANONYMOUS);
            Await.until("lost", standing::isOver);
          }
          return true;
        };
    var slowly = LiveView.of("value", LiveView.NoParams.class, slow, params -> () -> 1);
    var connection = connection(ADA);
    connection.begin();
    connection.watch(hub.acquire(slowly, ADA, "an address", JsonNodeFactory.instance.objectNode()));
    assertToldToComeBack(connection);
    connection.close();
    assertEquals(2, asked.get());
    assertEquals(List.of(), List.copyOf(connection.results));
  }

  @Test
  void whoWasAuthenticatedBeforeCallersWereDisconnectedIsToldToComeBack() throws Exception {
    var connection = connection(ADA);
    connection.onlyIf(() -> false);
    connection.begin();
    assertToldToComeBack(connection);
    connection.close();
  }

  @Test
  void nothingIsSubscribedToAfterTheTimeOfTheSession() {
    var socket =
        new LiveSocket(
            withSession(Instant.now()),
            "an address",
            false,
            WebSettings.DEFAULT,
            counters,
            hub,
            standings,
            ConcurrentHashMap.newKeySet());
    socket.onOpen(new CoreSession.Empty(), Callback.NOOP);
    var subscribe = "{\"type\":\"subscribe\",\"id\":1,\"view\":\"value\"}";
    socket.onFrame(new Frame(OpCode.TEXT, StandardCharsets.UTF_8.encode(subscribe)), Callback.NOOP);
    assertEquals(0, hub.size());
    socket.close();
  }
}
