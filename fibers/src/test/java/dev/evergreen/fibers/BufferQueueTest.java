package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.BufferQueue.Need;
import dev.evergreen.fibers.BufferQueue.Turn;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Many orders of what can happen to those that wait for buffers, beside a model of a few lines. */
class BufferQueueTest {
  private static final int SEEDS = Integer.getInteger("evergreen.fibers.seeds", 500);
  private static final int STEPS = 300;
  private static final List<Need> NEEDS = List.of(Need.values());

  /** So many that some are left for each need. */
  private static final int MOST = 40;

  private final BufferStock stock = stock(() -> ByteBuffer.allocate(1));
  private final BufferQueue queue = new BufferQueue(stock, 12, () -> false);
  private final List<ByteBuffer> holding = new ArrayList<>();
  private final NavigableMap<Need, List<Turn>> lines = new TreeMap<>();
  private int limit;
  private int mostHeld;

  private static BufferStock stock(Supplier<ByteBuffer> make) {
    return new BufferStock(make, Integer.MAX_VALUE, _ -> {});
  }

  @Test
  void whoComesFirstIsGivenTheFirst() {
    for (int seed = 0; seed < SEEDS; seed++) {
      var test = new BufferQueueTest();
      var random = new Random(seed);
      test.limit(1 + random.nextInt(MOST));
      for (int step = 0; step < STEPS; step++) {
        test.step(random);
        test.check("seed " + seed + ", step " + step);
      }
    }
  }

  private void limit(int most) {
    limit = most;
    queue.limit(most);
    queue.make();
  }

  private void step(Random random) {
    var need = NEEDS.get(random.nextInt(NEEDS.size()));
    switch (random.nextInt(9)) {
      case 0, 1, 2, 3 -> come(random.nextInt(3) == 0 ? need : Need.BEGIN, random.nextInt(3));
      case 4, 5, 6 -> {
        if (!holding.isEmpty()) {
          queue.give(holding.remove(random.nextInt(holding.size())));
        }
      }
      case 7 -> {
        var some = line(need);
        if (!some.isEmpty()) {
          assertNull(queue.leave(some.remove(random.nextInt(some.size()))));
        }
      }
      default -> {
        if (random.nextInt(10) == 0) {
          limit(1 + random.nextInt(MOST));
        }
      }
    }
  }

  private void come(Need need, int how) {
    boolean plenty = waiting() == 0 && holding.size() < most(Need.BEGIN);
    boolean first = lines.tailMap(need).values().stream().allMatch(List::isEmpty);
    boolean lies = stock.made() > holding.size();
    var taken =
        switch (how) {
          case 0 -> queue.takeOfPlenty();
          case 1 -> queue.takeAtOnce(need);
          default -> null;
        };
    boolean may = how == 0 ? plenty : how == 1 && first && lies && holding.size() < most(need);
    assertEquals(may, taken != null);
    if (taken != null) {
      holding.add(taken);
    } else {
      var turn = new Turn(need, null);
      line(need).add(turn);
      enter(queue, turn);
    }
  }

  private List<Turn> line(Need need) {
    return lines.computeIfAbsent(need, _ -> new ArrayList<>());
  }

  private int waiting() {
    return lines.values().stream().mapToInt(List::size).sum();
  }

  /** How many may be used when one more is taken. */
  private int most(Need need) {
    return switch (need) {
      case BEGIN -> limit - limit / 4;
      case WRITE -> limit - limit / 8;
      case DECRYPT -> limit - limit / 16;
      case END -> limit;
    };
  }

  private static void enter(BufferQueue queue, Turn turn) {
    queue.enter(turn);
    queue.make();
  }

  private static ByteBuffer buffer(Turn turn) {
    return Objects.requireNonNull(turn.given());
  }

  /** All that can be given has been, to the first of each line, the latest line first. */
  private void check(String when) {
    for (var line : lines.descendingMap().entrySet()) {
      expect(line.getValue(), most(line.getKey()), when);
      if (!line.getValue().isEmpty()) {
        break;
      }
    }
    lines.values().forEach(line -> line.forEach(turn -> assertNull(turn.given(), when)));
    assertEquals(waiting(), queue.waiting(), when);
    assertEquals(holding.size(), stock.used(), when);
    assertEquals(waiting() > 0 || holding.size() >= most(Need.BEGIN), queue.isShort(), when);
    mostHeld = Math.max(mostHeld, holding.size());
    assertEquals(mostHeld, stock.made(), when);
    for (int i = 1; i < holding.size(); i++) {
      for (int j = 0; j < i; j++) {
        assertNotSame(holding.get(i), holding.get(j), when);
      }
    }
  }

  private void expect(List<Turn> line, int most, String when) {
    while (!line.isEmpty() && holding.size() < most) {
      var first = line.removeFirst();
      assertTrue(first.given() != null, when);
      holding.add(buffer(first));
    }
  }

  @Test
  void oneThatWasGivenToWhoLeftIsToldSo() {
    limit(1);
    var first = new Turn(Need.BEGIN, null);
    var second = new Turn(Need.BEGIN, null);
    enter(queue, first);
    enter(queue, second);
    queue.give(buffer(first));
    // It gave up before it looked.
    assertSame(second.given(), queue.leave(second));
    assertTrue(second.given() != null);
  }

  /** Seen: the error was thrown, and what was given later went to one that waited no more. */
  @Test
  void whereThereIsNoMemoryForOneItIsWaitedFor() {
    var memory = new AtomicInteger(1);
    var poor = poor(memory, () -> {});
    var first = new Turn(Need.BEGIN, null);
    enter(poor, first);
    var second = new Turn(Need.BEGIN, null);
    enter(poor, second);
    assertNull(second.given());
    assertTrue(poor.refused());
    assertEquals(1, poor.waiting());
    var given = buffer(first);
    poor.give(given);
    assertSame(given, second.given());
  }

  @Test
  void whereThereMayBeNoMoreOneIsWaitedFor() {
    var full = new BufferStock(() -> ByteBuffer.allocate(1), 1, _ -> {});
    var many = new BufferQueue(full, 12, full::mayMake);
    var first = new Turn(Need.BEGIN, null);
    enter(many, first);
    var second = new Turn(Need.BEGIN, null);
    enter(many, second);
    assertNull(second.given());
    assertTrue(many.refused());
    many.give(buffer(first));
    assertSame(first.given(), second.given());
    assertEquals(1, full.made());
  }

  /** One that has memory for so many, and does something else before it takes it. */
  private static BufferQueue poor(AtomicInteger memory, Runnable meanwhile) {
    var stock =
        stock(
            () -> {
              meanwhile.run();
              if (memory.getAndDecrement() <= 0) {
                memory.incrementAndGet();
                throw new OutOfMemoryError("no more memory, says the test");
              }
              return ByteBuffer.allocate(1);
            });
    return new BufferQueue(stock, 12, () -> memory.get() > 0);
  }

  private static <T> T present(AtomicReference<T> reference) {
    return Objects.requireNonNull(reference.get());
  }

  /** Seen: for a second nobody had any of it. */
  @Test
  void memoryThatIsThereAfterARefusalIsTaken() {
    var memory = new AtomicInteger();
    var poor = poor(memory, () -> {});
    var first = new Turn(Need.BEGIN, null);
    enter(poor, first);
    assertNull(first.given());
    memory.set(2);
    var second = new Turn(Need.BEGIN, null);
    enter(poor, second);
    buffer(first);
    buffer(second);
    assertEquals(false, poor.refused());
  }

  /** Seen: none could be given back until the JVM had said that it has no memory for one more. */
  @Test
  @Timeout(60)
  void whatIsGivenBackWhileOneIsMadeIsHandedOn() {
    var memory = new AtomicInteger(1);
    var meanwhile = new AtomicReference<Runnable>(() -> {});
    var poor = poor(memory, () -> present(meanwhile).run());
    var first = new Turn(Need.BEGIN, null);
    var second = new Turn(Need.BEGIN, null);
    enter(poor, first);
    meanwhile.set(
        () -> {
          CompletableFuture.runAsync(() -> poor.give(buffer(first))).join();
          assertSame(first.given(), second.given());
        });
    enter(poor, second);
    assertSame(first.given(), second.given());
    assertEquals(0, poor.waiting());
  }

  @Test
  @Timeout(60)
  void whoMakesOneDoesSoForThoseWhoComeMeanwhile() {
    var memory = new AtomicInteger(3);
    var others = new ArrayDeque<>(List.of(new Turn(Need.BEGIN, null), new Turn(Need.WRITE, null)));
    var all = new ArrayList<>(others);
    var queue = new AtomicReference<BufferQueue>();
    var poor =
        poor(
            memory,
            () -> {
              if (!others.isEmpty()) {
                // It does not wait for us.
                var next = others.remove();
                CompletableFuture.runAsync(() -> enter(present(queue), next)).join();
                assertNull(next.given());
              }
            });
    queue.set(poor);
    var first = new Turn(Need.BEGIN, null);
    enter(poor, first);
    buffer(first);
    all.forEach(BufferQueueTest::buffer);
  }

  /** Else those would wait for one that nobody makes. */
  @Test
  @Timeout(60)
  void allLookForThemselvesWhenThereIsNoMemory() {
    var second = new Turn(Need.BEGIN, null);
    var queue = new AtomicReference<BufferQueue>();
    var poor =
        poor(
            new AtomicInteger(),
            () -> CompletableFuture.runAsync(() -> enter(present(queue), second)).join());
    queue.set(poor);
    enter(poor, new Turn(Need.BEGIN, null));
    assertTrue(second.await(System.nanoTime() + TimeUnit.HOURS.toNanos(1)));
    assertNull(second.given());
    assertTrue(poor.refused());
  }

  @Test
  void whateverEndsTheMakingOfOneOthersMayBeMade() {
    var failures = new ArrayDeque<RuntimeException>(List.of(new IllegalStateException("once")));
    var poor =
        poor(
            new AtomicInteger(1),
            () -> {
              if (!failures.isEmpty()) {
                throw failures.remove();
              }
            });
    var first = new Turn(Need.BEGIN, null);
    poor.enter(first);
    assertThrows(IllegalStateException.class, poor::make);
    poor.make();
    buffer(first);
  }

  /** Seen: each who came or gave one had all others wait until the JVM had looked for memory. */
  @Test
  void memoryThatIsRefusedIsNotAskedForByEachWhoComes() {
    var asked = new AtomicInteger();
    var poor =
        new BufferQueue(
            stock(
                () -> {
                  asked.incrementAndGet();
                  throw new OutOfMemoryError("no memory, says the test");
                }),
            3,
            () -> false);
    for (int i = 0; i < 10_000; i++) {
      enter(poor, new Turn(Need.BEGIN, null));
    }
    assertTrue(asked.get() < 1_000, "asked " + asked + " times");
    assertEquals(10_000, poor.waiting());
  }

  @Test
  void onlyOneInAWhileIsEnded() {
    assertTrue(queue.mayEnd(0, 5, 3, 10));
    assertEquals(false, queue.mayEnd(0, 14, 3, 10));
    assertTrue(queue.mayEnd(0, 15, 3, 10));
  }

  @Test
  void onlyOneInAWhileLooksForSlowPeers() {
    assertTrue(queue.maySearch(5, 10));
    assertEquals(false, queue.maySearch(14, 10));
    assertTrue(queue.mayEnd(0, 14, 3, 10));
    assertTrue(queue.maySearch(15, 10));
  }

  /** Else many that wait for a moment each would be ended where a moment is long. */
  @Test
  void nobodyIsEndedWhileOthersAreGivenSomeUnlessItTakesVeryLong() {
    limit(1);
    enter(queue, new Turn(Need.BEGIN, null));
    long now = System.nanoTime();
    long patience = TimeUnit.HOURS.toNanos(1);
    assertEquals(false, queue.mayEnd(now - 9 * patience, now, patience, 0));
    assertTrue(queue.mayEnd(now - 10 * patience, now, patience, 0));
    assertEquals(false, queue.mayEnd(now + 1, now + patience, patience, 0));
    assertTrue(queue.mayEnd(now, now + patience, patience, 0));
  }

  @Test
  void thoseThatWaitGetWhatALimitIsRaisedBy() {
    limit(1);
    var turns = new ArrayList<Turn>();
    for (int i = 0; i < 3; i++) {
      turns.add(new Turn(Need.BEGIN, null));
      enter(queue, turns.getLast());
    }
    limit(Integer.MAX_VALUE);
    turns.forEach(BufferQueueTest::buffer);
    turns.forEach(turn -> queue.give(buffer(turn)));
    assertEquals(0, stock.used());
  }
}
