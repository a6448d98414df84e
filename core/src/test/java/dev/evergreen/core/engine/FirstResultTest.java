package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.ActivationException;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.NoNewResultException;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.engine.TestGrains.Gate;
import dev.evergreen.core.engine.TestGrains.GateGrain;
import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.Message.Subscribe;
import dev.evergreen.core.spi.Message.SubscribeAnswer;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.SummaryKey;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How the first result of a summary reaches another node: with the answer to the subscription. */
@Timeout(60)
class FirstResultTest {

  private static final NodeId A = WiredNodes.id("a");
  private static final NodeId B = WiredNodes.id("b");

  private final WiredNodes wired = new WiredNodes(B);
  private final List<Message> sent = new CopyOnWriteArrayList<>();

  @AfterEach
  void stop() {
    wired.close();
  }

  /** Two nodes, of which the second hosts; nothing is renewed. */
  private NodeRuntime start() {
    return start(TestGrains.SOON);
  }

  private NodeRuntime start(Duration patience) {
    wired.wire = this::record;
    var settings =
        WiredNodes.quick()
            .withRenewEvery(Duration.ofHours(1))
            .withLeaseFor(Duration.ofHours(1))
            .withCacheGrace(Duration.ofHours(1))
            .withPushRetryAfter(patience);
    wired.start(B, settings);
    return wired.start(A, settings);
  }

  private void record(NodeId from, NodeId to, Message message) {
    sent.add(message);
    wired.deliver(from, to, message);
  }

  private static Cell cell(Node node, String key) {
    return node.grains().get(Cell.class, key);
  }

  private <M extends Message> List<M> sent(Class<M> type) {
    return sent.stream().filter(type::isInstance).map(type::cast).toList();
  }

  @Test
  void itTakesTwoMessages() {
    var a = start();
    try (var computation = a.reactive(() -> cell(a, "c").text())) {
      assertEquals("", computation.tracker().next(TestGrains.SOON));
      assertEquals(
          List.of(Subscribe.class, SubscribeAnswer.class),
          sent.stream().map(Message::getClass).toList());
    }
  }

  @Test
  void aFailureComesTheSameWayAndTheNextResultIsPushed() {
    var a = start();
    var cell = cell(a, "c");
    cell.set("!");
    try (var computation = a.reactive(cell::textOrThrow)) {
      var tracker = computation.tracker();
      assertThrows(IllegalStateException.class, () -> tracker.next(TestGrains.SOON));
      assertTrue(sent(Message.Push.class).isEmpty());
      cell.set("x");
      assertEquals("x", tracker.next(TestGrains.SOON));
      assertEquals(1, sent(Message.Push.class).size());
    }
  }

  @Test
  void oneThatTakesLongIsAskedForAgainAndIsNotInDoubtForThat() {
    var a = start(TestGrains.SHORTLY);
    GateGrain.shut();
    var gate = a.grains().get(Gate.class, "g");
    try (var computation = a.reactive(gate::readWhenOpen)) {
      var tracker = computation.tracker();
      assertThrows(NoNewResultException.class, () -> tracker.next(TestGrains.SHORTLY));
      WiredNodes.await(
          "an answer that does not wait",
          () -> sent(SubscribeAnswer.class).stream().anyMatch(m -> m.results().isEmpty()));
      GateGrain.open.countDown();
      tracker.next(TestGrains.SOON);
      assertEquals(Freshness.CURRENT, tracker.freshness());
    }
  }

  @Test
  void aLostAnswerIsMadeUpFor() {
    var a = start(TestGrains.SHORTLY);
    var lost = new AtomicBoolean();
    wired.wire =
        (from, to, message) -> {
          if (!(message instanceof SubscribeAnswer) || !lost.compareAndSet(false, true)) {
            record(from, to, message);
          }
        };
    try (var computation = a.reactive(() -> cell(a, "c").text())) {
      assertEquals("", computation.tracker().next(TestGrains.SOON));
      assertTrue(lost.get());
    }
  }

  /**
   * Found by the simulation: what a former subscription left under way hid that an answer was lost.
   */
  @Test
  void aLatePushDoesNotHideThatTheAnswerWasLost() {
    var a = start(TestGrains.SHORTLY);
    var lost = new AtomicBoolean();
    wired.wire =
        (from, to, message) -> {
          if (message instanceof SubscribeAnswer answer && lost.compareAndSet(false, true)) {
            var late = new ArrayList<Message.Update>();
            for (var u : answer.results()) {
              var older = new Message.Version(u.version().epoch(), u.version().sequence() - 1);
              late.add(
                  new Message.Update(
                      u.key(), 0, older, u.outcome(), u.depth(), true, false, u.trace()));
            }
            wired.deliver(from, to, new Message.Push(1_000, late));
          } else {
            record(from, to, message);
          }
        };
    try (var computation = a.reactive(() -> cell(a, "c").text())) {
      var tracker = computation.tracker();
      assertEquals("", tracker.next(TestGrains.SOON));
      assertTrue(lost.get());
      WiredNodes.await("the end of doubt", () -> tracker.freshness() == Freshness.CURRENT);
    }
  }

  @Test
  void thoseThatFoundNobodyAskTogether() {
    int cells = 500;
    var a = start();
    var refusals = new AtomicInteger();
    // Each finds nobody by itself, and then some times with others, while their delays grow.
    wired.connected = node -> !node.equals(B) || refusals.incrementAndGet() > cells + 20;
    try (var computation =
        a.reactive(
            () ->
                Parallel.map(numbers(cells), i -> cell(a, "c" + i).length()).stream()
                    .mapToInt(n -> n)
                    .sum())) {
      assertEquals(0, computation.tracker().next(TestGrains.SOON));
    }
    var asked = sent(Subscribe.class).stream().mapToInt(m -> m.subscriptions().size()).toArray();
    assertEquals(cells, Arrays.stream(asked).sum());
    assertTrue(asked.length < cells / 4, asked.length + " messages for " + cells);
  }

  @Test
  void largeOnesArePushed() {
    var a = start();
    var cell = cell(a, "c");
    var large = "x".repeat(NodeSettings.DEFAULT.maxBatchBytes() / 50);
    cell.set(large);
    try (var computation = a.reactive(cell::text)) {
      assertEquals(large, computation.tracker().next(TestGrains.SOON));
      assertEquals(1, sent(Message.Push.class).size());
    }
  }

  @Test
  void aPublisherThatAnswersAndFailsIsAskedLessAndLessOften() {
    var a = start();
    var cache = new Cache(a.caches, WiredNodes.key(a, Cell.class, "c", "text()"));
    var failure =
        new Cache.Update(
            cache.wish(B),
            new Message.Version(0, 0),
            Outcome.Threw.of(new ActivationException("not now")),
            0,
            false,
            true,
            null);
    assertEquals(0, cache.failedAttempt());
    cache.install(failure);
    cache.heard(cache.generation());
    assertEquals(1, cache.failedAttempt());
    assertTrue(cache.inDoubt());
    install(cache, 1);
    assertEquals(0, cache.failedAttempt());
    assertFalse(cache.inDoubt());
  }

  /** Its activation lives on, where somebody else was asked meanwhile. */
  @Test
  void aPublisherThatHasTheSameResultAfterAFailureEndsTheDoubt() {
    var a = start();
    var cache = new Cache(a.caches, WiredNodes.key(a, Cell.class, "c", "text()"));
    cache.wish(B);
    install(cache, 1);
    long failed = cache.wish(B);
    cache.install(Cache.Update.provisional(failed, new Outcome.NotStarted("not now", true)));
    assertFalse(cache.heard(failed));
    assertTrue(cache.inDoubt());
    assertTrue(cache.heard(cache.wish(B)));
    assertFalse(cache.inDoubt());
  }

  private static void install(Cache cache, long sequence) {
    install(cache, "", sequence);
  }

  private static Cache.Installed install(Cache cache, String text, long sequence) {
    return cache.install(update(cache.generation(), new Message.Version(1, sequence), text));
  }

  private static Cache.Update update(long wish, Message.Version version, String text) {
    return new Cache.Update(wish, version, new Outcome.Returned(text), 0, false, false, null);
  }

  /** What the later wishes were told is of what was held then. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whatAWishOvertookWhileItWasComparedIsTakenInDoubtIfThatIsNotAnswered(boolean answered) {
    var a = start();
    var cache = new Cache(a.caches, text(a));
    cache.wish(B);
    install(cache, "former", 1);
    var compared = update(cache.wish(B), new Message.Version(2, 1), "x");
    long later = cache.wish(B);
    if (answered) {
      cache.heard(later);
    }
    assertTrue(cache.install(compared).asksAgain());
    assertEquals(new Outcome.Returned(answered ? "former" : "x"), cache.present());
    assertFalse(cache.heard(later));
    assertEquals(!answered, cache.inDoubt());
    cache.heard(cache.wish(B));
    assertFalse(cache.inDoubt());
  }

  /** No result follows that would say so. */
  @Test
  void whoHasThePresentResultWhenItAsksForTheFirstIsToldThat() {
    var a = start();
    try (var computation = a.reactive(cell(a, "c")::text)) {
      assertEquals("", computation.tracker().next(TestGrains.SOON));
      var cache = Objects.requireNonNull(a.caches.get(text(a)));
      var wish = new Message.Subscription(text(a).wire(), cache.wish(B), cache.version());
      sent.clear();
      wired.deliver(A, B, new Subscribe(7, List.of(wish), true));
      var answer = new SubscribeAnswer(7, List.of(), List.of(), List.of(), 0);
      assertEquals(List.of(answer), sent);
    }
  }

  /** Does something else, once, when a cache is to be subscribed. */
  private static void insteadOfBegin(NodeRuntime node, Consumer<Cache> other) {
    var once = new AtomicBoolean(true);
    var asks = node.subscriptions;
    node.caches.connect(
        new Caches.Lines() {
          @Override
          public void begin(Cache cache) {
            if (once.getAndSet(false)) {
              other.accept(cache);
            } else {
              asks.begin(cache);
            }
          }

          @Override
          public void askAgain(Cache cache) {
            asks.askAgain(cache);
          }

          @Override
          public void end(List<Cache> caches) {
            asks.end(caches);
          }

          @Override
          public void unwanted(CallKey key, long wish) {
            asks.unwanted(key, wish);
          }
        });
  }

  /** Else nobody would be told of it, as it would be old when it comes again. */
  @Test
  void whatCannotBeToldIsNotInstalled() {
    var a = start();
    var cache = new Cache(a.caches, text(a));
    install(cache, 1);
    var edge = Objects.requireNonNull(cache.retain(WiredNodes.NOBODY));
    edge.readAs(
        (before, now) -> {
          throw new OutOfMemoryError("says the test");
        });
    assertThrows(OutOfMemoryError.class, () -> install(cache, "x", 2));
    assertEquals(new Message.Version(1, 1), cache.version());
    edge.readAs((before, now) -> false);
    assertEquals(List.of(WiredNodes.NOBODY), install(cache, "x", 2).outdated());
  }

  /** As where the stack ends that a recursion without an end has used up. */
  private static void end() {
    throw new StackOverflowError("says the test");
  }

  private static CallKey text(NodeRuntime node) {
    return WiredNodes.key(node, Cell.class, "c", "text()");
  }

  private static void failToRetain(NodeRuntime node) {
    assertThrows(StackOverflowError.class, () -> node.caches.retain(text(node), WiredNodes.NOBODY));
  }

  @Test
  void whatCouldNotBeAskedForIsAskedForByWhoReadsItNext() {
    var a = start();
    insteadOfBegin(a, cache -> end());
    failToRetain(a);
    assertEquals(0, a.caches.size());
    try (var computation = a.reactive(cell(a, "c")::text)) {
      assertEquals("", computation.tracker().next(TestGrains.SOON));
    }
  }

  @Test
  void whatCouldNotBeAskedForIsAskedForByWhoWaitsForItAlready() {
    var a = start();
    try (var computation = a.reactive(cell(a, "c")::text)) {
      var texts = computation.tracker();
      insteadOfBegin(
          a,
          cache -> {
            assertTrue(texts.poll(Duration.ZERO).isEmpty());
            WiredNodes.await("the other reader", () -> cache.readers() == 2);
            end();
          });
      failToRetain(a);
      assertEquals("", texts.next(TestGrains.SOON));
    }
  }

  @Test
  void whatCouldNotBeAskedForIsAskedForByWhoDoesNotWaitForItAnyMore() {
    var a = start();
    var hurried = a.grains().withTimeout(Duration.ofMillis(1)).get(Cell.class, "c");
    try (var computation = a.reactive(hurried::text)) {
      var texts = computation.tracker();
      var hasText = new AtomicBoolean(); // it is asked again, which a busy machine may see at once
      insteadOfBegin(
          a,
          cache -> {
            hasText.set(hasText(texts));
            end();
          });
      failToRetain(a);
      WiredNodes.await("its text", () -> hasText.get() || hasText(texts));
    }
  }

  private static boolean hasText(ResultTracker<String> texts) {
    try {
      return texts.next(TestGrains.SOON).isEmpty();
    } catch (GrainTimeoutException e) {
      return false; // as it is hurried
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whatCouldNotBeAskedForLeavesNoSubscription(boolean unnoticed) {
    var a = start();
    wired.hosts = grain -> A;
    insteadOfBegin(
        a,
        cache -> {
          a.subscriptions.begin(cache);
          if (unnoticed) {
            cache.close();
            a.caches.connect(a.subscriptions);
            a.caches.all().remove(cache); // and its end is told to nobody
          } else {
            end();
          }
        });
    if (unnoticed) {
      a.caches.retain(text(a), WiredNodes.NOBODY);
      cell(a, "c").set("x");
    } else {
      failToRetain(a);
    }
    WiredNodes.await("the end of its summary", () -> a.counts().summaries() == 0);
  }

  /** Where even that it could not ask could not be noticed, before it had a wish or after. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whatNobodyHasAskedForIsAskedForByWhoWaitsForLong(boolean hasWish) {
    wired.start(B, WiredNodes.quick());
    var a = wired.start(A, WiredNodes.quick().withCycleSuspicion(Duration.ofMillis(1)));
    insteadOfBegin(
        a,
        cache -> {
          if (hasWish) {
            cache.wish(B);
          }
        });
    try (var computation = a.reactive(cell(a, "c")::text)) {
      assertEquals("", computation.tracker().next(TestGrains.SOON));
    }
  }

  /** A grain that the other node knows and does not host. */
  interface Elsewhere extends Grain {
    @ReadOnly
    int value();
  }

  @Test
  void oneThatCannotBeHadDoesNotHinderOthersOfItsRequest() {
    wired.wire = this::record;
    var a = wired.start(A, WiredNodes.quick());
    var b = wired.start(B, WiredNodes.quick());
    b.grains().get(Elsewhere.class, "e"); // makes it known there
    var elsewhere = WiredNodes.key(a, Elsewhere.class, "e", "value()").wire();
    var text = WiredNodes.key(a, Cell.class, "c", "text()").wire();
    b.receive(
        A,
        new Subscribe(
            7,
            List.of(
                new Message.Subscription(elsewhere, 1, null),
                new Message.Subscription(text, 2, null)),
            false));
    WiredNodes.await(
        "the answer, the failure and the result",
        () ->
            sent(SubscribeAnswer.class).stream().anyMatch(m -> m.request() == 7)
                && updates().anyMatch(u -> u.key().equals(elsewhere) && u.provisional())
                && updates().anyMatch(u -> u.key().equals(text) && !u.provisional()));
  }

  @Test
  void aMalformedQuestionForReadsDoesNotHinderOthersOfItsRequest() {
    wired.wire = this::record;
    var a = wired.start(A, WiredNodes.quick());
    var b = wired.start(B, WiredNodes.quick());
    var text = WiredNodes.key(a, Cell.class, "c", "text()").wire();
    var reads = a.models.graph().readsOf(text).wire();
    var malformed = new SummaryKey(reads.grain(), reads.operation(), new byte[] {1});
    b.receive(
        A,
        new Subscribe(
            7,
            List.of(
                new Message.Subscription(malformed, 1, null),
                new Message.Subscription(text, 2, null)),
            false));
    WiredNodes.await(
        "the failure and the result",
        () ->
            updates().anyMatch(u -> u.key().equals(malformed) && u.provisional())
                && updates().anyMatch(u -> u.key().equals(text) && !u.provisional()));
  }

  private Stream<Message.Update> updates() {
    return sent(Message.Push.class).stream().flatMap(push -> push.updates().stream());
  }

  private static List<Integer> numbers(int count) {
    return IntStream.range(0, count).boxed().toList();
  }
}
