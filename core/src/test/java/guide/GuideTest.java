package guide;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.Grains;
import dev.evergreen.core.IdleAfter;
import dev.evergreen.core.KeyedGrain;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.Reentrant;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.SameBy;
import dev.evergreen.core.State;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiPredicate;
import org.junit.jupiter.api.Test;

/** The code of README.md and docs/guide.md; the regions are compared with the pages. */
class GuideTest {

  // snippet counter
  public interface Counter extends Grain {
    @ReadOnly
    long value();

    void add(long n);
  }

  public record Count(long value) {}

  static final class CounterGrain implements Counter {
    private final State<Count> count;

    CounterGrain(GrainContext<String> context) {
      count = context.state(Count.class, new Count(0));
    }

    @Override
    public long value() {
      return count.get().value();
    }

    @Override
    public void add(long n) {
      count.update(c -> new Count(c.value() + n));
    }
  }

  // end

  // snippet idle-after
  @IdleAfter(seconds = 1)
  public interface Voucher extends Grain {
    @ReadOnly
    boolean isValid();
  }

  // end

  @Test
  void theReadmesExampleWorks() {
    // snippet readme
    try (Node node = EmbeddedNode.builder().grain(Counter.class, CounterGrain::new).start()) {
      var apples = node.grains().get(Counter.class, "apples");
      var pears = node.grains().get(Counter.class, "pears");
      apples.add(2);

      try (var fruit = node.reactive(() -> apples.value() + pears.value())) {
        var results = fruit.tracker();
        System.out.println(results.next()); // 2, at once
        pears.add(3);
        System.out.println(results.next()); // 5, pushed
      }
    }
    // end
  }

  // snippet keys
  public record Seat(String hall, int row, int number) {}

  public interface Ticket extends KeyedGrain<Seat> {
    void sell(String buyer);
  }

  public interface Invoice extends KeyedGrain<Long> {
    @ReadOnly
    String text();
  }

  // end

  static void keys(Node node) {
    // snippet keys-use
    node.grains().get(Ticket.class, new Seat("main", 4, 17)).sell("Ada");
    node.grains().get(Invoice.class, 4711L).text();
    // end
  }

  // snippet parallel
  public interface Basket extends Grain {
    @ReadOnly
    long total(List<String> counters);
  }

  static final class BasketGrain implements Basket {
    private final Grains grains;

    BasketGrain(GrainContext<String> context) {
      grains = context.grains();
    }

    @Override
    public long total(List<String> counters) {
      return Parallel.map(counters, key -> grains.get(Counter.class, key).value()).stream()
          .mapToLong(n -> n)
          .sum();
    }
  }

  // end

  // snippet reentrant
  @Reentrant
  public interface Visitor extends Grain {
    void visit(List<String> route);
  }

  // end

  // snippet timer
  public interface Clock extends Grain {
    void start();

    @ReadOnly
    long ticks();
  }

  static final class ClockGrain implements Clock {
    private final GrainContext<String> context;
    private long ticks;

    ClockGrain(GrainContext<String> context) {
      this.context = context;
    }

    @Override
    public void start() {
      context.timer("tick", Duration.ZERO, Duration.ofMillis(10), () -> ticks++);
    }

    @Override
    public long ticks() {
      return ticks;
    }
  }

  // end

  // snippet same-by
  public static final class RoughlySame implements BiPredicate<Double, Double> {
    @Override
    public boolean test(Double a, Double b) {
      return Math.abs(a - b) < 0.01;
    }
  }

  public interface Sensor extends Grain {
    @ReadOnly
    @SameBy(RoughlySame.class)
    double temperature();
  }

  // end

  static void loop(Node node, Counter counter, boolean interested) {
    // snippet loop
    try (ReactiveComputation<Long> computation = node.reactive(() -> counter.value())) {
      ResultTracker<Long> results = computation.tracker();
      while (interested) {
        try {
          display(results.next());
        } catch (GrainTimeoutException e) {
          display("no answer, still trying");
        }
      }
    }
    // end
  }

  @Test
  void ownWritesAreSeen() {
    try (var node = EmbeddedNode.builder().grain(Counter.class, CounterGrain::new).start()) {
      var counter = node.grains().get(Counter.class, "apples");
      try (var computation = node.reactive(() -> counter.value())) {
        // snippet after
        long count = computation.after(() -> counter.add(1));
        // end
        assertEquals(1, count);
      }
    }
  }

  static void freshness(ResultTracker<Long> results) {
    // snippet freshness
    if (results.freshness() == Freshness.IN_DOUBT) {
      display("this may be outdated");
    }
    // end
  }

  static void timeout(Node node) {
    // snippet timeout
    var impatient = node.grains().withTimeout(Duration.ofSeconds(2));
    impatient.get(Counter.class, "apples").add(1);
    // end
  }

  static Node settings() {
    // snippet settings
    return EmbeddedNode.builder()
        .grain(Counter.class, CounterGrain::new)
        .settings(NodeSettings.DEFAULT.withCallTimeout(Duration.ofSeconds(10)))
        .start();
    // end
  }

  @Test
  void settingsAreTaken() {
    try (var node = settings()) {
      node.grains().get(Counter.class, "x").add(1);
      assertEquals(1, node.grains().get(Counter.class, "x").value());
    }
  }

  private static void display(Object shown) {
    System.out.println(shown);
  }

  @Test
  void theGuidesGrainsWork() {
    try (var node =
        EmbeddedNode.builder()
            .grain(Counter.class, CounterGrain::new)
            .grain(Basket.class, BasketGrain::new)
            .grain(Clock.class, ClockGrain::new)
            .start()) {
      var basket = node.grains().get(Basket.class, "b");
      node.grains().get(Counter.class, "x").add(4);
      assertEquals(4, basket.total(List.of("x", "y")));
      var clock = node.grains().get(Clock.class, "c");
      try (var ticks = node.reactive(clock::ticks)) {
        var results = ticks.tracker();
        var seen = new ArrayList<Long>();
        seen.add(results.next());
        clock.start();
        seen.add(results.next());
        seen.add(results.next());
        assertEquals(seen.stream().sorted().distinct().toList(), seen);
      }
    }
  }
}
