package dev.evergreen.core;

import static dev.evergreen.core.TestGrains.SOON;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.evergreen.core.CycleTest.Link;
import dev.evergreen.core.CycleTest.LinkGrain;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What ends a waiting ends it at once: nodes here look again only after an hour, so that no look at
 * a clock makes up for a wake-up that is missing.
 */
@Timeout(60)
class WakeUpTest {

  private static final Duration HOUR = Duration.ofHours(1);
  private static final NodeSettings PATIENT =
      NodeSettings.DEFAULT
          .withCallTimeout(HOUR)
          .withCycleSuspicion(HOUR)
          .withPushRetryAfter(HOUR)
          .withRenewEvery(HOUR)
          .withLeaseFor(HOUR.multipliedBy(3));

  private final AtomicReference<@Nullable Thread> reader = new AtomicReference<>();
  private final Node node =
      EmbeddedNode.builder()
          .grain(Link.class, LinkGrain::new)
          .grain(Late.class, this::late)
          .settings(PATIENT)
          .start();

  @AfterEach
  void stop() {
    node.close();
  }

  interface Late extends Grain {
    @ReadOnly
    int value();
  }

  /** Gives its value, or cannot be activated, when a computation waits for that. */
  private Late late(GrainContext<String> context) {
    if (context.key().equals("broken")) {
      awaitReader();
      throw new IllegalStateException("broken");
    }
    return () -> {
      awaitReader();
      return 7;
    };
  }

  private void awaitReader() {
    while (true) {
      var thread = reader.get();
      var state = thread == null ? Thread.State.NEW : thread.getState();
      if (state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING) {
        return;
      }
      Thread.onSpinWait();
    }
  }

  private ReactiveComputation<Integer> reading(String key) {
    return node.reactive(
        () -> {
          reader.set(Thread.currentThread());
          return node.grains().get(Late.class, key).value();
        });
  }

  @Test
  void whoWaitsForAFirstResultIsWokenByIt() {
    try (var computation = reading("good")) {
      assertEquals(7, computation.tracker().next(SOON));
    }
  }

  @Test
  void whoWaitsForAFirstResultIsWokenByTheReasonThatThereIsNone() {
    try (var computation = reading("broken")) {
      assertThrows(ActivationException.class, () -> computation.tracker().next(SOON));
    }
  }

  @Test
  void aCircleOfWaitingInAProcessIsFoundAtOnce() {
    pointInACircle(node);
    try (var computation = node.reactive(() -> node.grains().get(Link.class, "a").length())) {
      assertThrows(CycleException.class, () -> computation.tracker().next(SOON));
    }
  }

  @Test
  void aSearchGoesOnAsSoonAsOtherNodesHaveAnswered() {
    var first = WiredNodes.id("a");
    var second = WiredNodes.id("b");
    try (var wired = new WiredNodes(second)) {
      wired.hosts = grain -> grain.key().startsWith("a") ? first : second;
      var types = GrainTypes.create().add(Link.class, LinkGrain::new);
      var settings = PATIENT.withCycleSuspicion(Duration.ofMillis(20));
      var a = wired.start(first, settings, types);
      wired.start(second, settings, types);
      pointInACircle(a);
      try (var computation = a.reactive(() -> a.grains().get(Link.class, "a").length())) {
        assertThrows(CycleException.class, () -> computation.tracker().next(SOON));
      }
    }
  }

  private static void pointInACircle(Node node) {
    node.grains().get(Link.class, "a").pointTo("b");
    node.grains().get(Link.class, "b").pointTo("c");
    node.grains().get(Link.class, "c").pointTo("a");
  }
}
