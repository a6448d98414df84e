package dev.evergreen.core;

import static dev.evergreen.core.TestGrains.SOON;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.TestGrains.Cell;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
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
