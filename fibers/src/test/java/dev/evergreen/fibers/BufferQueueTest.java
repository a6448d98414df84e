package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.BufferQueue.Turn;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Many orders of what can happen to those that wait for buffers, beside a model of a few lines. */
class BufferQueueTest {
  private static final int SEEDS = Integer.getInteger("evergreen.fibers.seeds", 500);
  private static final int STEPS = 300;

  private final AtomicInteger count = new AtomicInteger();
  private final BufferQueue queue = new BufferQueue(count, () -> ByteBuffer.allocate(1));
  private final List<Turn> holding = new ArrayList<>();
  private final List<Turn> goingOn = new ArrayList<>();
  private final List<Turn> beginning = new ArrayList<>();
  private int limit;

  @Test
  void whoComesFirstIsGivenTheFirst() {
    for (int seed = 0; seed < SEEDS; seed++) {
      var test = new BufferQueueTest();
      var random = new Random(seed);
      test.limit(1 + random.nextInt(12));
      for (int step = 0; step < STEPS; step++) {
        test.step(random);
        test.check("seed " + seed + ", step " + step);
      }
    }
  }

  private void limit(int most) {
    limit = most;
    queue.limit(most);
  }

  private void step(Random random) {
    switch (random.nextInt(9)) {
      case 0, 1, 2 -> enter(beginning, false);
      case 3 -> enter(goingOn, true);
      case 4, 5, 6 -> {
        if (!holding.isEmpty()) {
          queue.give(buffer(holding.remove(random.nextInt(holding.size()))));
        }
      }
      case 7 -> {
        var some = random.nextBoolean() ? goingOn : beginning;
        if (!some.isEmpty()) {
          assertNull(queue.leave(some.remove(random.nextInt(some.size()))));
        }
      }
      default -> {
        if (random.nextInt(10) == 0) {
          limit(1 + random.nextInt(12));
        }
      }
    }
  }

  private void enter(List<Turn> line, boolean goesOn) {
    var turn = new Turn(goesOn, null);
    line.add(turn);
    queue.enter(turn);
  }

  private static ByteBuffer buffer(Turn turn) {
    return Objects.requireNonNull(turn.given());
  }

  /** All that can be given has been, to the first of each line. */
  private void check(String when) {
    expect(goingOn, limit, when);
    if (goingOn.isEmpty()) {
      expect(beginning, limit - limit / 4, when);
    }
    beginning.forEach(turn -> assertNull(turn.given(), when));
    goingOn.forEach(turn -> assertNull(turn.given(), when));
    assertEquals(goingOn.size() + beginning.size(), queue.waiting(), when);
    assertTrue(count.get() <= Math.max(limit, holding.size()), when);
    for (int i = 1; i < holding.size(); i++) {
      for (int j = 0; j < i; j++) {
        assertNotSame(holding.get(i).given(), holding.get(j).given(), when);
      }
    }
  }

  private void expect(List<Turn> line, int most, String when) {
    while (!line.isEmpty() && holding.size() < most) {
      var first = line.removeFirst();
      assertTrue(first.given() != null, when);
      holding.add(first);
    }
  }

  @Test
  void oneThatWasGivenToWhoLeftIsToldSo() {
    limit(1);
    var first = new Turn(false, null);
    var second = new Turn(false, null);
    queue.enter(first);
    queue.enter(second);
    queue.give(buffer(first));
    // It gave up before it looked.
    assertSame(second.given(), queue.leave(second));
    assertTrue(second.given() != null);
  }

  /** Seen: the error was thrown, and what was given later went to one that waited no more. */
  @Test
  void whereThereIsNoMemoryForOneItIsWaitedFor() {
    var none = new AtomicBoolean();
    var poor =
        new BufferQueue(
            count,
            () -> {
              if (none.get()) {
                throw new OutOfMemoryError("no more memory, says the test");
              }
              return ByteBuffer.allocate(1);
            });
    poor.limit(3);
    var first = new Turn(false, null);
    poor.enter(first);
    none.set(true);
    var second = new Turn(false, null);
    poor.enter(second);
    assertNull(second.given());
    assertEquals(1, poor.waiting());
    var given = buffer(first);
    poor.give(given);
    assertSame(given, second.given());
    assertEquals(1, count.get());
  }

  /** Seen: each who came or gave one had all others wait until the JVM had looked for memory. */
  @Test
  void memoryThatIsRefusedIsNotAskedForByEachWhoComes() {
    var asked = new AtomicInteger();
    var poor =
        new BufferQueue(
            count,
            () -> {
              asked.incrementAndGet();
              throw new OutOfMemoryError("no memory, says the test");
            });
    poor.limit(3);
    for (int i = 0; i < 10_000; i++) {
      poor.enter(new Turn(false, null));
    }
    assertTrue(asked.get() < 1_000, "asked " + asked + " times");
    assertEquals(10_000, poor.waiting());
  }

  @Test
  void onlyOneInAWhileIsEnded() {
    assertTrue(queue.mayEnd(5, 10));
    assertEquals(false, queue.mayEnd(14, 10));
    assertTrue(queue.mayEnd(15, 10));
  }

  @Test
  void thoseThatWaitGetWhatALimitIsRaisedBy() {
    limit(1);
    var turns = new ArrayList<Turn>();
    for (int i = 0; i < 3; i++) {
      turns.add(new Turn(false, null));
      queue.enter(turns.getLast());
    }
    limit(Integer.MAX_VALUE);
    turns.forEach(BufferQueueTest::buffer);
    turns.forEach(turn -> queue.give(buffer(turn)));
    assertEquals(0, count.get());
  }
}
