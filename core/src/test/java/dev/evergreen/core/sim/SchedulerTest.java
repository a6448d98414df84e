package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

final class SchedulerTest {

  private static final RandomPolicy.Pace PACE =
      new RandomPolicy.Pace(1_000, 50, 100_000, 20, false, 0, 100_000);

  private final Trace trace = new Trace(true);

  private Scheduler scheduler(long seed) {
    return new Scheduler(new RandomPolicy(new SplittableRandom(seed), PACE), trace);
  }

  @Test
  void aSeedGivesTheSameScheduleEachTimeAndAnotherSeedAnother() {
    assertEquals(toy(1), toy(1));
    assertEquals(toy(2), toy(2));
    assertNotEquals(toy(1), toy(2));
  }

  /** Threads that pass a token around, with timers between. */
  private static String toy(long seed) {
    var trace = new Trace(true);
    var scheduler = new Scheduler(new RandomPolicy(new SplittableRandom(seed), PACE), trace);
    var order = new StringBuilder();
    scheduler.run(
        () -> {
          var workers = new ArrayList<SimThread>();
          for (int i = 0; i < 8; i++) {
            int me = i;
            workers.add(
                scheduler.start(
                    scheduler.world(),
                    "worker",
                    () -> {
                      for (int turn = 0; turn < 20; turn++) {
                        order.append(me);
                        scheduler.unpark(workers.get((me + turn) % 8).thread);
                        scheduler.parkNanos(1_000L * (me + 1));
                      }
                    }));
          }
          scheduler.sleep(Duration.ofSeconds(1).toNanos());
        });
    return order + " " + trace.hash();
  }

  @Test
  void timeJumpsToTheNextTimerWhenNothingRuns() {
    var scheduler = scheduler(1);
    scheduler.run(
        () -> {
          scheduler.sleep(Duration.ofDays(3).toNanos());
          assertTrue(scheduler.now() >= Duration.ofDays(3).toNanos());
          assertTrue(scheduler.now() < Duration.ofDays(3).plusMillis(1).toNanos());
        });
  }

  @Test
  void anUnparkBeforeTheParkIsNotLost() {
    var scheduler = scheduler(1);
    scheduler.run(
        () -> {
          scheduler.unpark(Thread.currentThread());
          scheduler.park();
        });
  }

  @Test
  void aThreadThatWaitsForEverFailsTheRunWithItsStack() {
    var scheduler = scheduler(1);
    var failure =
        assertThrows(SimulationFailure.class, () -> scheduler.run(() -> parkForEver(scheduler)));
    assertTrue(failure.toString().contains("all threads wait"), failure.toString());
    assertTrue(failure.toString().contains("parkForEver"), failure.toString());
  }

  private static void parkForEver(Scheduler scheduler) {
    while (true) {
      scheduler.park();
    }
  }

  @Test
  void aRunWithoutEndFails() {
    var scheduler = scheduler(1);
    var failure =
        assertThrows(
            SimulationFailure.class,
            () ->
                scheduler.run(
                    () -> {
                      while (true) {
                        scheduler.interleave();
                      }
                    }));
    assertTrue(failure.toString().contains("no end after 100000 steps"), failure.toString());
  }

  @Test
  void anExceptionInAnyThreadFailsTheRun() {
    var scheduler = scheduler(1);
    var failure =
        assertThrows(
            SimulationFailure.class,
            () ->
                scheduler.run(
                    () -> {
                      scheduler.start(scheduler.world(), "bad", () -> Integer.parseInt("x"));
                      parkForEver(scheduler);
                    }));
    assertTrue(failure.toString().contains("NumberFormatException"), failure.toString());
  }

  @Test
  void aTimerTaskThatBlocksFailsTheRun() {
    var scheduler = scheduler(1);
    var failure =
        assertThrows(
            SimulationFailure.class,
            () ->
                scheduler.run(
                    () -> {
                      scheduler.after(10, scheduler.world(), scheduler::park);
                      scheduler.sleep(1_000_000);
                    }));
    assertTrue(failure.toString().contains("blocks"), failure.toString());
  }

  @Test
  void aPausedLifeStandsStillAndCatchesUp() {
    var scheduler = scheduler(1);
    var life = new Life("node");
    var order = new ArrayList<String>();
    scheduler.run(
        () -> {
          scheduler.start(
              life,
              "sleeper",
              () -> {
                scheduler.sleep(1_000_000);
                order.add("thread");
              });
          scheduler.after(2_000_000, life, () -> order.add("timer 2"));
          scheduler.after(1_000_000, life, () -> order.add("timer 1"));
          var cancelled = scheduler.after(1_500_000, life, () -> order.add("cancelled"));
          scheduler.sleep(500_000);
          scheduler.pause(life);
          scheduler.sleep(10_000_000);
          cancelled.cancel();
          assertEquals("[]", order.toString());
          scheduler.resume(life);
          scheduler.sleep(10_000_000);
        });
    assertEquals(3, order.size(), order.toString());
    assertTrue(order.indexOf("timer 1") < order.indexOf("timer 2"), order.toString());
  }

  @Test
  void aDeadLifeIsNeverResumed() {
    var scheduler = scheduler(1);
    var life = new Life("node");
    var order = new ArrayList<String>();
    scheduler.run(
        () -> {
          scheduler.start(
              life,
              "sleeper",
              () -> {
                scheduler.sleep(1_000_000);
                order.add("thread");
              });
          scheduler.after(2_000_000, life, () -> order.add("timer"));
          scheduler.sleep(500_000);
          scheduler.kill(life);
          scheduler.sleep(10_000_000);
        });
    assertEquals("[]", order.toString());
  }

  @Test
  void anInterruptedThreadReturnsFromParkWithItsStatusSet() {
    var scheduler = scheduler(1);
    scheduler.run(
        () -> {
          var seen = new ArrayList<Boolean>();
          var sleeper =
              scheduler.start(
                  scheduler.world(),
                  "sleeper",
                  () -> {
                    scheduler.parkNanos(Duration.ofDays(1).toNanos());
                    seen.add(Thread.interrupted());
                  });
          scheduler.sleep(1_000_000);
          scheduler.interrupt(sleeper);
          scheduler.sleep(1_000_000);
          assertTrue(seen.size() == 1, seen.toString());
        });
  }

  @Test
  void allThreadsEndWithTheRun() throws InterruptedException {
    var scheduler = scheduler(1);
    var left = new ArrayList<Thread>();
    scheduler.run(
        () -> {
          for (int i = 0; i < 10; i++) {
            left.add(
                scheduler.start(scheduler.world(), "waits", () -> parkForEver(scheduler)).thread);
          }
          scheduler.sleep(1_000_000);
        });
    assertEquals(0, scheduler.abandoned());
    for (var thread : left) {
      // It passes the baton on for the last time before it ends.
      assertTrue(thread.join(Duration.ofSeconds(20)), () -> thread.toString());
    }
  }

  @Test
  void aThreadOfNobodyIsRefused() {
    var scheduler = scheduler(1);
    scheduler.run(() -> scheduler.sleep(1));
    assertThrows(SimulationFailure.class, scheduler::park);
    LockSupport.unpark(Thread.currentThread());
  }
}
