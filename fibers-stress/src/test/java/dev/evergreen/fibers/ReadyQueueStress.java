package dev.evergreen.fibers;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Description;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;

/** The queue of ready continuations. */
public final class ReadyQueueStress {

  private ReadyQueueStress() {}

  /** A task that is known by its number. */
  record Numbered(int number) implements Runnable {
    @Override
    public void run() {}
  }

  private static int number(@Nullable Runnable task) {
    return task instanceof Numbered numbered ? numbered.number : 0;
  }

  @JCStressTest
  @Description("What two put is taken once each.")
  @Outcome(
      id = {"3"},
      expect = ACCEPTABLE,
      desc = "both are there")
  @Outcome(expect = FORBIDDEN, desc = "one is lost, or there twice")
  @State
  public static class TwoPut {
    private final ReadyQueue queue = new ReadyQueue();

    @Actor
    public void one() {
      queue.put(new Numbered(1), 1);
    }

    @Actor
    public void two() {
      queue.put(new Numbered(2), 2);
    }

    @Arbiter
    public void takeAll(I_Result r) {
      r.r1 = number(queue.take()) + number(queue.take()) + 10 * number(queue.take());
    }
  }

  @JCStressTest
  @Description(
      "Of two that are there, two who take get one each, the older by the one or the other.")
  @Outcome(
      id = {"1, 2, 0", "2, 1, 0"},
      expect = ACCEPTABLE,
      desc = "one each")
  @Outcome(expect = FORBIDDEN, desc = "the same twice, or one is lost")
  @State
  public static class TwoTake {
    private final ReadyQueue queue = new ReadyQueue();

    public TwoTake() {
      queue.put(new Numbered(1), 1);
      queue.put(new Numbered(2), 2);
    }

    @Actor
    public void one(III_Result r) {
      r.r1 = number(queue.take());
    }

    @Actor
    public void two(III_Result r) {
      r.r2 = number(queue.take());
    }

    @Arbiter
    public void rest(III_Result r) {
      r.r3 = number(queue.take());
    }
  }

  @JCStressTest
  @Description("What one puts, in that order, is taken in that order.")
  @Outcome(
      id = {"0, 0, 1", "0, 1, 2", "1, 2, 3", "1, 0, 2"},
      expect = ACCEPTABLE,
      desc = "in order")
  @Outcome(expect = FORBIDDEN, desc = "out of order, or lost")
  @State
  public static class PutAndTake {
    private final ReadyQueue queue = new ReadyQueue();

    @Actor
    public void put() {
      queue.put(new Numbered(1), 1);
      queue.put(new Numbered(2), 2);
      queue.put(new Numbered(3), 3);
    }

    @Actor
    public void take(III_Result r) {
      r.r1 = number(queue.take());
      r.r2 = number(queue.take());
    }

    @Arbiter
    public void next(III_Result r) {
      r.r3 = number(queue.take());
    }
  }

  @JCStressTest
  @Description("Looking at the queue while it changes never fails nor sees what cannot be.")
  @Outcome(
      id = {"0, 1", "9, 1"},
      expect = ACCEPTABLE,
      desc = "the first task was there, or none")
  @Outcome(
      id = {"8, 1", "7, 1"},
      expect = ACCEPTABLE,
      desc = "the second was the first by then, or the third")
  @Outcome(expect = FORBIDDEN, desc = "something else")
  @State
  public static class LookWhileItChanges {
    private final ReadyQueue queue = new ReadyQueue();

    @Actor
    public void change() {
      for (int i = 1; i <= 3; i++) {
        queue.put(new Numbered(i), i);
        var _ = queue.take();
      }
      queue.put(new Numbered(1), 1);
    }

    @Actor
    public void look(II_Result r) {
      // It may count tasks that come and go while it walks, but each of the four once.
      if (queue.count() > 4) {
        throw new AssertionError("there were never more than four");
      }
      r.r1 = (int) queue.oldestWait(10);
    }

    @Arbiter
    public void rest(II_Result r) {
      r.r2 = number(queue.take());
    }
  }

  @JCStressTest
  @Description("Of the woken and those whose turn was over, each is taken once, whoever takes.")
  @Outcome(
      id = {"0, 3", "1, 2", "2, 1"},
      expect = ACCEPTABLE,
      desc = "one is taken, or none, and the rest is there")
  @Outcome(expect = FORBIDDEN, desc = "one is lost, or there twice")
  @State
  public static class BothKinds {
    private final Ready ready = new Ready();

    @Actor
    public void put() {
      ready.put(new Numbered(1), false, 1);
      ready.put(new Numbered(2), true, 2);
    }

    @Actor
    public void take(II_Result r) {
      r.r1 = number(ready.take(3));
    }

    @Arbiter
    public void rest(II_Result r) {
      while (!ready.isEmpty()) {
        r.r2 += number(ready.take(4));
      }
    }
  }
}
