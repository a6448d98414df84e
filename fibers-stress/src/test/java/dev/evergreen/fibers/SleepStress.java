package dev.evergreen.fibers;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.evergreen.fibers.Fibers.Mode;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Description;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/** Processors that fall asleep while work comes. */
public final class SleepStress {

  private static final Fibers ONE = start(1);
  private static final Fibers TWO = start(2);

  private SleepStress() {}

  private static Fibers start(int processors) {
    return Fibers.builder().mode(Mode.PROCESSORS).processors(processors).start();
  }

  /** How many of two ran; a lost wake-up is one too few, as nothing else comes to wake it. */
  private static int ran(CountDownLatch left) {
    try {
      return left.await(20, TimeUnit.SECONDS) ? 2 : 2 - (int) left.getCount();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @JCStressTest
  @Description("Two threads that start a fiber each on one processor: both run.")
  @Outcome(id = "2", expect = ACCEPTABLE, desc = "both ran")
  @Outcome(expect = FORBIDDEN, desc = "a wake-up was lost")
  @State
  public static class TwoStartOnOne {
    private final CountDownLatch left = new CountDownLatch(2);

    @Actor
    public void one() {
      ONE.spawn(left::countDown);
    }

    @Actor
    public void two() {
      ONE.spawn(left::countDown);
    }

    @Arbiter
    public void count(I_Result r) {
      r.r1 = ran(left);
    }
  }

  @JCStressTest
  @Description("Two threads that start a fiber each on two processors: both run.")
  @Outcome(id = "2", expect = ACCEPTABLE, desc = "both ran")
  @Outcome(expect = FORBIDDEN, desc = "a wake-up was lost")
  @State
  public static class TwoStartOnTwo {
    private final CountDownLatch left = new CountDownLatch(2);

    @Actor
    public void one() {
      TWO.spawn(left::countDown);
    }

    @Actor
    public void two() {
      TWO.spawn(left::countDown);
    }

    @Arbiter
    public void count(I_Result r) {
      r.r1 = ran(left);
    }
  }

  /** A fiber that waits, and a gate for it; the other thread opens it at any moment. */
  private static Thread waiter(Fibers fibers, Gate gate, CountDownLatch left) {
    return fibers.spawn(
        () -> {
          if (gate.await()) {
            left.countDown();
          }
        });
  }

  @JCStressTest
  @Description("A fiber is woken while it, and its only processor, fall asleep.")
  @Outcome(id = "2", expect = ACCEPTABLE, desc = "both ran")
  @Outcome(expect = FORBIDDEN, desc = "a wake-up was lost")
  @State
  public static class WakeOnOne {
    private final CountDownLatch left = new CountDownLatch(2);
    private final Gate gate = new Gate();

    @Actor
    public void start() {
      waiter(ONE, gate, left);
    }

    @Actor
    public void open() {
      gate.open();
      left.countDown();
    }

    @Arbiter
    public void count(I_Result r) {
      r.r1 = ran(left);
    }
  }

  @JCStressTest
  @Description("A fiber is woken while it, and one of two processors, fall asleep.")
  @Outcome(id = "2", expect = ACCEPTABLE, desc = "both ran")
  @Outcome(expect = FORBIDDEN, desc = "a wake-up was lost")
  @State
  public static class WakeOnTwo {
    private final CountDownLatch left = new CountDownLatch(2);
    private final Gate gate = new Gate();

    @Actor
    public void start() {
      waiter(TWO, gate, left);
    }

    @Actor
    public void open() {
      gate.open();
      left.countDown();
    }

    @Arbiter
    public void count(I_Result r) {
      r.r1 = ran(left);
    }
  }

  @JCStressTest
  @Description(
      "Two alarms, the nearer one maybe added while the processor falls asleep for the other.")
  @Outcome(id = "2", expect = ACCEPTABLE, desc = "both rang")
  @Outcome(expect = FORBIDDEN, desc = "the processor slept on")
  @State
  public static class TwoAlarms {
    private final CountDownLatch left = new CountDownLatch(2);

    @Actor
    public void late() {
      ONE.schedule(java.time.Duration.ofNanos(400_000), left::countDown);
    }

    @Actor
    public void soon() {
      ONE.schedule(java.time.Duration.ofNanos(1_000), left::countDown);
    }

    @Arbiter
    public void count(I_Result r) {
      r.r1 = ran(left);
    }
  }
}
