package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static dev.evergreen.core.engine.TestGrains.assertNames;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.CycleException;
import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.NoNewResultException;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.Result;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.State;
import dev.evergreen.core.spi.Message;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Reads that go in a circle, also through caches (design §4, Cycles). */
class CycleTest {

  /** What is wrong in one of ten is found. */
  private static final int RINGS = 300;

  private final Node node =
      EmbeddedNode.builder()
          .grain(Link.class, LinkGrain::new)
          .grain(Sum.class, SumGrain::new)
          .grain(Ring.class, RingGrain::new)
          .grain(Deaf.class, DeafGrain::new)
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

  /** One of a ring of three, of which the second catches the error. */
  interface Ring extends Grain {
    @ReadOnly
    String next();
  }

  static final class RingGrain implements Ring {
    private final GrainContext<String> context;

    RingGrain(GrainContext<String> context) {
      this.context = context;
    }

    @Override
    public String next() {
      int at = context.key().charAt(0) - '0';
      var next = context.grains().get(Ring.class, (at + 1) % 3 + context.key().substring(1));
      try {
        return next.next();
      } catch (CycleException e) {
        if (at == 1) {
          return "caught";
        }
        throw e;
      }
    }
  }

  @Test
  void whoCatchesTheErrorIsAMemberFromItsFirstResult() throws Exception {
    for (int ring = 0; ring < RINGS; ring++) {
      var name = " of " + ring;
      var seen = Collections.synchronizedSet(new HashSet<String>());
      try (var computation =
          node.reactive(
              () -> {
                var results = of("0" + name) + ", " + of("1" + name);
                seen.add(results);
                return results;
              })) {
        computation.tracker().next(SOON);
      }
      assertEquals(Set.of("cycle, cycle"), seen);
    }
  }

  private String of(String key) {
    try {
      return node.grains().get(Ring.class, key).next();
    } catch (CycleException e) {
      return "cycle";
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

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(SOON.toSeconds(), TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
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

  /** Sums what others give; one that catches takes a circle for a value. */
  interface Sum extends Grain {
    @ReadOnly
    int value();

    void read(List<String> others, boolean catching);
  }

  record Reads(List<String> others, boolean catching) {}

  static final class SumGrain implements Sum {
    private final GrainContext<String> context;
    private final State<Reads> reads;

    /** Called with what a run has read, before it ends. */
    static volatile Consumer<List<String>> whenRead = others -> {};

    SumGrain(GrainContext<String> context) {
      this.context = context;
      this.reads = context.state(Reads.class, new Reads(List.of(), false));
    }

    @Override
    public int value() {
      var others = reads.get().others();
      try {
        int sum = 1;
        for (var other : others) {
          sum += context.grains().get(Sum.class, other).value();
        }
        return sum;
      } catch (CycleException e) {
        if (reads.get().catching()) {
          return -1;
        }
        throw e;
      } finally {
        whenRead.accept(others);
      }
    }

    @Override
    public void read(List<String> others, boolean catching) {
      reads.set(new Reads(others, catching));
    }
  }

  private Sum sum(String key) {
    return node.grains().get(Sum.class, key);
  }

  @Test
  void aMemberThatCatchesIsAMemberAllTheSame() {
    sum("a").read(List.of("b"), true);
    sum("b").read(List.of("a"), true);
    try (var a = node.reactive(() -> sum("a").value());
        var b = node.reactive(() -> sum("b").value());
        var c = node.reactive(() -> sum("c").value())) {
      sum("c").read(List.of("a"), true);
      awaitCycle(a.tracker());
      awaitCycle(b.tracker());
      awaitLast(c.tracker(), -1);
    }
    awaitNothingLeft();
  }

  private static void awaitCycle(ResultTracker<Integer> tracker) {
    while (!(tracker.poll(SOON).orElseThrow() instanceof Result.Failure<?>(CycleException e))) {
      // An earlier result.
    }
  }

  @Test
  void whoIsNoLongerInACircleIsToldThoughItsNeighbourIsInAnother() {
    sum("b").read(List.of("a"), false);
    try (var a = node.reactive(() -> sum("a").value());
        var b = node.reactive(() -> sum("b").value())) {
      var tracker = a.tracker();
      awaitLast(tracker, 1);
      assertEquals(2, b.tracker().next(SOON));
      sum("a").read(List.of("b"), true);
      awaitCycle(tracker);
      sum("b").read(List.of("b"), false);
      awaitLast(tracker, -1);
      sum("b").read(List.of("c"), false);
      awaitLast(tracker, 3);
    }
    awaitNothingLeft();
  }

  /** Reads all others, and yields the same whatever they say. */
  interface Deaf extends Grain {
    @ReadOnly
    int value();

    void read(List<String> others);
  }

  static final class DeafGrain implements Deaf {
    private final GrainContext<String> context;
    private final State<Reads> reads;

    DeafGrain(GrainContext<String> context) {
      this.context = context;
      this.reads = context.state(Reads.class, new Reads(List.of(), true));
    }

    @Override
    public int value() {
      for (var other : reads.get().others()) {
        try {
          var _ = context.grains().get(Deaf.class, other).value();
        } catch (CycleException e) {
          // It is no reason to yield something else.
        }
      }
      return 7;
    }

    @Override
    public void read(List<String> others) {
      reads.set(new Reads(others, true));
    }
  }

  /** Its result has the depth of what reads members already, and differs only by its own circle. */
  @Test
  void whoReadsItselfIsAMemberThoughItReadsAnotherCircleAndItsResultIsTheSame() {
    var a = node.grains().get(Deaf.class, "a");
    node.grains().get(Deaf.class, "b").read(List.of("b"));
    try (var computation = node.reactive(a::value)) {
      var tracker = computation.tracker();
      assertEquals(7, tracker.next(SOON));
      a.read(List.of("a", "b"));
      assertThrows(CycleException.class, () -> tracker.next(SOON));
    }
    awaitNothingLeft();
  }

  /** Reads all others, whatever they end with. */
  interface All extends Grain {
    @ReadOnly
    int value();

    void read(List<String> others);
  }

  static final class AllGrain implements All {
    private final GrainContext<String> context;
    private final State<Reads> reads;

    AllGrain(GrainContext<String> context) {
      this.context = context;
      this.reads = context.state(Reads.class, new Reads(List.of(), false));
    }

    @Override
    public int value() {
      int sum = 1;
      for (var other : reads.get().others()) {
        try {
          sum += context.grains().get(All.class, other).value();
        } catch (CycleException e) {
          sum += 1_000;
        }
      }
      return sum;
    }

    @Override
    public void read(List<String> others) {
      reads.set(new Reads(others, true));
    }
  }

  /**
   * Of one that leaves a circle and comes back the others may have got no result meanwhile, but the
   * list without them.
   */
  @Test
  void whoComesBackIntoACircleIsAMemberThoughItsResultIsTheSame() {
    var first = WiredNodes.id("a");
    var second = WiredNodes.id("b");
    try (var wired = new WiredNodes(second)) {
      wired.hosts = grain -> grain.key().startsWith("a") ? first : second;
      var types = GrainTypes.create().add(All.class, AllGrain::new);
      var a = wired.start(first, WiredNodes.quick(), types);
      wired.start(second, WiredNodes.quick(), types);
      var there = a.grains().get(All.class, "b");
      var here = a.grains().get(All.class, "a1");
      here.read(List.of("a2", "b"));
      a.grains().get(All.class, "a2").read(List.of("a1"));
      there.read(List.of("a1"));
      try (var computation = a.reactive(here::value);
          var tracker = computation.tracker()) {
        awaitCircle(tracker, true);
        wired.wire =
            (from, to, message) ->
                wired.deliver(
                    from,
                    to,
                    message instanceof Message.Push(var batch, var updates)
                        ? new Message.Push(batch, withoutValues(updates))
                        : message);
        there.read(List.of());
        awaitCircle(tracker, false);
        wired.wire = wired::deliver;
        there.read(List.of("a1"));
        awaitCircle(tracker, true);
      }
    }
  }

  private static List<Message.Update> withoutValues(List<Message.Update> updates) {
    return updates.stream().filter(u -> u.key().operation().startsWith("$reads")).toList();
  }

  private static void awaitCircle(ResultTracker<Integer> tracker, boolean withB) {
    while (true) {
      var result = tracker.poll(SOON);
      assertTrue(result.isPresent(), () -> "no circle with b: " + withB);
      if (result.get() instanceof Result.Failure<?>(CycleException e)
          && String.valueOf(e.getMessage()).contains("All/b.") == withB) {
        return;
      }
    }
  }

  /** The write is that of a member that the computation does not read itself. */
  @Test
  void aResultReflectsAWriteThatEndsACircle() throws Exception {
    sum("b").read(List.of("c"), false);
    sum("c").read(List.of("a"), false);
    try (var computation = node.reactive(() -> sum("b").value())) {
      for (int i = 0; i < 30; i++) {
        assertThrows(
            CycleException.class,
            () -> computation.after(() -> sum("a").read(List.of("b"), false)));
        Thread.sleep(10); // or the question waits a little for others, and all have settled
        assertEquals(3, computation.after(() -> sum("a").read(List.of(), false)));
      }
    }
  }

  @Test
  void whatWasReadBeforeAndWhatIsReadNowMakeNoCircleTogether() {
    sum("a").read(List.of("b"), true);
    sum("b").read(List.of("a"), true);
    var hasRead = new CountDownLatch(1);
    var mayEnd = new CountDownLatch(1);
    SumGrain.whenRead =
        others -> {
          if (others.size() == 2) {
            hasRead.countDown();
            await(mayEnd);
          }
        };
    try (var a = node.reactive(() -> sum("a").value())) {
      var tracker = a.tracker();
      var circle = assertThrows(CycleException.class, () -> tracker.next(SOON)).getMessage();
      sum("b").read(List.of("b", "c"), true);
      await(hasRead);
      // That run is held, so that nothing is known to reflect the write that has led to it.
      assertThrows(
          NoNewResultException.class,
          () -> a.after(() -> sum("a").read(List.of("b"), true), Duration.ofMillis(300)));
      try (var again = node.reactive(() -> sum("a").value())) {
        var thrown = assertThrows(CycleException.class, () -> again.tracker().next(SOON));
        assertEquals(circle, thrown.getMessage());
      }
      mayEnd.countDown();
      awaitLast(tracker, -1);
    } finally {
      mayEnd.countDown();
      SumGrain.whenRead = others -> {};
    }
  }

  @Test
  void aCircleThatNobodyReadsAnyMoreIsReadAgainInItsGrace() {
    var keep = Duration.ofHours(1);
    var settings = WiredNodes.quick().withCacheGrace(keep).withLeaseFor(keep);
    var self = WiredNodes.id("a");
    try (var wired = new WiredNodes(self)) {
      var here = wired.start(self, settings, GrainTypes.create().add(Link.class, LinkGrain::new));
      var a = here.grains().get(Link.class, "a");
      var b = here.grains().get(Link.class, "b");
      a.pointTo("b");
      b.pointTo("a");
      try (var first = here.reactive(a::length)) {
        assertThrows(CycleException.class, () -> first.tracker().next(SOON));
      }
      here.sweep();
      assertEquals(0, here.counts().summaries(), "the members keep each other");
      try (var second = here.reactive(a::length)) {
        var tracker = second.tracker();
        assertThrows(CycleException.class, () -> tracker.next(SOON));
        here.sweep();
        b.pointTo("");
        awaitLast(tracker, 1);
        assertEquals(Freshness.CURRENT, tracker.freshness());
      }
    }
  }

  @Test
  void aCircleAcrossNodesIsCollected() {
    var keep = Duration.ofHours(1);
    var settings = WiredNodes.quick().withCacheGrace(keep).withLeaseFor(keep);
    inTwoNodes(
        settings,
        (wired, a, b) -> {
          var link = a.grains().get(Link.class, "a");
          try (var first = a.reactive(link::length)) {
            assertThrows(CycleException.class, () -> awaitLast(first.tracker(), -1));
          }
          WiredNodes.await(
              "the end of the circle",
              () -> {
                a.sweep();
                b.sweep();
                return a.counts().summaries() + b.counts().summaries() == 0;
              });
        });
  }

  /**
   * All lists change while the members learn of their circle, and of its end, one after the other.
   * Nobody need be judged again for that, nor ask for itself who reads them all.
   */
  @Test
  void theMembersOfALargeCircleAcrossNodesAreNotJudgedOnceForEachOther() {
    int members = 100;
    inTwoNodes(
        WiredNodes.quick().withCycleSuspicion(Duration.ofMillis(100)),
        (wired, a, b) -> {
          for (int i = 0; i < members; i++) {
            a.grains().get(Link.class, member(i)).pointTo(member((i + 1) % members));
          }
          int before = LinkGrain.RUNS.get();
          try (var computation = a.reactive(() -> a.grains().get(Link.class, member(0)).length())) {
            var tracker = computation.tracker();
            assertThrows(CycleException.class, () -> awaitLast(tracker, -1));
            WiredNodes.await("all to know the circle", () -> inCircle(a) + inCircle(b) == members);
            var questions = new AtomicInteger();
            wired.wire =
                (from, to, message) -> {
                  questions.addAndGet(message instanceof Message.Probe ? 1 : 0);
                  wired.deliver(from, to, message);
                };
            a.sweep();
            b.sweep();
            assertTrue(questions.get() <= 2 * members, () -> questions + " questions");
            a.grains().get(Link.class, member(members / 2)).pointTo("");
            awaitLast(tracker, members / 2);
            assertQuiet();
            int runs = LinkGrain.RUNS.get() - before;
            assertTrue(runs < members * 15, () -> runs + " runs");
          }
        });
  }

  private static String member(int number) {
    return (number % 2 == 0 ? "a" : "b") + "-" + number;
  }

  private static long inCircle(NodeRuntime node) {
    return node.activations.all().stream()
        .flatMap(activation -> activation.summaries().stream())
        .filter(GrainSummary::inCircle)
        .count();
  }

  @Test
  void aSweepThatFailsIsNotTheLast() {
    var settings =
        WiredNodes.quick()
            .withRenewEvery(Duration.ofMillis(50))
            .withLeaseFor(Duration.ofMillis(600));
    inTwoNodes(
        settings,
        (wired, a, b) -> {
          var failures = new AtomicInteger();
          wired.wire =
              (from, to, message) -> {
                if (message instanceof Message.Probe && failures.incrementAndGet() <= 4) {
                  throw new IllegalStateException("a link with a fault");
                }
                wired.deliver(from, to, message);
              };
          var link = a.grains().get(Link.class, "a");
          try (var first = a.reactive(link::length)) {
            assertThrows(CycleException.class, () -> awaitLast(first.tracker(), -1));
          }
          WiredNodes.await(
              "the end of the circle", () -> a.counts().summaries() + b.counts().summaries() == 0);
          assertTrue(failures.get() > 4);
        });
  }

  /** The circle of a1 comes first in the sweeps of both nodes. */
  @Test
  void aCircleThatCannotBeCollectedKeepsNoOther() {
    inTwoNodes(
        WiredNodes.quick(),
        (wired, a, b) -> {
          a.grains().get(Link.class, "a").pointTo("");
          for (var number : List.of("1", "2")) {
            a.grains().get(Link.class, "a" + number).pointTo("b" + number);
            a.grains().get(Link.class, "b" + number).pointTo("a" + number);
          }
          wired.wire =
              (from, to, message) -> {
                if (message instanceof Message.Probe(var id, var keys)
                    && keys.stream().anyMatch(key -> key.grain().key().endsWith("1"))) {
                  throw new IllegalStateException("a link with a fault");
                }
                wired.deliver(from, to, message);
              };
          for (var key : List.of("a1", "a2")) {
            try (var circle = a.reactive(() -> a.grains().get(Link.class, key).length())) {
              assertThrows(CycleException.class, () -> awaitLast(circle.tracker(), -1));
            }
          }
          WiredNodes.await(
              "the end of the other circle",
              () -> {
                sweep(a);
                sweep(b);
                return a.counts().summaries() + b.counts().summaries() == 2;
              });
        });
  }

  /** Reads the same of another, by a name whose bytes may be more than those of a value. */
  interface Named extends Grain {
    @ReadOnly
    int length(String name);

    void pointTo(String key);
  }

  static final class NamedGrain implements Named {
    private final GrainContext<String> context;
    private final State<Target> target;

    NamedGrain(GrainContext<String> context) {
      this.context = context;
      this.target = context.state(Target.class, new Target(""));
    }

    @Override
    public int length(String name) {
      var next = target.get().key();
      return next.isEmpty() ? 0 : 1 + context.grains().get(Named.class, next).length(name);
    }

    @Override
    public void pointTo(String key) {
      target.set(new Target(key));
    }
  }

  @Test
  void aCircleWhoseMembersHaveNoNamesKeepsNoOther() {
    var keep = Duration.ofHours(1);
    int most = 400;
    var settings = WiredNodes.quick().withLeaseFor(keep).withMaxValueBytes(most);
    var self = WiredNodes.id("a");
    try (var wired = new WiredNodes(self)) {
      var types = GrainTypes.create();
      types.add(Link.class, LinkGrain::new).add(Named.class, NamedGrain::new);
      var here = wired.start(self, settings, types);
      var named = here.grains().get(Named.class, "a");
      here.grains().get(Named.class, "b").pointTo("a");
      try (var nameless = here.reactive(() -> named.length("\u4e2d".repeat(most - 50)))) {
        assertEquals(0, nameless.tracker().next(SOON));
        named.pointTo("b");
        WiredNodes.await("both in a circle", () -> inCircle(here) == 2);
        for (int i = 0; i < 20; i++) {
          var link = here.grains().get(Link.class, "one" + i);
          link.pointTo("other" + i);
          here.grains().get(Link.class, "other" + i).pointTo("one" + i);
          try (var circle = here.reactive(link::length)) {
            assertThrows(CycleException.class, () -> circle.tracker().next(SOON));
          }
        }
        WiredNodes.await(
            "the end of the other circles",
            () -> {
              here.sweep();
              return here.counts().summaries() == 2;
            });
      }
    }
  }

  private static void sweep(NodeRuntime node) {
    try {
      node.sweep();
    } catch (IllegalStateException e) {
      assertNames(e, "a link with a fault");
    }
  }

  @Test
  void membersOfACircleAcrossNodesDoubtOnlyAsLongAsTheyAreCutOff() {
    inTwoNodes(
        WiredNodes.quick(),
        (wired, a, b) -> {
          var link = a.grains().get(Link.class, "a");
          try (var computation = a.reactive(link::length)) {
            var tracker = computation.tracker();
            assertThrows(CycleException.class, () -> awaitLast(tracker, -1));
            WiredNodes.await("freshness", () -> tracker.freshness() == Freshness.CURRENT);
            wired.connected = n -> false;
            a.linkBroken(WiredNodes.id("b"));
            b.linkBroken(WiredNodes.id("a"));
            WiredNodes.await("doubt", () -> tracker.freshness() == Freshness.IN_DOUBT);
            wired.connected = n -> true;
            WiredNodes.await("the end of it", () -> tracker.freshness() == Freshness.CURRENT);
            a.grains().get(Link.class, "b").pointTo("");
            awaitLast(tracker, 1);
          }
        });
  }

  private interface OfTwoNodes {
    void run(WiredNodes wired, NodeRuntime a, NodeRuntime b);
  }

  /** A circle of two links, each on a node of its own. */
  private static void inTwoNodes(NodeSettings settings, OfTwoNodes test) {
    var first = WiredNodes.id("a");
    var second = WiredNodes.id("b");
    try (var wired = new WiredNodes(second)) {
      wired.hosts = grain -> grain.key().startsWith("a") ? first : second;
      var types = GrainTypes.create().add(Link.class, LinkGrain::new);
      var a = wired.start(first, settings, types);
      var b = wired.start(second, settings, types);
      a.grains().get(Link.class, "a").pointTo("b");
      a.grains().get(Link.class, "b").pointTo("a");
      test.run(wired, a, b);
    }
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
