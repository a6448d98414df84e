package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.Grains;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.engine.Publication.Follower;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.engine.TestGrains.GateGrain;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.work.Backlog;
import dev.evergreen.core.work.Tasks;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
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

  /** What waits for a processor is counted, and nothing else. */
  private static void assertWaiting(int runs, NodeRuntime node) {
    assertEquals(runs, node.view.backlog());
  }

  @Test
  void aRunOfAGrainWaitsFromWhenItHasTheBaton() {
    var self = WiredNodes.id("a");
    try (var wired = new WiredNodes(self)) {
      var node = wired.start(self, WiredNodes.quick());
      node.grains().get(Cell.class, "c").touch();
      var cell = node.activations.all().getFirst();
      var next = new Tasks();
      subscribe(node, cell, next);
      var run = Objects.requireNonNull(next.poll());
      assertWaiting(1, node);
      run.run(next);
      assertWaiting(0, node);
      cell.baton().acquire();
      cell.markChanged(next);
      assertNull(next.poll());
      assertWaiting(0, node);
      var granted = Objects.requireNonNull(cell.baton().release());
      assertWaiting(1, node);
      // By now nobody wants it any more.
      node.nodesRemoved(Set.of(WiredNodes.id("b")));
      granted.run(next);
      assertWaiting(0, node);
    }
  }

  private static void subscribe(NodeRuntime node, Activation cell, Tasks next) {
    var key = WiredNodes.key(node, Cell.class, "c", "text()");
    cell.subscribe(key, new Follower(WiredNodes.id("b"), key.wire(), 1, null, 0), next);
  }

  @Test
  void aRunOfAComputationWaitsFromWhenItIsScheduled() {
    var self = WiredNodes.id("a");
    try (var wired = new WiredNodes(self)) {
      var node = wired.start(self, WiredNodes.quick());
      var computation = (LiveComputation<Integer>) node.reactive(() -> node.view.backlog());
      assertEquals(0, computation.tracker().next());
      assertWaiting(0, node);
      var next = new Tasks();
      computation.root().mark(null);
      computation.root().schedule(next);
      var run = Objects.requireNonNull(next.poll());
      assertWaiting(1, node);
      run.run(next);
      assertWaiting(0, node);
    }
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

  /** Or more would come before it is known how much waits. */
  @Test
  void whatAPushLetsRunWaitsBeforeThePushIsAcknowledged() {
    var b = WiredNodes.id("b");
    try (var wired = new WiredNodes(b)) {
      var reader = wired.start(WiredNodes.id("a"), WiredNodes.quick());
      var cell = wired.start(b, WiredNodes.quick()).grains().get(Cell.class, "c");
      try (var computation = reader.reactive(reader.grains().get(Cell.class, "c")::text)) {
        var texts = computation.tracker();
        assertEquals("", texts.next(TestGrains.SOON));
        var receiver = new AtomicReference<@Nullable Thread>();
        var order = new CopyOnWriteArrayList<String>();
        wired.wire =
            (from, to, message) -> {
              if (message instanceof Message.PushAck) {
                order.add("acknowledged");
              } else if (message instanceof Message.Push) {
                receiver.set(Thread.currentThread());
              }
              wired.deliver(from, to, message);
            };
        wired.whenThreadIsWanted =
            () -> {
              if (Thread.currentThread() == receiver.get()) {
                order.add("run");
              }
            };
        cell.set("new");
        assertEquals("new", texts.next(TestGrains.SOON));
        WiredNodes.await("both", () -> order.size() == 2);
        assertEquals(List.of("run", "acknowledged"), order);
      }
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
