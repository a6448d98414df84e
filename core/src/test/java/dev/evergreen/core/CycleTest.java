package dev.evergreen.core;

import static dev.evergreen.core.TestGrains.SOON;
import static dev.evergreen.core.TestGrains.assertNames;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Reads that go in a circle, also through caches (design §4, Cycles). */
class CycleTest {

  private final Node node =
      EmbeddedNode.builder()
          .grain(Link.class, LinkGrain::new)
          .settings(
              NodeSettings.DEFAULT
                  .withCacheGrace(Duration.ofMillis(30))
                  .withLeaseFor(Duration.ofMillis(200)))
          .start();

  @AfterEach
  void stop() {
    node.close();
  }

  record Target(String key) {}

  /** Reads the link that it points to. */
  interface Link extends Grain {
    @ReadOnly
    String end();

    @ReadOnly
    int length();

    void pointTo(String key);
  }

  static final class LinkGrain implements Link {
    static final AtomicInteger RUNS = new AtomicInteger();
    private final GrainContext<String> context;
    private final State<Target> target;

    LinkGrain(GrainContext<String> context) {
      this.context = context;
      this.target = context.state(Target.class, new Target(""));
    }

    @Override
    public String end() {
      RUNS.incrementAndGet();
      var next = target.get().key();
      return next.isEmpty() ? context.key() : context.grains().get(Link.class, next).end();
    }

    @Override
    public int length() {
      RUNS.incrementAndGet();
      var next = target.get().key();
      return next.isEmpty() ? 0 : 1 + context.grains().get(Link.class, next).length();
    }

    @Override
    public void pointTo(String key) {
      target.set(new Target(key));
    }
  }

  private Link link(String key) {
    return node.grains().get(Link.class, key);
  }

  private void awaitNothingLeft() {
    long deadline = System.nanoTime() + SOON.toNanos();
    while (node.counts().caches() + node.counts().summaries() > 0) {
      assertTrue(System.nanoTime() < deadline, () -> "left over: " + node.counts());
      Thread.onSpinWait();
    }
  }

  @Test
  void aCycleThatIsThereFromTheBeginningIsNamed() {
    link("a").pointTo("b");
    link("b").pointTo("c");
    link("c").pointTo("a");
    try (var computation = node.reactive(() -> link("a").end())) {
      var thrown = assertThrows(CycleException.class, () -> computation.tracker().next(SOON));
      assertNames(thrown, "Link/a.end");
      assertNames(thrown, "Link/c.end");
    }
    awaitNothingLeft();
  }

  @Test
  void aCycleThatClosesThroughCachesEndsAndOpensAgain() {
    link("a").pointTo("b");
    try (var computation = node.reactive(() -> link("a").length());
        var other = node.reactive(() -> link("b").length())) {
      var tracker = computation.tracker();
      var otherTracker = other.tracker();
      assertEquals(1, tracker.next(SOON));
      assertEquals(0, otherTracker.next(SOON));
      link("b").pointTo("a");
      assertThrows(CycleException.class, () -> awaitLast(tracker, -1));
      assertThrows(CycleException.class, () -> awaitLast(otherTracker, -1));
      assertQuiet();
      link("b").pointTo("");
      awaitLast(tracker, 1);
      awaitLast(otherTracker, 0);
    }
    awaitNothingLeft();
  }

  private static void awaitLast(ResultTracker<Integer> tracker, int expected) {
    while (true) {
      try {
        if (tracker.next(SOON) == expected) {
          return;
        }
      } catch (CycleException e) {
        if (expected < 0) {
          throw e;
        }
      }
    }
  }

  private static void assertQuiet() {
    int before = -1;
    long deadline = System.nanoTime() + SOON.toNanos();
    while (before != LinkGrain.RUNS.get()) {
      assertTrue(System.nanoTime() < deadline, "the cycle goes on running");
      before = LinkGrain.RUNS.get();
      java.util.concurrent.locks.LockSupport.parkNanos(200_000_000);
    }
  }

  @Test
  void twoComputationsThatWaitForEachOtherEnd() {
    for (int i = 0; i < 50; i++) {
      var a = "a" + i;
      var b = "b" + i;
      link(a).pointTo(b);
      link(b).pointTo(a);
      try (var one = node.reactive(() -> link(a).end());
          var two = node.reactive(() -> link(b).end())) {
        var results = Parallel.map(List.of(one, two), c -> c.tracker().poll(SOON).orElseThrow());
        for (var result : results) {
          assertThrows(CycleException.class, result::get);
        }
      }
    }
    awaitNothingLeft();
  }

  @Test
  void aGrainThatReadsItselfInAComputationIsACycle() {
    link("a").pointTo("a");
    try (var computation = node.reactive(() -> link("a").end())) {
      assertThrows(CycleException.class, () -> computation.tracker().next(SOON));
    }
    awaitNothingLeft();
  }

  @Test
  void aChainOfTenThousandIsNoProblem() {
    int length = 10_000;
    var keys = new ArrayList<Integer>();
    for (int i = 0; i < length; i++) {
      keys.add(i);
    }
    keys.forEach(i -> link("n" + i).pointTo("n" + (i + 1)));
    try (var computation = node.reactive(() -> link("n0").length())) {
      var tracker = computation.tracker();
      assertEquals(length, tracker.next(Duration.ofSeconds(60)));
      link("n" + length).pointTo("end");
      assertEquals(length + 1, tracker.next(Duration.ofSeconds(60)));
    }
    awaitNothingLeft();
  }
}
