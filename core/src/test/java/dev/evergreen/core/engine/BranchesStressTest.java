package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.Grains;
import dev.evergreen.core.KeyedGrain;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.ReadOnly;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Branches with real threads, in many short rounds: none is lost, taken twice, or left behind. */
class BranchesStressTest {

  private static final int CALLERS = 3;
  private static final int ROUNDS = 250;
  private static final int BRANCHES = 6;

  /** What shut grains wait for, by their keys. */
  private static final ConcurrentHashMap<String, CountDownLatch> SHUT = new ConcurrentHashMap<>();

  /** How often the branches of a round were taken. */
  private static final ConcurrentHashMap<String, AtomicInteger> TAKEN = new ConcurrentHashMap<>();

  /** Keys of leaves that nobody has read. */
  private static final AtomicLong FRESH = new AtomicLong(1_000);

  interface Leaf extends KeyedGrain<Long> {
    @ReadOnly
    long value();
  }

  static final class LeafGrain implements Leaf {
    private final long key;

    LeafGrain(GrainContext<Long> context) {
      key = context.key();
    }

    @Override
    public long value() {
      return key;
    }
  }

  interface Shut extends Grain {
    @ReadOnly
    long value();
  }

  static final class ShutGrain implements Shut {
    private final CountDownLatch open;

    ShutGrain(GrainContext<String> context) {
      open = SHUT.computeIfAbsent(context.key(), k -> new CountDownLatch(1));
    }

    @Override
    public long value() {
      try {
        open.await(TestGrains.SOON.toSeconds(), TimeUnit.SECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      return -1;
    }
  }

  interface Fan extends Grain {
    List<Long> all(String round);

    long fastest(String round);
  }

  static final class FanGrain implements Fan {
    private final Grains grains;

    FanGrain(GrainContext<String> context) {
      grains = context.grains();
    }

    private long take(String round, long i) {
      TAKEN.computeIfAbsent(round, r -> new AtomicInteger()).incrementAndGet();
      return grains.get(Leaf.class, i).value();
    }

    @Override
    public List<Long> all(String round) {
      return Parallel.map(items(), i -> take(round, i));
    }

    @Override
    public long fastest(String round) {
      var branches = new ArrayList<Callable<Long>>();
      branches.add(() -> grains.get(Shut.class, round + ".a").value());
      branches.add(() -> grains.get(Shut.class, round + ".b").value());
      branches.add(() -> take(round, 7));
      try {
        return Parallel.first(branches);
      } catch (RuntimeException e) {
        throw e;
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }
  }

  private static List<Long> items() {
    return LongStream.range(0, BRANCHES).boxed().toList();
  }

  private interface Round {
    void run(Node node, String name);
  }

  private static void stress(Round round) throws Exception {
    try (var node =
            EmbeddedNode.builder()
                .grain(Leaf.class, LeafGrain::new)
                .grain(Shut.class, ShutGrain::new)
                .grain(Fan.class, FanGrain::new)
                .settings(NodeSettings.DEFAULT.withCallTimeout(TestGrains.SOON))
                .start();
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var callers = new ArrayList<Future<?>>();
      for (int c = 0; c < CALLERS; c++) {
        int caller = c;
        callers.add(
            threads.submit(
                () -> {
                  for (int i = 0; i < ROUNDS; i++) {
                    round.run(node, caller + "." + i);
                  }
                }));
      }
      for (var caller : callers) {
        caller.get();
      }
    }
  }

  private static int taken(String round) {
    var times = TAKEN.remove(round);
    return times == null ? 0 : times.get();
  }

  @Test
  void allBranchesOfATurnAreTakenOnceAndItGoesOn() throws Exception {
    stress(
        (node, name) -> {
          var fan = node.grains().get(Fan.class, name.substring(0, 1));
          assertEquals(items(), fan.all(name));
          assertEquals(BRANCHES, taken(name));
        });
  }

  @Test
  void theFirstResultEndsBranchesThatWait() throws Exception {
    stress(
        (node, name) -> {
          var round = "first " + name;
          assertEquals(7, node.grains().get(Fan.class, name.substring(0, 1)).fastest(round));
          assertEquals(1, taken(round));
          // Only now: what waited was woken by the first result alone.
          SHUT.computeIfAbsent(round + ".a", k -> new CountDownLatch(1)).countDown();
          SHUT.computeIfAbsent(round + ".b", k -> new CountDownLatch(1)).countDown();
        });
  }

  @Test
  void branchesThatWaitForCachesAllGetTheirResults() throws Exception {
    stress(
        (node, name) -> {
          long from = FRESH.getAndAdd(BRANCHES);
          var items = LongStream.range(from, from + BRANCHES).boxed().toList();
          try (var computation =
                  node.reactive(
                      () -> Parallel.map(items, i -> node.grains().get(Leaf.class, i).value()));
              var tracker = computation.tracker()) {
            assertEquals(items, tracker.next(TestGrains.SOON));
          }
        });
  }
}
