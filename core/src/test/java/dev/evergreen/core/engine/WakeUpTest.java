package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.evergreen.core.ActivationException;
import dev.evergreen.core.CycleException;
import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.engine.CycleTest.Link;
import dev.evergreen.core.engine.CycleTest.LinkGrain;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.core.spi.Storage;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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
      // One that has ended does not wait for what is tried again.
      if (thread != null && (isParked(thread) || !thread.isAlive())) {
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

  /** Says when a save has begun, and ends it when told. */
  private static final class SlowStorage implements Storage {
    private final MemoryStorage memory = new MemoryStorage();
    private final CountDownLatch saving = new CountDownLatch(1);
    private final CountDownLatch maySave = new CountDownLatch(1);

    @Override
    public Optional<Stored> load(GrainId grain) {
      return memory.load(grain);
    }

    @Override
    public long save(GrainId grain, long expected, byte[] state) {
      saving.countDown();
      awaitOpen(maySave);
      return memory.save(grain, expected, state);
    }

    @Override
    public void close() {}
  }

  private static void awaitOpen(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Whoever closes waits for what runs as long as it may, and for saves in any case. */
  @ParameterizedTest
  @ValueSource(longs = {0, 3_600})
  void whoClosesANodeIsWokenByTheEndOfWhatIsUnderWay(long grace) throws Exception {
    var self = WiredNodes.id("a");
    var storage = new SlowStorage();
    try (var wired = new WiredNodes(self, storage)) {
      var types = GrainTypes.create().add(Link.class, LinkGrain::new);
      var closing = wired.start(self, PATIENT.withStopGrace(Duration.ofSeconds(grace)), types);
      var link = closing.grains().get(Link.class, "a");
      var first = CompletableFuture.runAsync(() -> link.pointTo("b"), Thread::startVirtualThread);
      storage.saving.await();
      var second = CompletableFuture.runAsync(() -> link.pointTo("c"), Thread::startVirtualThread);
      WiredNodes.await("the second", () -> closing.activations.all().getFirst().waiting() == 1);

      var released = new CompletableFuture<@Nullable Void>();
      var releasing =
          Thread.ofPlatform()
              .start(
                  () -> {
                    closing.release(WiredNodes.part("a"));
                    released.complete(null);
                  });
      // What waits is refused at once, to be asked for again, however long the grace is.
      WiredNodes.await(
          "the refusal", () -> closing.activations.all().stream().allMatch(a -> a.waiting() == 0));
      WiredNodes.await("its waiting", () -> isParked(releasing));
      storage.maySave.countDown();

      released.get(20, TimeUnit.SECONDS);
      if (grace > 0) {
        first.get(20, TimeUnit.SECONDS);
        second.get(20, TimeUnit.SECONDS);
      }
    }
  }

  @Test
  void whoClosesANodeIsWokenByTheEndOfTheLastTurn() throws Exception {
    var running = new CountDownLatch(1);
    var mayEnd = new CountDownLatch(1);
    var self = WiredNodes.id("a");
    try (var wired = new WiredNodes(self)) {
      var types =
          GrainTypes.create()
              .add(
                  Late.class,
                  context ->
                      () -> {
                        running.countDown();
                        awaitOpen(mayEnd);
                        return 7;
                      });
      var closing = wired.start(self, PATIENT.withStopGrace(HOUR), types);
      var value =
          CompletableFuture.supplyAsync(
              () -> closing.grains().get(Late.class, "a").value(), Thread::startVirtualThread);
      running.await();
      var closed = new CompletableFuture<@Nullable Void>();
      var closer = Thread.ofPlatform().start(() -> closed.complete(close(closing)));
      WiredNodes.await("its waiting", () -> isParked(closer));
      mayEnd.countDown();
      closed.get(20, TimeUnit.SECONDS);
      assertEquals(7, value.get(20, TimeUnit.SECONDS));
    }
  }

  private static @Nullable Void close(Node node) {
    node.close();
    return null;
  }

  private static boolean isParked(Thread thread) {
    var state = thread.getState();
    return state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING;
  }

  private static void pointInACircle(Node node) {
    node.grains().get(Link.class, "a").pointTo("b");
    node.grains().get(Link.class, "b").pointTo("c");
    node.grains().get(Link.class, "c").pointTo("a");
  }
}
