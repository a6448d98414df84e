package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.assertNames;
import static dev.evergreen.core.engine.WiredNodes.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.Node;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.ValueTooLargeException;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.engine.TestGrains.Sum;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Links that refuse large messages: whoever waits for one learns of it at once. */
@Timeout(60)
class TooLargeMessagesTest {

  private static final NodeId A = WiredNodes.id("a");
  private static final NodeId B = WiredNodes.id("b");
  private static final int LIMIT = 2_000;
  private static final String LARGE = "x".repeat(LIMIT);

  private final AtomicInteger batches = new AtomicInteger();
  private final WiredNodes wired = new WiredNodes(B);
  private final NodeRuntime a = start(A);
  private final NodeRuntime b = start(B);

  private NodeRuntime start(NodeId self) {
    wired.wire =
        (from, to, message) -> {
          if (size(message) > LIMIT) {
            throw new IllegalArgumentException("a message of more than " + LIMIT + " bytes");
          }
          if (message instanceof Message.Subscribe subscribe
              && subscribe.subscriptions().size() > 1) {
            batches.incrementAndGet();
          }
          wired.deliver(from, to, message);
        };
    return wired.start(
        self, WiredNodes.quick().withMaxBatchBytes(500).withCallTimeout(Duration.ofHours(1)));
  }

  private static int size(Message message) {
    return switch (message) {
      case Message.Call call -> call.arguments().length;
      case Message.Reply reply -> size(reply.answer());
      case Message.Push push -> sizeOf(push.updates());
      case Message.SubscribeAnswer answer -> sizeOf(answer.results());
      case Message.Subscribe subscribe -> size(subscribe.subscriptions());
      case Message.Unsubscribe unsubscribe -> size(unsubscribe.subscriptions());
      default -> 0;
    };
  }

  private static int sizeOf(List<Message.Update> updates) {
    return updates.stream().mapToInt(update -> size(update.outcome())).sum();
  }

  private static int size(Message.Answer answer) {
    return switch (answer) {
      case Message.Answer.Returned(var value) -> value.length;
      case Message.Answer.Threw(var failure) -> String.valueOf(failure.message()).length();
      case Message.Answer.NotStarted notStarted -> 0;
    };
  }

  private static int size(List<Message.Subscription> subscriptions) {
    return subscriptions.stream().mapToInt(s -> s.key().arguments().length + 200).sum();
  }

  @AfterEach
  void stop() {
    wired.close();
  }

  private static Cell cell(Node node) {
    return node.grains().get(Cell.class, "c");
  }

  @Test
  void aCallWithTooLargeArgumentsFailsAtOnceAndSaysWhich() {
    var thrown = assertThrows(ValueTooLargeException.class, () -> cell(a).set(LARGE));
    assertNames(thrown, "Cell/c.set");
    assertNames(thrown, "arguments");
    assertEquals("", cell(a).text());
  }

  @Test
  void aCallWithATooLargeAnswerFailsAtOnce() {
    cell(b).set(LARGE);
    assertNames(assertThrows(ValueTooLargeException.class, () -> cell(a).text()), "answer");
    assertEquals(LIMIT, cell(a).length());
  }

  @Test
  void aComputationOfATooLargeResultEndsInAnErrorAndRecovers() {
    try (var computation = a.reactive(() -> cell(a).text());
        var tracker = computation.tracker()) {
      assertEquals("", tracker.next(TestGrains.SOON));
      cell(b).set(LARGE);
      var thrown = assertThrows(ValueTooLargeException.class, () -> tracker.next(TestGrains.SOON));
      assertNames(thrown, "text()");
      cell(b).set("small");
      assertEquals("small", tracker.next(TestGrains.SOON));
    }
  }

  @Test
  void aComputationWhoseFirstResultIsTooLargeEndsInAnErrorAndRecovers() {
    cell(b).set(LARGE);
    try (var computation = a.reactive(() -> cell(a).text());
        var tracker = computation.tracker()) {
      var thrown = assertThrows(ValueTooLargeException.class, () -> tracker.next(TestGrains.SOON));
      assertNames(thrown, "text()");
      cell(b).set("small");
      assertEquals("small", tracker.next(TestGrains.SOON));
    }
  }

  @Test
  void aComputationThatFailsWithALongMessageHoldsUpNoOther() {
    var bad = a.grains().get(Cell.class, "bad");
    try (var failing = a.reactive(bad::textOrThrow);
        var computation = a.reactive(() -> cell(a).text())) {
      var failures = failing.tracker();
      var results = computation.tracker();
      assertEquals("", failures.next(TestGrains.SOON));
      assertEquals("", results.next(TestGrains.SOON));
      b.grains().get(Cell.class, "bad").set("!" + LARGE);
      assertThrows(ValueTooLargeException.class, () -> failures.next(TestGrains.SOON));
      cell(b).set("small");
      assertEquals("small", results.next(TestGrains.SOON));
      b.grains().get(Cell.class, "bad").set("good");
      assertEquals("good", failures.next(TestGrains.SOON));
    }
  }

  @Test
  void resultsThatTogetherAreTooLargeForALinkAreSentInSmallerBatches() {
    int cells = 40;
    var settings = WiredNodes.quick().withMaxBatchBytes(1 << 20);
    var many = wired.start(WiredNodes.id("many"), settings);
    wired.hosts = grain -> many.peers.self();
    var text = "x".repeat(LIMIT / 10);
    try (var computation =
        a.reactive(
            () ->
                IntStream.range(0, cells)
                    .mapToObj(i -> a.grains().get(Sum.class, "s" + i).joined(List.of("one")))
                    .mapToInt(String::length)
                    .sum())) {
      var results = computation.tracker();
      assertEquals(0, results.next(TestGrains.SOON));
      var link = wired.wire;
      var lost = new AtomicBoolean();
      // Until its batch is sent again all other results come together.
      wired.wire =
          (from, to, message) -> {
            if (!(message instanceof Message.PushAck) || lost.getAndSet(true)) {
              link.send(from, to, message);
            }
          };
      many.grains().get(Cell.class, "one").set(text);
      await("all results", () -> results.next(TestGrains.SOON) == cells * text.length());
    }
  }

  @Test
  void aComputationWithTooLargeArgumentsEndsInAnError() {
    try (var computation = a.reactive(() -> a.grains().get(Sum.class, "s").joined(List.of(LARGE)));
        var tracker = computation.tracker()) {
      assertThrows(ValueTooLargeException.class, () -> tracker.next(TestGrains.SOON));
    }
  }

  @Test
  void subscriptionsThatAreTooManyForOneMessageGoAndEndInSeveral() {
    int cells = 30;
    var settings = WiredNodes.quick().withRenewEvery(Duration.ofMillis(50));
    var c = wired.start(WiredNodes.id("c"), settings);
    try (var computation =
        c.reactive(
            () ->
                IntStream.range(0, cells)
                    .map(i -> c.grains().get(Cell.class, "c" + i).length())
                    .sum())) {
      var tracker = computation.tracker();
      assertEquals(0, tracker.next(TestGrains.SOON));
      await("several renewals in one message", () -> batches.get() >= 3);
      b.grains().get(Cell.class, "c7").set("seven");
      assertEquals(5, tracker.next(TestGrains.SOON));
    }
    await("all subscriptions to end", () -> b.counts().subscriptions() == 0);
    assertEquals(List.of(), wired.escaped());
  }

  @Test
  void whoAskAgainTogetherInTooLargeAMessageAskInSmallerOnes() {
    var cells = IntStream.range(0, 30).mapToObj(i -> "c" + i).toList();
    var refused = new AtomicInteger();
    var link = wired.wire;
    wired.wire =
        (from, to, message) -> {
          if (message instanceof Message.Subscribe(var id, var subscriptions, var waits)
              && subscriptions.size() > LIMIT / 200) {
            refused.incrementAndGet();
          }
          link.send(from, to, message);
        };
    wired.connected = node -> false;
    try (var computation =
        a.reactive(() -> Parallel.map(cells, key -> a.grains().get(Cell.class, key).length()))) {
      var tracker = computation.tracker();
      assertEquals(Optional.empty(), tracker.poll(Duration.ZERO));
      await("all questions", () -> a.caches.size() == cells.size());
      wired.connected = node -> true;
      assertEquals(cells.size(), tracker.next(TestGrains.SOON).size());
    }
    assertTrue(refused.get() > 0);
  }
}
