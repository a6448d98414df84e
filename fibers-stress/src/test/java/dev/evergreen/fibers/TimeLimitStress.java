package dev.evergreen.fibers;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
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
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;

/** Waits with limits, whose alarms ring while one wait ends and the next one begins. */
public final class TimeLimitStress {

  private static final ProcessorFibers FIBERS =
      (ProcessorFibers) Fibers.builder().mode(Mode.PROCESSORS).processors(1).start();

  private static final long SHORT_NANOS = 1_000;
  private static final long LONG_NANOS = 100_000;

  private TimeLimitStress() {}

  private static boolean arrives(CountDownLatch latch) {
    try {
      return latch.await(20, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Waits at the gate until the limit, as a reader does. */
  private static void await(TimeLimit limit, Gate gate, long nanos) {
    long until = System.nanoTime() + nanos;
    do {
      limit.begin(until, FIBERS.here());
      gate.await();
      limit.end();
    } while (System.nanoTime() - until < 0);
  }

  @JCStressTest
  @Description("A wait that is over by an event, and one after it that only its alarm can end.")
  @Outcome(id = "1", expect = ACCEPTABLE, desc = "the second wait ended in time")
  @Outcome(expect = FORBIDDEN, desc = "it had no alarm")
  @State
  public static class EventThenAlarm {
    private final Gate gate = new Gate();
    private final TimeLimit limit = new TimeLimit(gate);
    private final CountDownLatch ended = new CountDownLatch(1);

    @Actor
    public void reader() {
      FIBERS.spawn(
          () -> {
            limit.begin(System.nanoTime() + SHORT_NANOS, FIBERS.here());
            gate.await();
            limit.end();
            await(limit, gate, LONG_NANOS);
            ended.countDown();
          });
    }

    @Actor
    public void event() {
      gate.open();
    }

    @Arbiter
    public void count(I_Result r) {
      r.r1 = arrives(ended) ? 1 : 0;
      limit.cancel();
    }
  }

  /** What a reader with a limit tells of a wait that an event and the alarm may end. */
  @JCStressTest
  @Description("An alarm of a former, shorter wait rings during the next one, far from its limit.")
  @Outcome(id = "0, 1", expect = ACCEPTABLE, desc = "the wait lasted until its event")
  @Outcome(
      id = "1, 1",
      expect = ACCEPTABLE_INTERESTING,
      desc = "it was woken before, saw that its time is not over, and waited on")
  @Outcome(expect = FORBIDDEN, desc = "it was taken for over, or never ended")
  @State
  public static class StaleAlarm {
    private final Gate gate = new Gate();
    private final TimeLimit limit = new TimeLimit(gate);
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile boolean happened;
    private volatile int woken;

    @Actor
    public void reader() {
      FIBERS.spawn(
          () -> {
            limit.begin(System.nanoTime() + SHORT_NANOS, FIBERS.here());
            limit.end();
            long until = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
            while (!happened && System.nanoTime() - until < 0) {
              limit.begin(until, FIBERS.here());
              gate.await();
              limit.end();
              woken = happened ? woken : 1;
            }
            ended.countDown();
          });
    }

    @Actor
    public void event() {
      happened = true;
      gate.open();
    }

    @Arbiter
    public void count(II_Result r) {
      boolean arrived = arrives(ended);
      r.r1 = woken;
      r.r2 = arrived && happened ? 1 : 0;
      limit.cancel();
    }
  }
}
