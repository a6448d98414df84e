package dev.evergreen.core.spi;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Most of these waited for ever without the watcher. */
@Timeout(120)
class CarriersTest {

  private static final int MANY = 4 * Runtime.getRuntime().availableProcessors();

  private static final long TOO_MANY = 10_000_000;

  private final LongAdder starts = new LongAdder();
  private final RealTime time = RealTime.create();
  private final List<Thread> busy = new ArrayList<>();
  private volatile boolean over;

  @AfterEach
  void end() throws InterruptedException {
    over = true;
    busy.forEach(time::unpark);
    for (var thread : busy) {
      thread.join();
    }
    time.close();
  }

  /** Two threads that wait for each other in turn. */
  private final class Pair {

    private final AtomicInteger turn = new AtomicInteger();
    private final Thread[] threads = new Thread[2];

    Pair(int turns) {
      for (int i = 0; i < 2; i++) {
        int mine = i;
        threads[i] = Thread.ofVirtual().unstarted(() -> play(mine, turns));
      }
    }

    List<Thread> start() {
      threads[0].start();
      threads[1].start();
      return List.of(threads);
    }

    private void play(int mine, int turns) {
      for (int next = mine; next < turns && !over; next += 2) {
        while (turn.get() != next && !over) {
          time.park();
        }
        turn.set(next + 1);
        time.unpark(threads[1 - mine]);
      }
    }
  }

  private void pairsPlay() {
    for (int i = 0; i < MANY; i++) {
      busy.addAll(new Pair(Integer.MAX_VALUE).start());
    }
  }

  private static void assertRuns(Runnable start, CountDownLatch run) throws InterruptedException {
    start.run();
    assertTrue(run.await(30, TimeUnit.SECONDS), "nobody lets it run");
  }

  @Test
  void whoWakeEachOtherKeepNobodyOut() throws Exception {
    pairsPlay();
    for (int i = 0; i < 20; i++) {
      var run = new CountDownLatch(1);
      assertRuns(() -> Thread.startVirtualThread(run::countDown), run);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whoYieldKeepNobodyOutAndAreInterruptedAsBefore(boolean interrupted) throws Exception {
    var changed = new AtomicBoolean();
    for (int i = 0; i < MANY; i++) {
      busy.add(
          Thread.startVirtualThread(
              () -> {
                if (interrupted) {
                  Thread.currentThread().interrupt();
                }
                while (!over) {
                  Carriers.letOthersRun();
                  if (Thread.currentThread().isInterrupted() != interrupted) {
                    changed.set(true);
                  }
                }
              }));
    }
    for (int i = 0; i < 20; i++) {
      var run = new CountDownLatch(1);
      assertRuns(() -> Thread.startVirtualThread(run::countDown), run);
    }
    assertFalse(changed.get());
  }

  /** Others were let in now and then without the watcher, after so many starts. */
  @Test
  void whoStartEachOtherKeepNobodyOut() throws Exception {
    for (int i = 0; i < MANY; i++) {
      Thread.startVirtualThread(this::startTheNext);
    }
    for (int i = 0; i < 20; i++) {
      long before = starts.sum();
      var run = new CountDownLatch(1);
      assertRuns(() -> Thread.startVirtualThread(run::countDown), run);
      assertTrue(starts.sum() - before < TOO_MANY, "it waited for millions of others");
    }
  }

  private void startTheNext() {
    if (!over) {
      starts.increment();
      time.start(this::startTheNext);
    }
  }

  @Test
  void whoComeAfterAPauseKeepNobodyOut() throws Exception {
    awaitThatItLooksNoMore(watcher());
    whoWakeEachOtherKeepNobodyOut();
  }

  @Test
  void aWatcherThatIsInterruptedGoesOn() throws Exception {
    var watcher = watcher();
    watcher.interrupt();
    awaitThatItLooksNoMore(watcher);
    watcher.interrupt();
    whoWakeEachOtherKeepNobodyOut();
  }

  private static void awaitThatItLooksNoMore(Thread watcher) {
    while (watcher.getState() != Thread.State.WAITING || watcher.isInterrupted()) {
      Thread.onSpinWait();
    }
  }

  private static Thread watcher() throws InterruptedException {
    Thread.startVirtualThread(Carriers::letOthersRun).join();
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().equals("evergreen-carriers-watcher"))
        .findFirst()
        .orElseThrow();
  }

  /** Each thread that starts virtual ones has its own queue, of which there are several. */
  @Test
  void nobodyIsKeptOutWhoeverStartsIt() throws Exception {
    pairsPlay();
    var run = new CountDownLatch(16 * 20);
    for (int i = 0; i < 16; i++) {
      Thread.ofPlatform()
          .start(
              () -> {
                for (int j = 0; j < 20; j++) {
                  Thread.startVirtualThread(run::countDown);
                }
              });
    }
    assertTrue(run.await(30, TimeUnit.SECONDS), () -> run.getCount() + " are kept out");
  }

  @Test
  void theEndOfAWaitIsNotKeptOut() throws Exception {
    pairsPlay();
    for (int i = 0; i < 20; i++) {
      var run = new CountDownLatch(1);
      assertRuns(() -> time.after(1, () -> time.start(run::countDown)), run);
    }
  }

  @Test
  void nobodyIsForgottenWhoeverIsLetInMeanwhile() throws Exception {
    var pairs = new ArrayList<Thread>();
    for (int i = 0; i < MANY; i++) {
      pairs.addAll(new Pair(20_000).start());
    }
    for (var thread : pairs) {
      assertTrue(thread.join(Duration.ofSeconds(60)), "a wake-up was lost");
    }
  }

  /** And not by what was to end the one before, and comes late. */
  @Test
  void aHoldIsEndedByItsOwnEnd() {
    var carriers = new Carriers();
    int first = carriers.beginHold();
    carriers.goOn();
    assertFalse(carriers.holds());
    int second = carriers.beginHold();
    carriers.goOn(first);
    assertTrue(carriers.holds());
    carriers.goOn(second);
    assertFalse(carriers.holds());
  }
}
