package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.Freshness;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.Result;
import dev.evergreen.core.Snapshot;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.spi.Message;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Readers of one cache, each with its own patience; and publishers that fail or are found late. */
@Timeout(60)
class PatienceTest {

  private final WiredNodes wired = new WiredNodes(WiredNodes.id("a"));

  @AfterEach
  void stop() {
    wired.close();
  }

  interface Slow extends Grain {
    @ReadOnly
    long value();
  }

  private static GrainTypes slow(CountDownLatch answered) {
    return GrainTypes.create()
        .<String, Slow>add(
            Slow.class,
            context ->
                () -> {
                  while (answered.getCount() > 0) {
                    context.sleep(Duration.ofMillis(5));
                  }
                  return 42;
                });
  }

  @Test
  void oneReadersLimitIsNotTheOthers() {
    var answered = new CountDownLatch(1);
    var node = wired.start(WiredNodes.id("a"), WiredNodes.quick(), slow(answered));
    var impatient = node.grains().withTimeout(Duration.ofMillis(1)).get(Slow.class, "x");
    var patient = node.grains().get(Slow.class, "x");
    try (var hasty =
            node.reactive(
                () -> {
                  try {
                    return impatient.value();
                  } catch (GrainTimeoutException e) {
                    return -1L;
                  }
                });
        var calm = node.reactive(patient::value)) {
      var fallback = hasty.tracker();
      assertEquals(-1L, fallback.next(SOON));
      assertEquals(Freshness.IN_DOUBT, fallback.freshness(), "it is no answer");
      var tracker = calm.tracker();
      assertTrue(tracker.poll(Duration.ofMillis(50)).isEmpty(), "another's limit is over");
      answered.countDown();
      assertEquals(42L, tracker.next(SOON));
      assertEquals(42L, fallback.next(SOON));
      WiredNodes.await("freshness", () -> fallback.freshness() == Freshness.CURRENT);
    }
  }

  interface Shown extends Grain {
    @ReadOnly
    String shown();
  }

  /** Seen: what had been read in doubt was told as current until the run had been repeated. */
  @Test
  void whatWasReadInDoubtDoesNotBecomeCurrentBecauseItHasChanged() throws Exception {
    var answered = new CountDownLatch(1);
    var types =
        slow(answered)
            .<String, Shown>add(
                Shown.class,
                context ->
                    () -> {
                      var all = context.grains().withTimeout(Duration.ofMillis(1));
                      try {
                        return "stock " + all.get(Slow.class, "x").value();
                      } catch (GrainTimeoutException e) {
                        return "none";
                      }
                    });
    var node = wired.start(WiredNodes.id("a"), WiredNodes.quick(), types);
    var middle = node.grains().get(Shown.class, "m");
    var runs = new AtomicInteger();
    var goOn = List.of(new CountDownLatch(1), new CountDownLatch(1));
    try (var direct = node.reactive(middle::shown);
        var late =
            node.reactive(
                () -> {
                  var shown = middle.shown();
                  int run = Math.min(runs.getAndIncrement(), 1);
                  goOn.get(run).await();
                  return shown;
                })) {
      var seen = direct.tracker();
      assertEquals("none", seen.next(SOON));
      var tracker = late.tracker();
      assertTrue(tracker.poll(Duration.ZERO).isEmpty());
      WiredNodes.await("its run", () -> runs.get() == 1);
      answered.countDown();
      assertEquals("stock 42", seen.next(SOON));
      WiredNodes.await("freshness", () -> seen.freshness() == Freshness.CURRENT);
      goOn.get(0).countDown();
      assertEquals("none", tracker.next(SOON));
      assertEquals(Freshness.IN_DOUBT, tracker.freshness());
      goOn.get(1).countDown();
      assertEquals("stock 42", tracker.next(SOON));
      WiredNodes.await("freshness", () -> tracker.freshness() == Freshness.CURRENT);
    }
  }

  /** That a new publisher answers is no sign that what the old one said is still true. */
  @Test
  void aResultIsInDoubtUntilItsNewPublisherHasOne() throws Exception {
    var a = WiredNodes.id("a");
    var b = WiredNodes.id("b");
    var c = WiredNodes.id("c");
    var d = WiredNodes.id("d");
    var host = new AtomicReference<>(b);
    wired.hosts = grain -> grain.key().equals("low") ? d : host.get();
    var here = wired.start(a, NodeSettings.DEFAULT);
    var before = wired.start(b, NodeSettings.DEFAULT);
    var after = wired.start(c, NodeSettings.DEFAULT);
    wired.start(d, NodeSettings.DEFAULT);
    var low = here.grains().get(Cell.class, "low");
    low.set("old");
    var sum = here.grains().get(TestGrains.Sum.class, "mid");
    try (var computation = here.reactive(() -> sum.joined(List.of("low")))) {
      var tracker = computation.tracker();
      assertEquals("old", tracker.next(SOON));
      var answered = new CountDownLatch(1);
      wired.wire =
          (from, to, message) -> {
            if ((from.equals(d) && !to.equals(a)) || (to.equals(d) && !from.equals(a))) {
              return;
            }
            wired.deliver(from, to, message);
            if (message instanceof Message.SubscribeAnswer && from.equals(c)) {
              answered.countDown();
            }
          };
      low.set("new");
      host.set(c);
      before.release(WiredNodes.everything());
      after.notHeardOf(d);
      answered.await();
      assertEquals(Freshness.IN_DOUBT, tracker.freshness());
      wired.wire = wired::deliver;
      assertEquals("new", tracker.next(SOON));
      WiredNodes.await("freshness", () -> tracker.freshness() == Freshness.CURRENT);
    }
  }

  @Test
  void aChangeOfFreshnessAloneIsAwaited() {
    var a = WiredNodes.id("a");
    var b = WiredNodes.id("b");
    wired.hosts = grain -> b;
    var here = wired.start(a, WiredNodes.quick());
    wired.start(b, WiredNodes.quick());
    var cell = here.grains().get(Cell.class, "c");
    try (var computation = here.reactive(cell::text)) {
      var tracker = computation.tracker();
      var first = tracker.observe(SOON).orElseThrow();
      assertEquals(new Snapshot<>(new Result.Value<>(""), 1, Freshness.CURRENT), first);
      wired.connected = node -> false;
      here.linkBroken(b);
      var cutOff = tracker.observe(SOON).orElseThrow();
      assertEquals(new Snapshot<>(new Result.Value<>(""), 1, Freshness.IN_DOUBT), cutOff);
      wired.connected = node -> true;
      assertEquals(first, tracker.observe(SOON).orElseThrow());
      cell.set("x");
      var last = tracker.observe(SOON).orElseThrow();
      assertEquals(new Snapshot<>(new Result.Value<>("x"), 2, Freshness.CURRENT), last);
      assertTrue(tracker.observe(Duration.ZERO).isEmpty());
      assertTrue(tracker.poll(Duration.ZERO).isEmpty(), "it was delivered as a snapshot");
    }
  }

  @Test
  void theSameFailureAgainRunsNobodyWhoHasTakenIt() {
    var failures = new AtomicInteger();
    var runs = new AtomicInteger();
    var types =
        GrainTypes.create()
            .<String, Slow>add(
                Slow.class,
                context -> {
                  failures.incrementAndGet();
                  throw new IllegalStateException("always");
                });
    var node = wired.start(WiredNodes.id("a"), WiredNodes.quick(), types);
    var slow = node.grains().withTimeout(Duration.ofNanos(1)).get(Slow.class, "x");
    try (var computation =
        node.reactive(
            () -> {
              runs.incrementAndGet();
              try {
                return slow.value();
              } catch (GrainException e) {
                return -1L;
              }
            })) {
      assertEquals(-1L, computation.tracker().next(SOON));
      WiredNodes.await("several failures", () -> failures.get() >= 5);
      assertTrue(
          runs.get() <= 2, () -> runs + " runs: one that gave up, one that took the failure");
    }
  }

  @Test
  void aClosedCachesLateRetryDoesNotTakeThePlaceOfALiveOne() throws InterruptedException {
    var a = WiredNodes.id("a");
    var b = WiredNodes.id("b");
    var settings = WiredNodes.quick().withRenewEvery(Duration.ofHours(1));
    wired.hosts = grain -> b;
    var here = wired.start(a, settings);
    var there = wired.start(b, settings);
    var cell = here.grains().get(Cell.class, "c");
    var test = Thread.currentThread();
    var first = new AtomicBoolean(true);
    var asked = new CountDownLatch(1);
    var goesOn = new CountDownLatch(1);
    var done = new CountDownLatch(1);
    var closing = here.reactive(cell::text);
    closing.tracker().next(SOON);
    wired.hosts =
        grain -> {
          if (Thread.currentThread() != test && first.compareAndSet(true, false)) {
            asked.countDown();
            WiredNodes.await("the second computation", () -> goesOn.getCount() == 0);
            done.countDown();
          }
          return b;
        };
    here.linkBroken(b);
    asked.await();
    closing.close();
    WiredNodes.await("the end of the first cache", () -> here.counts().caches() == 0);
    try (var second = here.reactive(cell::text)) {
      var tracker = second.tracker();
      assertEquals("", tracker.next(SOON));
      goesOn.countDown();
      done.await();
      there.grains().get(Cell.class, "c").set("new");
      assertEquals("new", tracker.next(SOON));
    }
  }
}
