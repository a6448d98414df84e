package dev.evergreen.bench;

import dev.evergreen.fibers.Fibers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The micro-benchmarks of the thesis's family (001): what fibers do to each other until time is up.
 * The same games are played by goroutines in {@code fibers.go}.
 */
enum FiberGame {
  /** All let others run: a switch without a wake-up. */
  YIELD {
    @Override
    long play(Table table, int me) {
      long turns = 0;
      for (; !table.over; turns++) {
        Fibers.letOthersRun();
      }
      return turns;
    }
  },

  /** Rings of four, in each of which one wakes the next and waits for its turn. */
  CYCLE {
    @Override
    long play(Table table, int me) {
      int ring = me / RING * RING;
      int next = me + 1 < Math.min(ring + RING, table.players.length) ? me + 1 : ring;
      if (me == ring) {
        table.players[me].wake();
      }
      long turns = 0;
      for (; table.players[me].sleep(table); turns++) {
        table.players[next].wake();
      }
      return turns;
    }
  },

  /** Each wakes who waits at a spot chosen at random, and waits there itself. */
  CHURN {
    @Override
    long play(Table table, int me) {
      return visitSpots(table, me, false);
    }
  },

  /** As {@link #CHURN}, and writes to memory of the one that it wakes. */
  LOCALITY {
    @Override
    long play(Table table, int me) {
      return visitSpots(table, me, true);
    }
  },

  /**
   * A leader waits until all others have seen that it leads, and then hands over. They look and let
   * others run, so that without fairness it would take for ever.
   */
  TRANSFER {
    @Override
    long play(Table table, int me) {
      var random = new SplittableRandom(me);
      long transfers = 0;
      long seen = 0;
      while (!table.over) {
        long reign = table.reign;
        if (table.leader == me) {
          if (table.allSaw(me, reign)) {
            table.leader = random.nextInt(table.players.length);
            table.reign = reign + 1;
            transfers++;
          }
        } else if (seen != reign) {
          seen = reign;
          table.players[me].seen = reign;
        }
        Fibers.letOthersRun();
      }
      return transfers;
    }
  };

  private static final int RING = 4;
  private static final int TOUCHED = 16;

  /** With more fibers a turn takes too long to be counted. */
  int mostFibers() {
    return this == TRANSFER ? 512 : Integer.MAX_VALUE;
  }

  /** Has one fiber play until it is over; returns how many turns it had. */
  abstract long play(Table table, int me);

  private static long visitSpots(Table table, int me, boolean touching) {
    var random = new SplittableRandom(me);
    var player = table.players[me];
    long turns = 0;
    do {
      var other = table.spots.getAndSet(random.nextInt(table.spots.length()), player);
      if (other != null) {
        if (touching) {
          other.touch(random);
        }
        other.wake();
      }
      turns++;
    } while (player.sleep(table));
    return turns;
  }

  /** A fiber, as others know it. */
  private static final class Player {
    private final long[] memory = new long[256];
    private volatile @Nullable Thread thread;
    private volatile boolean woken;
    private volatile long seen;

    void wake() {
      woken = true;
      LockSupport.unpark(thread);
    }

    /** Waits until it is woken; false if the game is over. */
    boolean sleep(Table table) {
      while (!woken && !table.over) {
        LockSupport.park(this);
      }
      woken = false;
      return !table.over;
    }

    void touch(RandomGenerator random) {
      for (int i = 0; i < TOUCHED; i++) {
        memory[random.nextInt(memory.length)]++;
      }
    }
  }

  /** What the players of one game share. */
  private static final class Table {
    private final Player[] players;

    /** Fewer than players, so that some are always awake. */
    private final AtomicReferenceArray<@Nullable Player> spots;

    private volatile boolean over;
    private volatile int leader;
    private volatile long reign = 1;

    Table(int fibers) {
      players = new Player[fibers];
      Arrays.setAll(players, i -> new Player());
      spots = new AtomicReferenceArray<>(Math.max(1, fibers / 2));
    }

    boolean allSaw(int me, long reign) {
      for (int i = 0; i < players.length; i++) {
        if (i != me && players[i].seen != reign) {
          return false;
        }
      }
      return true;
    }

    void end() {
      over = true;
      for (var player : players) {
        player.wake();
      }
    }
  }

  /**
   * Plays, and blocks as long.
   *
   * @return turns a second of all fibers together
   */
  double perSecond(Fibers fibers, int count, Duration time) throws InterruptedException {
    var table = new Table(count);
    var begin = new CountDownLatch(1);
    var turns = new long[count];
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      int me = i;
      threads.add(
          fibers.spawn(
              () -> {
                table.players[me].thread = Thread.currentThread();
                awaitUninterruptibly(begin);
                turns[me] = play(table, me);
              }));
    }
    long start = System.nanoTime();
    begin.countDown();
    Thread.sleep(time);
    long nanos = System.nanoTime() - start;
    table.end();
    for (var thread : threads) {
      thread.join();
    }
    return Arrays.stream(turns).sum() * 1e9 / nanos;
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException("nobody interrupts a game", e);
    }
  }
}
