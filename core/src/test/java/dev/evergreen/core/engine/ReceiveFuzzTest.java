package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.engine.TestGrains.Sum;
import dev.evergreen.core.spi.Failure;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeCounts;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.SummaryKey;
import dev.evergreen.core.spi.TraceContext;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What no honest node would send: {@link EngineNode#receive} lets no exception out, no thread of
 * the node dies of it, what it leaves behind is bounded, and the node goes on. Honest messages are
 * also repeated, held back and sent in another order. The seed is printed, and set by {@code
 * -Devergreen.fuzz.seed}; {@code -Devergreen.fuzz.messages} sets how many there are.
 */
@Timeout(300)
class ReceiveFuzzTest {

  private static final NodeId A = WiredNodes.id("a");
  private static final NodeId B = WiredNodes.id("b");
  private static final NodeId STRANGER = WiredNodes.id("stranger");
  private static final int MESSAGES = Integer.getInteger("evergreen.fuzz.messages", 20_000);
  private static final int LONG = 20_000;

  private final WiredNodes wired = new WiredNodes(B);
  private final NodeRuntime a = wired.start(A, settings());
  private final NodeRuntime b = wired.start(B, settings());
  private final List<Throwable> thrown = new CopyOnWriteArrayList<>();

  private static NodeSettings settings() {
    return WiredNodes.quick()
        .withCallTimeout(Duration.ofSeconds(3))
        .withIdleAfter(Duration.ofMillis(100))
        .withRenewEvery(Duration.ofMillis(200))
        .withLeaseFor(Duration.ofMillis(600))
        .withPushRetryAfter(Duration.ofMillis(100));
  }

  @AfterEach
  void stop() {
    wired.close();
  }

  private static Random random(String what) {
    long seed = Long.getLong("evergreen.fuzz.seed", ThreadLocalRandom.current().nextLong());
    System.out.println(what + ": seed " + seed);
    return new Random(seed);
  }

  private void receive(NodeRuntime node, NodeId from, Message message) {
    try {
      node.receive(from, message);
    } catch (Throwable t) {
      thrown.add(t);
    }
  }

  private void assertUnharmed() {
    assertEquals(List.of(), thrown);
    assertEquals(List.of(), wired.escaped());
    a.grains().get(Cell.class, "c").set("still here");
    assertEquals("still here", b.grains().get(Cell.class, "c").text());
    try (var computation = a.reactive(() -> a.grains().get(Cell.class, "c").text());
        var tracker = computation.tracker()) {
      assertEquals("still here", tracker.next(TestGrains.SOON));
      a.grains().get(Cell.class, "c").set("and pushing");
      assertEquals("and pushing", tracker.next(TestGrains.SOON));
    }
  }

  // Hostile messages

  @Test
  void hostileMessagesHarmNobody() {
    var random = random("hostile messages");
    wired.wire =
        (from, to, message) -> {
          if (!to.equals(STRANGER)) {
            wired.deliver(from, to, message);
          }
        };
    try (var computation = a.reactive(() -> a.grains().get(Cell.class, "watched").text())) {
      assertEquals("", computation.tracker().next(TestGrains.SOON));
      for (int i = 0; i < MESSAGES; i++) {
        var message = hostile(random);
        // Nobody calls in another's name: who does, ends the numbers of the other's calls.
        boolean aboutCalls = message instanceof Message.Call || message instanceof Message.Withdraw;
        boolean inItsName = aboutCalls || random.nextInt(4) != 0;
        receive(random.nextBoolean() ? a : b, inItsName ? STRANGER : A, message);
      }
    }
    assertUnharmed();
    WiredNodes.await(
        "all that was left behind to go, but there is " + a.counts() + " and " + b.counts(),
        () -> isEmpty(a.counts()) && isEmpty(b.counts()));
  }

  private static boolean isEmpty(NodeCounts counts) {
    return counts.equals(new NodeCounts(0, 0, 0, 0, 0, 0));
  }

  private Message hostile(Random random) {
    return switch (random.nextInt(14)) {
      case 0, 1 ->
          new Message.Call(
              number(random),
              number(random),
              grain(random),
              operation(random),
              bytes(random),
              random.nextBoolean(),
              chain(random),
              number(random),
              trace(random));
      case 2 -> new Message.Reply(number(random), answer(random), number(random));
      case 3 ->
          new Message.Subscribe(
              number(random), some(random, () -> subscription(random)), random.nextBoolean());
      case 4 -> {
        var notHere = some(random, () -> key(random));
        yield new Message.SubscribeAnswer(
            number(random),
            notHere,
            some(random, () -> update(random)),
            some(random, () -> key(random)),
            random.nextInt(notHere.size() + 1));
      }
      case 5 -> new Message.Unsubscribe(some(random, () -> subscription(random)));
      case 6 -> new Message.Push(number(random), some(random, () -> update(random)));
      case 7 -> new Message.PushAck(number(random));
      case 8 -> new Message.Moved(some(random, () -> key(random)));
      case 9 -> new Message.Hasten(number(random), number(random));
      case 10 -> new Message.Probe(number(random), some(random, () -> key(random)));
      case 11 -> new Message.Unreachable(some(random, () -> key(random)));
      case 12 -> new Message.Withdraw(number(random));
      default ->
          new Message.ProbeAnswer(
              number(random),
              some(
                  random,
                  () ->
                      new Message.Readers(
                          some(random, () -> new Message.Located(STRANGER, key(random))),
                          random.nextBoolean())));
    };
  }

  private static <T> List<T> some(Random random, Supplier<T> one) {
    return Stream.generate(one).limit(random.nextInt(5)).toList();
  }

  /** Numbers of messages in use, and absurd ones. */
  private static long number(Random random) {
    return switch (random.nextInt(8)) {
      case 0 -> Long.MAX_VALUE;
      case 1 -> Long.MIN_VALUE;
      case 2 -> -1;
      case 3 -> 0;
      case 4 -> random.nextLong();
      default -> random.nextInt(50);
    };
  }

  private static GrainId grain(Random random) {
    return switch (random.nextInt(6)) {
      case 0 -> new GrainId("Nothing", "x");
      case 1 -> new GrainId("", "");
      case 2 -> new GrainId("Sum", "s" + random.nextInt(3));
      default -> new GrainId("Cell", random.nextInt(3) == 0 ? "watched" : "f" + random.nextInt(9));
    };
  }

  private static String operation(Random random) {
    return switch (random.nextInt(8)) {
      case 0 -> "";
      case 1 -> "wait(long)";
      case 2 -> "set(java.lang.String)";
      case 3 -> "joined(java.util.List)";
      case 4 -> "selected(java.lang.String)";
      default -> "text()";
    };
  }

  private static byte[] bytes(Random random) {
    var bytes = new byte[random.nextInt(3) == 0 ? random.nextInt(60) : random.nextInt(2) * 4];
    if (random.nextBoolean()) {
      random.nextBytes(bytes);
    }
    return bytes;
  }

  private static SummaryKey key(Random random) {
    return new SummaryKey(grain(random), operation(random), bytes(random));
  }

  private static Message.Subscription subscription(Random random) {
    return new Message.Subscription(
        key(random),
        number(random),
        random.nextBoolean() ? null : new Message.Version(number(random), number(random)));
  }

  private static Message.Update update(Random random) {
    return new Message.Update(
        key(random),
        // Not those of the subscription in use: whoever may speak for a publisher may lie.
        -1 - random.nextInt(9),
        new Message.Version(-random.nextInt(9), number(random)),
        answer(random),
        random.nextInt(10),
        random.nextBoolean(),
        random.nextBoolean(),
        trace(random));
  }

  private static @Nullable TraceContext trace(Random random) {
    return random.nextBoolean() ? null : new TraceContext("00-" + random.nextLong(), "a=b");
  }

  private static Message.Answer answer(Random random) {
    return switch (random.nextInt(3)) {
      case 0 -> new Message.Answer.Returned(bytes(random));
      case 1 -> new Message.Answer.Threw(failure(random, random.nextInt(50) == 0 ? LONG : 3));
      default -> new Message.Answer.NotStarted("no", random.nextBoolean());
    };
  }

  private static Failure failure(Random random, int causes) {
    Failure failure = null;
    for (int i = 0; i < causes; i++) {
      var type =
          switch (random.nextInt(5)) {
            case 0 -> "java.lang.OutOfMemoryError";
            case 1 -> "java.lang.Class";
            case 2 -> "java.io.UncheckedIOException";
            case 3 -> "";
            default -> "java.lang.IllegalStateException";
          };
      failure = new Failure(type, i % 2 == 0 ? null : "m", failure, List.of());
    }
    return failure != null ? failure : new Failure("x", null, null, List.of());
  }

  private static List<Message.Hop> chain(Random random) {
    int length = random.nextInt(500) == 0 ? LONG : random.nextInt(3);
    return IntStream.range(0, length)
        .mapToObj(
            i ->
                new Message.Hop(
                    grain(random),
                    "x",
                    bytes(random),
                    random.nextBoolean(),
                    number(random),
                    number(random)))
        .toList();
  }

  // A caller that is lied to

  @Test
  void aFailureWithAnEndlessChainOfCausesIsAnExceptionLikeAnyOther() {
    var random = new Random(1);
    wired.wire =
        (from, to, message) -> {
          if (message instanceof Message.Call call) {
            receive(
                a,
                B,
                new Message.Reply(call.id(), new Message.Answer.Threw(failure(random, LONG)), 0));
          }
        };
    assertThrows(Exception.class, () -> a.grains().get(Cell.class, "c").textOrThrow());
    assertEquals(List.of(), thrown);
  }

  @Test
  void callsOfAnHonestNodeAreRememberedOnlyWhileTheyAreOpen() {
    for (int i = 0; i < 5_000; i++) {
      a.grains().get(Cell.class, "c").text();
    }
    assertTrue(b.calls.remembered() <= 2_048, () -> b.calls.remembered() + " are remembered");
  }

  // Honest messages on bad links

  @Test
  void repeatedLateAndReorderedMessagesLeaveResultsTrue() {
    var random = random("bad links");
    var held = new ConcurrentLinkedDeque<Runnable>();
    wired.wire =
        (from, to, message) -> {
          Runnable delivery = () -> receive(to.equals(A) ? a : b, from, message);
          delivery.run();
          synchronized (random) {
            if (random.nextInt(3) == 0) {
              held.add(delivery);
            }
          }
        };
    var cells = IntStream.range(0, 5).mapToObj(i -> "c" + i).toList();
    var sum = a.grains().get(Sum.class, "s");
    try (var computation = a.reactive(() -> sum.joined(cells));
        var tracker = computation.tracker()) {
      var late = new ArrayList<Runnable>();
      for (int i = 0; i < 500; i++) {
        a.grains().get(Cell.class, cells.get(i % cells.size())).set("t" + i);
        if (i % 50 == 49) {
          for (var delivery = held.poll(); delivery != null; delivery = held.poll()) {
            late.add(delivery);
          }
          Collections.shuffle(late, random);
          late.forEach(Runnable::run);
        }
      }
      var last = new String[] {""};
      WiredNodes.await(
          "the last result to be true",
          () -> {
            tracker.poll(Duration.ofMillis(50)).ifPresent(result -> last[0] = result.get());
            return last[0].equals("t495,t496,t497,t498,t499");
          });
      assertEquals("t495,t496,t497,t498,t499", sum.joined(cells));
    }
    assertUnharmed();
  }
}
