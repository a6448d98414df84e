package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.Grains;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.engine.TestGrains.GateGrain;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class BacklogTest {

  private final Backlog backlog = new Backlog(2);
  private final AtomicInteger acknowledged = new AtomicInteger();

  @Test
  void whileMuchWaitsPushesAreAcknowledgedLate() {
    backlog.runScheduled();
    backlog.acknowledge(acknowledged::incrementAndGet);
    assertEquals(1, acknowledged.get());
    backlog.runScheduled();
    backlog.acknowledge(acknowledged::incrementAndGet);
    assertEquals(1, acknowledged.get());
    backlog.runBegins();
    assertEquals(2, acknowledged.get());
  }

  /** Whoever waited would have to send again, since nothing is left that would tell him. */
  @Test
  void noneWaitsWhenTheLastRunHasBegun() {
    backlog.runScheduled();
    backlog.runScheduled();
    for (int i = 0; i < 5; i++) {
      backlog.acknowledge(acknowledged::incrementAndGet);
    }
    backlog.runBegins();
    assertEquals(1, acknowledged.get());
    backlog.runBegins();
    assertEquals(5, acknowledged.get());
  }

  @Test
  void oneThatFailsKeepsNoRunFromBeginning() {
    backlog.runScheduled();
    backlog.runScheduled();
    backlog.acknowledge(
        () -> {
          throw new IllegalStateException("a link with a fault");
        });
    backlog.acknowledge(acknowledged::incrementAndGet);
    backlog.runBegins();
    backlog.runBegins();
    assertEquals(1, acknowledged.get());
  }

  /** Shows a cell in many ways, and has an operation that does not return. */
  public interface Busy extends Grain {
    @ReadOnly
    String shown(int way);

    @ReadOnly
    String stuck();
  }

  private static final class BusyGrain implements Busy {
    private final Grains grains;

    BusyGrain(GrainContext<String> context) {
      grains = context.grains();
    }

    @Override
    public String shown(int way) {
      return grains.get(Cell.class, "shown").text();
    }

    @Override
    public String stuck() {
      return GateGrain.pass("stuck");
    }
  }

  /** Runs that wait for a grain wait for no processor: results for others go on. */
  @Test
  void aStuckGrainHoldsNoOtherResultsUp() {
    var a = WiredNodes.id("a");
    var b = WiredNodes.id("b");
    var patient = WiredNodes.quick().withPushRetryAfter(Duration.ofHours(1)).withMaxBacklog(2);
    try (var wired = new WiredNodes(b)) {
      wired.hosts = grain -> grain.type().equals("Cell") ? b : a;
      var readers = wired.start(a, patient, TestGrains.types().add(Busy.class, BusyGrain::new));
      var writers = wired.start(b, patient);
      var busy = readers.grains().get(Busy.class, "busy");
      var other = writers.grains().get(Cell.class, "other");
      for (int way : IntStream.range(0, 5).toArray()) {
        assertEquals("", readers.reactive(() -> busy.shown(way)).tracker().next(TestGrains.SOON));
      }
      ResultTracker<String> watched =
          readers.reactive(readers.grains().get(Cell.class, "other")::text).tracker();
      assertEquals("", watched.next(TestGrains.SOON));
      GateGrain.shut();
      var stuck = CompletableFuture.supplyAsync(busy::stuck, Thread::startVirtualThread);
      try {
        WiredNodes.await("the stuck one", () -> GateGrain.entered.getCount() == 0);
        writers.grains().get(Cell.class, "shown").set("text");
        for (var text : new String[] {"one", "two", "three"}) {
          other.set(text);
          assertEquals(text, watched.next(TestGrains.SOON));
        }
        WiredNodes.await(
            "all to be acknowledged",
            () -> writers.outboxes.lengths().values().stream().allMatch(n -> n == 0));
      } finally {
        GateGrain.open.countDown();
      }
      assertEquals("stuck", stuck.join());
      assertEquals("text", busy.shown(0));
    }
  }
}
