package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Random;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The rule of who is next, in a simulation whose time is a number. */
class ReadyTest {

  private static final int SEEDS = Integer.getInteger("evergreen.fibers.seeds", 30) * 10;
  private static final long SHARE = Ready.SHARE_NANOS;

  static IntStream seeds() {
    return IntStream.range(0, SEEDS);
  }

  private record Task(String name) implements Runnable {
    @Override
    public void run() {}
  }

  private final Ready ready = new Ready();
  private final long start = System.nanoTime();

  private static @Nullable String name(@Nullable Runnable task) {
    return task instanceof Task(var name) ? name : null;
  }

  @Test
  void theWokenComeFirstAndEachInOrder() {
    ready.put(new Task("b1"), true, start);
    ready.put(new Task("a1"), false, start + 1);
    ready.put(new Task("b2"), true, start + 2);
    ready.put(new Task("a2"), false, start + 3);
    assertEquals(4, ready.count());
    for (var expected : new String[] {"a1", "a2", "b1", "b2"}) {
      assertEquals(expected, name(ready.take(start + 4)));
    }
    assertNull(ready.take(start + 4));
    assertTrue(ready.isEmpty());
  }

  @Test
  void oneThatHasWaitedForItsShareComesFirst() {
    for (var name : new String[] {"b1", "b2"}) {
      ready.put(new Task(name), true, start);
    }
    for (var name : new String[] {"a1", "a2", "a3"}) {
      ready.put(new Task(name), false, start);
    }
    long later = start + 2 * SHARE;
    assertEquals("b1", name(ready.take(later)));
    assertEquals("a1", name(ready.take(later)));
    assertEquals("a2", name(ready.take(later + SHARE - 1)));
    assertEquals("b2", name(ready.take(later + SHARE)));
  }

  /** Whoever has just let others run is not owed anything, however long nobody did so before. */
  @Test
  void theShareOfOneThatCameJustNowBeginsThen() {
    ready.put(new Task("b"), true, start + 5 * SHARE);
    ready.put(new Task("a"), false, start + 5 * SHARE);
    assertEquals("a", name(ready.take(start + 5 * SHARE + 1)));
  }

  /** What others look at to see whether a processor is stuck. */
  @Test
  void waitingCountsFromTheLastOneThatRan() {
    assertEquals(0, ready.oldestWait(start));
    ready.put(new Task("b1"), true, start);
    ready.put(new Task("b2"), true, start);
    assertEquals("b1", name(ready.take(start + 9 * SHARE)));
    assertEquals(SHARE, ready.oldestWait(start + 10 * SHARE));
    ready.put(new Task("a"), false, start + 10 * SHARE);
    assertEquals(3 * SHARE, ready.oldestWait(start + 12 * SHARE));
  }

  /** Somebody who waits, and how long that may last by what the rule promises. */
  private record Waiting(Task task, long since, long bound) {}

  /**
   * Woken ones come at random, often more than can be run; each other one yields again as soon as
   * it has run. Nobody waits beyond the bounds that stand at the head of {@link Ready}.
   */
  @ParameterizedTest
  @MethodSource("seeds")
  void nobodyWaitsBeyondTheBounds(int seed) {
    var random = new Random(seed);
    long turn = 1_000 + random.nextLong(500_000);
    int hogs = 1 + random.nextInt(100);
    double load = random.nextDouble() * 1.5;
    var over = new ArrayDeque<Waiting>();
    var woken = new ArrayDeque<Waiting>();
    long now = start;
    for (int i = 0; i < hogs; i++) {
      yields(new Task("hog " + i), now, over, turn);
    }
    int runs = 5_000;
    int hogsRan = 0;
    for (int i = 0; i < runs; i++) {
      for (double arriving = load; random.nextDouble() < arriving; arriving--) {
        var task = new Task("woken " + i);
        long ahead = (woken.size() + 1) * turn;
        woken.add(new Waiting(task, now, ahead + (ahead / SHARE + 2) * turn));
        ready.put(task, false, now);
      }
      var next = ready.take(now);
      var from = woken.isEmpty() || woken.peek().task != next ? over : woken;
      var waiting = from.remove();
      assertEquals(waiting.task, next, "out of order");
      long waited = now - waiting.since;
      assertTrue(waited <= waiting.bound, () -> waiting + " waited " + waited);
      now += random.nextLong(turn) + 1;
      if (from == over) {
        hogsRan++;
        yields(waiting.task, now, over, turn);
      }
    }
    assertTrue(hogsRan > 0);
  }

  private void yields(Task task, long now, ArrayDeque<Waiting> over, long turn) {
    over.add(new Waiting(task, now, (over.size() + 1) * (SHARE + turn)));
    ready.put(task, true, now);
  }

  /** What the rule is for: with many that always have work, one that has little waits for few. */
  @ParameterizedTest
  @MethodSource("seeds")
  void whoIsWokenNowAndThenWaitsForOneTurn(int seed) {
    var random = new Random(seed);
    long turn = 100_000;
    var order = new ArrayList<String>();
    for (int i = 0; i < 64; i++) {
      ready.put(new Task("hog"), true, start);
    }
    long now = start + random.nextLong(10 * SHARE);
    for (int i = 0; i < 200; i++) {
      if (i % 5 == 0) {
        ready.put(new Task("light"), false, now);
      }
      var next = ready.take(now);
      order.add(String.valueOf(name(next)));
      now += turn;
      if ("hog".equals(name(next)) && next != null) {
        ready.put(next, true, now);
      }
    }
    for (int i = 0; i < 195; i += 5) {
      assertTrue(order.subList(i, i + 2).contains("light"), () -> "order: " + order);
    }
  }
}
