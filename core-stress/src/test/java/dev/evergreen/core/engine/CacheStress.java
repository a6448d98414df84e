package dev.evergreen.core.engine;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.work.Tasks;
import java.time.Duration;
import java.util.Objects;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Description;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.IL_Result;
import org.openjdk.jcstress.infra.results.I_Result;
import org.openjdk.jcstress.infra.results.LI_Result;
import org.openjdk.jcstress.infra.results.LLI_Result;
import org.openjdk.jcstress.infra.results.L_Result;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/** Caches: their results, their edges, and their end. */
public final class CacheStress {

  private static final dev.evergreen.core.model.Outcome VALUE =
      new dev.evergreen.core.model.Outcome.Returned(7);
  private static final dev.evergreen.core.model.Outcome FAILURE =
      dev.evergreen.core.model.Outcome.Threw.of(new GrainTimeoutException("too late"));

  /** For caches that stand alone: nothing happens on it. */
  private static final StressNode NODE = new StressNode();

  private CacheStress() {}

  private static Cache newCache() {
    return new Cache(NODE.runtime().caches, NODE.valueOf("c"));
  }

  private static Summary newSummary() {
    return NODE.computation(() -> 1);
  }

  private static Cache.Update update(
      dev.evergreen.core.model.Outcome outcome, boolean provisional) {
    return new Cache.Update(0, new Message.Version(1, 1), outcome, 1, false, provisional, null);
  }

  @JCStressTest
  @Description("A cache is never both retained and closed.")
  @Outcome(
      id = {"true, false", "false, true"},
      expect = ACCEPTABLE,
      desc = "one of both")
  @Outcome(expect = FORBIDDEN, desc = "a closed cache with an edge, or neither")
  @State
  public static class RetainOrClose {
    private final Cache cache = newCache();
    private final Summary dependent = newSummary();

    @Actor
    public void retain(ZZ_Result r) {
      r.r1 = cache.retain(dependent) != null;
    }

    @Actor
    public void close(ZZ_Result r) {
      r.r2 = cache.closeIfIdle(System.nanoTime());
    }
  }

  @JCStressTest
  @Description("Of two edges of one dependent, one released and one added at once, one is left.")
  @Outcome(id = "1", expect = ACCEPTABLE, desc = "one edge")
  @Outcome(expect = FORBIDDEN, desc = "the chain is torn")
  @State
  public static class EdgesAreKept {
    private final Cache cache = newCache();
    private final Summary dependent = newSummary();
    private final Cache.Edge first = edge();

    private Cache.Edge edge() {
      return Objects.requireNonNull(cache.retain(dependent), "the cache is open");
    }

    @Actor
    public void retain() {
      edge();
    }

    @Actor
    public void release() {
      cache.release(first, false);
    }

    @Arbiter
    public void count(I_Result r) {
      r.r1 = cache.dependents().size();
    }
  }

  @JCStressTest
  @Description("A reader that waits for a cache is woken when its first result has been told.")
  @Outcome(id = "7", expect = ACCEPTABLE, desc = "it got it")
  @Outcome(expect = FORBIDDEN, desc = "it got something else, or nothing")
  @State
  public static class FirstResultWakes {
    private final Cache cache = newCache();

    @Actor
    public void install() {
      var installed = cache.install(update(VALUE, false));
      cache.told(Objects.requireNonNull(installed.version()));
    }

    @Actor
    public void read(L_Result r) {
      long deadline = System.nanoTime() + StressNode.PATIENCE.toNanos();
      cache.addWaiter(Thread.currentThread());
      while (cache.present() == null && System.nanoTime() - deadline < 0) {
        StressNode.TIME.parkNanos(StressNode.PATIENCE.toNanos());
      }
      cache.removeWaiter(Thread.currentThread());
      r.r1 = System.nanoTime() - deadline < 0 ? StressNode.text(cache.present()) : "too late";
    }
  }

  @JCStressTest
  @Description("When a result takes the place of a failure, a cache is not empty in between.")
  @Outcome(
      id = {"failure", "7"},
      expect = ACCEPTABLE,
      desc = "one or the other")
  @Outcome(expect = FORBIDDEN, desc = "nothing")
  @State
  public static class NeverEmptyAgain {
    private final Cache cache = newCache();

    public NeverEmptyAgain() {
      cache.install(update(FAILURE, true));
    }

    @Actor
    public void install() {
      cache.install(update(VALUE, false));
    }

    @Actor
    public void read(L_Result r) {
      r.r1 = StressNode.text(cache.present());
    }
  }

  @JCStressTest
  @Description("A reader that gives up either takes the result, or is marked by it.")
  @Outcome(id = "1, failure", expect = ACCEPTABLE, desc = "it gave up, and is marked")
  @Outcome(id = "0, 7", expect = ACCEPTABLE, desc = "it has the result")
  @Outcome(expect = FORBIDDEN, desc = "it has a failure that nothing will ever mark")
  @State
  public static class GivesUp {
    private final Cache cache = newCache();
    private final Cache.Edge edge =
        Objects.requireNonNull(cache.retain(newSummary()), "the cache is open");

    @Actor
    public void install(IL_Result r) {
      r.r1 = cache.install(update(VALUE, false)).outdated().size();
    }

    @Actor
    public void giveUp(IL_Result r) {
      r.r2 = StressNode.text(cache.goOnWithout(edge, FAILURE));
    }
  }

  @JCStressTest
  @Description("Of two results installed at once, the later stays.")
  @Outcome(id = "2", expect = ACCEPTABLE, desc = "the later")
  @Outcome(expect = FORBIDDEN, desc = "the earlier")
  @State
  public static class LaterResultStays {
    private final Cache cache = newCache();

    private void install(int sequence) {
      cache.install(
          new Cache.Update(
              0,
              new Message.Version(1, sequence),
              new dev.evergreen.core.model.Outcome.Returned(sequence),
              1,
              false,
              false,
              null));
    }

    @Actor
    public void earlier() {
      install(1);
    }

    @Actor
    public void later() {
      install(2);
    }

    @Arbiter
    public void look(L_Result r) {
      r.r1 = StressNode.text(cache.present());
    }
  }

  // All caches of a node: the table, the sweep, the subscriptions

  private static RootComputation<Integer> reader(StressNode node) {
    return node.computation(() -> node.cell("c").value());
  }

  @JCStressTest
  @Description("A reader that comes while a cache is swept gets results, and later ones.")
  @Outcome(id = "0, 5, 1", expect = ACCEPTABLE, desc = "it is kept true by one subscription")
  @Outcome(expect = FORBIDDEN, desc = "its cache was closed, or its subscription ended")
  @State
  public static class ReadOrSweep {
    private final StressNode node = new StressNode();
    private final RootComputation<Integer> later = reader(node);

    public ReadOrSweep() {
      node.started(() -> node.cell("c").value()).close();
    }

    @Actor
    public void read() {
      Tracker.of(later).poll(StressNode.PATIENCE);
    }

    @Actor
    public void sweep() {
      node.elapse();
    }

    @Arbiter
    public void end(LLI_Result r) {
      node.settle();
      r.r1 = StressNode.text(later.present(null));
      node.cell("c").set(5);
      node.settle();
      r.r2 = StressNode.text(later.present(null));
      r.r3 = node.runtime().counts().subscriptions();
      later.close();
    }
  }

  @JCStressTest
  @Description("When the last reader goes while caches are swept, all goes that it kept.")
  @Outcome(id = "0, 0, 0", expect = ACCEPTABLE, desc = "no cache, summary or subscription")
  @Outcome(expect = FORBIDDEN, desc = "something is kept for nobody")
  @State
  public static class LeaveOrSweep {
    private final StressNode node = new StressNode();
    private final RootComputation<Integer> earlier = reader(node);
    private final RootComputation<Integer> later = reader(node);

    public LeaveOrSweep() {
      Tracker.of(earlier).next(StressNode.PATIENCE);
      node.settle();
      earlier.close();
    }

    @Actor
    public void readAndLeave() {
      Tracker.of(later).poll(StressNode.PATIENCE);
      later.close();
    }

    @Actor
    public void sweep() {
      node.elapse();
    }

    @Arbiter
    public void end(III_Result r) {
      for (int i = 0; i < 3; i++) {
        node.settle();
        node.elapse();
      }
      node.settle();
      var counts = node.runtime().counts();
      r.r1 = counts.caches();
      r.r2 = counts.summaries();
      r.r3 = counts.subscriptions();
    }
  }

  @JCStressTest
  @Description("A publisher that moves while it is subscribed to is found where it is.")
  @Outcome(id = "5, 1", expect = ACCEPTABLE, desc = "kept true by one subscription")
  @Outcome(expect = FORBIDDEN, desc = "the cache was not subscribed again")
  @State
  public static class SubscribeOrDeactivate {
    private final StressNode node = new StressNode();
    private final RootComputation<Integer> reader = reader(node);
    private final Activation activation = node.open("c");

    /** Starts to read; the actors do not wait, as only timers may bring the result. */
    @Actor
    public void read() {
      Tracker.of(reader).poll(Duration.ZERO);
    }

    @Actor
    public void deactivate() {
      var next = new Tasks();
      activation.close("on purpose", null, next);
      StressNode.run(next);
    }

    @Arbiter
    public void end(LI_Result r) {
      awaitResult("0");
      node.cell("c").set(5);
      awaitResult("5");
      r.r1 = StressNode.text(reader.present(null));
      r.r2 = node.runtime().counts().subscriptions();
      reader.close();
      node.settle();
    }

    private void awaitResult(String result) {
      StressNode.await(
          () -> {
            node.elapse();
            return StressNode.text(reader.present(null)).equals(result);
          },
          "the reader does not get " + result);
    }
  }
}
