package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertNull;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.Grains;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.spi.NodeCounts;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Busy grains with callers that go away before their turn: by a time limit, by an interrupt, as
 * another branch was faster, or as their link has broken; callers outside of grains and operations,
 * on the grain's node and on others, and messages that overtake each other. While none is lost but
 * with its link, nothing begins for whom nobody waits any more, and nothing is left.
 */
final class ImpatienceTest {

  /** As many as a test run tries. */
  static final long SEEDS = 20;

  private static final int NODES = 2;
  private static final int GRAINS = 3;
  private static final int CLIENTS = 8;
  private static final int CALLS = 12;
  private static final long MOST_NANOS = 300_000_000;

  /** Longer than a message or the news of a broken link takes, and a thread waits for its steps. */
  private static final long MOMENT_NANOS = 30_000_000;

  private static final Weather DISORDER = new Weather(0, 0, 0.3, 50_000, 2_000_000, 0, 0);

  interface Desk extends Grain {
    /** Takes a while, then goes on to these. */
    void serve(long call, long nanos, List<String> next);
  }

  /** Who waits for a call; after that, since when nobody does. */
  private static final class Queue {
    private final Scheduler scheduler;
    private final SplittableRandom random;
    private final Map<Long, Long> left = new HashMap<>();
    private final List<SimThread> waiting = new ArrayList<>();
    private long calls;
    private int working = CLIENTS;
    private @Nullable String ghost;

    Queue(Scheduler scheduler, SplittableRandom random) {
      this.scheduler = scheduler;
      this.random = random;
    }

    void call(Grains grains, String key, List<String> next) {
      long call = ++calls;
      // Some wait less than a message takes, so that the call may come after it was taken back.
      long most = random.nextInt(4) == 0 ? DISORDER.maxNanos() : 4 * MOST_NANOS;
      var patience = Duration.ofNanos(random.nextLong(most) + 1);
      var desk = grains.withTimeout(patience).get(Desk.class, key);
      var thread = scheduler.running();
      waiting.add(thread);
      try {
        desk.serve(call, random.nextLong(MOST_NANOS), next);
      } finally {
        waiting.remove(thread);
        left.put(call, scheduler.now());
      }
    }

    void begins(long call) {
      var since = left.get(call);
      if (since != null && scheduler.now() - since > MOMENT_NANOS) {
        ghost = "call " + call + " begins, for which nobody waits since " + since;
      }
    }

    void work(Grains grains) {
      for (int i = 0; i < CALLS; i++) {
        try {
          var keys = random.ints(2, 0, GRAINS).sorted().distinct().mapToObj(n -> "d" + n).toList();
          call(grains, keys.getFirst(), keys.subList(1, keys.size()));
        } catch (GrainException e) {
          // It has gone away.
        } finally {
          Thread.interrupted();
        }
      }
      working--;
    }

    void disturb(Runnable breakLink) {
      while (working > 0) {
        scheduler.sleep(random.nextLong(MOST_NANOS));
        if (random.nextInt(4) == 0) {
          breakLink.run();
        } else if (!waiting.isEmpty()) {
          scheduler.interrupt(waiting.get(random.nextInt(waiting.size())));
        }
      }
    }
  }

  private record DeskGrain(GrainContext<String> context, Queue queue) implements Desk {
    @Override
    public void serve(long call, long nanos, List<String> next) {
      queue.begins(call);
      context.sleep(Duration.ofNanos(nanos));
      if (!next.isEmpty()) {
        var branches = Collections.<Callable<Object>>nCopies(2, () -> goOn(next.getFirst()));
        if (call % 2 == 0) {
          Parallel.map(branches, DeskGrain::run);
        } else {
          run(() -> Parallel.first(branches));
        }
      }
    }

    private Object goOn(String desk) {
      queue.call(context.grains(), desk, List.of());
      return desk;
    }

    private static Object run(Callable<Object> branch) {
      try {
        return branch.call();
      } catch (RuntimeException e) {
        throw e;
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }
  }

  @Test
  void nothingBeginsForWhomNobodyWaits() {
    for (long seed = 1; seed <= SEEDS; seed++) {
      assertNull(failure(seed), "seed " + seed);
    }
  }

  /** What is wrong in a seed's run; null if nothing is. */
  static @Nullable String failure(long seed) {
    var random = new SplittableRandom(seed);
    var pace = new RandomPolicy.Pace(1_000, 0, 0, 20, false, 3, 10_000_000);
    var scheduler = new Scheduler(new RandomPolicy(random.split(), pace), new Trace(false));
    var queue = new Queue(scheduler, random.split());
    var network = new SimNetwork(scheduler, random.split());
    network.weather(DISORDER);
    var cluster =
        new Cluster(
            scheduler,
            random.split(),
            Scenario.of(seed).with(NodeSettings.DEFAULT),
            network,
            new SimStorage(scheduler, random.split(), 1),
            address ->
                GrainTypes.create()
                    .<String, Desk>add(Desk.class, context -> new DeskGrain(context, queue)));
    var counts = new ArrayList<NodeCounts>();
    scheduler.run(
        () -> {
          cluster.startAll(NODES);
          var serving = cluster.serving();
          for (int client = 0; client < CLIENTS; client++) {
            var node = serving.get(client % NODES);
            scheduler.start(
                node.life(), "client-" + client, () -> queue.work(node.engine().grains()));
          }
          var first = serving.getFirst().id();
          queue.disturb(() -> network.breakConnection(first, serving.getLast().id()));
          scheduler.sleep(20 * MOST_NANOS);
          serving.forEach(node -> counts.add(node.engine().counts()));
          serving.forEach(node -> node.engine().fence("the test has ended"));
        });
    boolean left = counts.stream().anyMatch(count -> count.calls() > 0);
    return queue.ghost == null && left ? "calls are left: " + counts : queue.ghost;
  }
}
