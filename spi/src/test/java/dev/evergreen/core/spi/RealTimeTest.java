package dev.evergreen.core.spi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Test;

class RealTimeTest {

  private static final long SOON_SECONDS = 20;

  @Test
  void everyTimerFiresOnceWhateverOthersAreCancelledMeanwhile() throws InterruptedException {
    int threads = 3;
    int timers = 4_000;
    var fired = new AtomicIntegerArray(threads * timers);
    var kept = new CountDownLatch(threads * timers / 2);
    try (var time = RealTime.create()) {
      var setters = new ArrayList<Thread>();
      for (int t = 0; t < threads; t++) {
        int first = t * timers;
        setters.add(
            time.start(
                () -> {
                  for (int i = first; i < first + timers; i++) {
                    set(time, i, fired, kept);
                  }
                }));
      }
      for (var setter : setters) {
        assertTrue(setter.join(Duration.ofSeconds(SOON_SECONDS)), "timers cannot be set");
      }
      assertTrue(
          kept.await(SOON_SECONDS, TimeUnit.SECONDS), () -> kept.getCount() + " timers were lost");
    }
    for (int i = 0; i < fired.length(); i++) {
      int times = fired.get(i);
      assertTrue(times == 1 || (times == 0 && isCancelled(i)), "timer " + i + " fired " + times);
    }
  }

  private static boolean isCancelled(int timer) {
    return timer % 2 == 1;
  }

  private static void set(RealTime time, int i, AtomicIntegerArray fired, CountDownLatch kept) {
    long delay = ThreadLocalRandom.current().nextLong(50_000);
    var timer =
        time.after(
            delay,
            () -> {
              fired.incrementAndGet(i);
              if (!isCancelled(i)) {
                kept.countDown();
              }
            });
    if (isCancelled(i)) {
      timer.cancel();
    }
  }

  /** As for want of memory. */
  @Test
  void longWaitsEndThoughATimerWasRefused() throws InterruptedException {
    var refuses = new AtomicBoolean(true);
    var timers =
        new ScheduledThreadPoolExecutor(1) {
          @Override
          public ScheduledFuture<?> schedule(Runnable task, long delay, TimeUnit unit) {
            if (refuses.getAndSet(false)) {
              throw new OutOfMemoryError("says the test");
            }
            return super.schedule(task, delay, unit);
          }
        };
    try (var time = new RealTime(timers)) {
      long wait = TimeUnit.SECONDS.toNanos(1);
      var refused = new CountDownLatch(1);
      var waiting =
          time.start(
              () -> {
                assertThrows(OutOfMemoryError.class, () -> time.parkNanos(wait));
                refused.countDown();
                long end = time.nanos() + wait;
                for (long left = wait; left > 0; left = end - time.nanos()) {
                  time.parkNanos(Math.max(wait, left));
                }
              });
      assertTrue(refused.await(SOON_SECONDS, TimeUnit.SECONDS));
      assertTrue(waiting.join(Duration.ofSeconds(SOON_SECONDS)), "the wait has no end");
    }
  }

  @Test
  void nothingStartsOnceItIsClosed() throws InterruptedException {
    for (int round = 0; round < 200; round++) {
      var time = RealTime.create();
      var started = new AtomicInteger();
      var setting = new CountDownLatch(1);
      var setter =
          time.start(
              () -> {
                for (int i = 0; i < 50; i++) {
                  time.after(TimeUnit.DAYS.toNanos(1), started::incrementAndGet);
                  setting.countDown();
                }
              });
      setting.await();
      time.close();
      assertTrue(setter.join(Duration.ofSeconds(SOON_SECONDS)), "a timer cannot be set");
      assertEquals(0, started.get());
    }
  }

  @Test
  void aThreadIsWokenThoughItIsOnlyAboutToPark() throws InterruptedException {
    try (var time = RealTime.create()) {
      var turn = new AtomicInteger();
      var one = new CountDownLatch(1);
      var threads = new Thread[2];
      for (int me = 0; me < 2; me++) {
        int even = me;
        Runnable pass =
            () -> {
              awaitQuietly(one);
              for (int i = even; i < 20_000; i += 2) {
                while (turn.get() != i) {
                  time.park();
                }
                turn.set(i + 1);
                time.unpark(threads[1 - even]);
              }
            };
        // One of each kind: they park differently.
        threads[me] = me == 0 ? time.start(pass) : Thread.ofPlatform().daemon().start(pass);
      }
      one.countDown();
      for (var thread : threads) {
        assertTrue(
            thread.join(Duration.ofSeconds(SOON_SECONDS)), () -> "nobody woke it at turn " + turn);
      }
    }
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void aLongWaitEndsInTimeThoughNobodyEndsIt() throws InterruptedException {
    try (var time = RealTime.create()) {
      var waiters = List.of(waiter(time, true), waiter(time, true), waiter(time, false));
      for (var waiter : waiters) {
        assertTrue(waiter.join(Duration.ofSeconds(SOON_SECONDS)), "a wait has no end");
      }
    }
  }

  @Test
  void aLongWaitEndsInTimeAlsoWhenTimersAreClosedMeanwhile() throws InterruptedException {
    var time = RealTime.create();
    var early = waiter(time, true);
    while (early.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    time.close();
    var late = waiter(time, true);
    assertTrue(early.join(Duration.ofSeconds(SOON_SECONDS)), "a wait from before has no end");
    assertTrue(late.join(Duration.ofSeconds(SOON_SECONDS)), "a wait from afterwards has no end");
  }

  private static Thread waiter(RealTime time, boolean virtual) {
    long wait = TimeUnit.MILLISECONDS.toNanos(1_200);
    Runnable body =
        () -> {
          long end = System.nanoTime() + wait;
          for (long left = wait; left > 0; left = end - System.nanoTime()) {
            time.parkNanos(wait);
          }
        };
    return virtual ? Thread.startVirtualThread(body) : Thread.ofPlatform().start(body);
  }

  @Test
  void whoeverWaitsLongOrWithoutEndIsWokenByOthers() throws InterruptedException {
    try (var time = RealTime.create()) {
      for (long nanos : new long[] {TimeUnit.DAYS.toNanos(1), Long.MAX_VALUE}) {
        var woken = new AtomicInteger();
        var waiter =
            time.start(
                () -> {
                  while (woken.get() == 0) {
                    time.parkNanos(nanos);
                  }
                });
        while (waiter.getState() != Thread.State.WAITING) {
          Thread.onSpinWait();
        }
        woken.set(1);
        time.unpark(waiter);
        assertTrue(waiter.join(Duration.ofSeconds(SOON_SECONDS)), "it was not woken");
      }
    }
  }

  /** Setting the timer for the first long wait may have to wait for others that set timers. */
  @Test
  void aLongWaitIsEndedThoughManyTimersAreSetInThisMoment() throws InterruptedException {
    for (int round = 0; round < 1_000; round++) {
      try (var time = RealTime.create()) {
        var begun = new CountDownLatch(2);
        var woken = new AtomicInteger();
        var other =
            Thread.ofPlatform()
                .start(
                    () -> {
                      begun.countDown();
                      while (woken.get() == 0) {
                        time.after(TimeUnit.DAYS.toNanos(1), () -> {}).cancel();
                      }
                    });
        var waiter =
            Thread.ofPlatform()
                .daemon()
                .start(
                    () -> {
                      begun.countDown();
                      while (woken.get() == 0) {
                        time.parkNanos(TimeUnit.DAYS.toNanos(1));
                      }
                    });
        begun.await();
        for (int i = 0; i < round; i++) {
          Thread.onSpinWait();
        }
        woken.set(1);
        time.unpark(waiter);
        assertTrue(waiter.join(Duration.ofSeconds(SOON_SECONDS)), "it was not woken");
        other.join();
      }
    }
  }
}
