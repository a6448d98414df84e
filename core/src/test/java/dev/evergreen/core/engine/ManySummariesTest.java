package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.Node;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.engine.TestGrains.Gate;
import dev.evergreen.core.engine.TestGrains.GateGrain;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A grain of which very much is watched: it stays as quick for everybody else. */
class ManySummariesTest {

  private static final int MANY = 300;

  private final Node node = TestGrains.node().grain(Board.class, BoardGrain::new).start();
  private final Board board = node.grains().get(Board.class, "b");

  @AfterEach
  void stop() {
    node.close();
  }

  interface Board extends Grain {
    void write();

    @ReadOnly
    int written();

    /** How often it was written, as one of many. */
    @ReadOnly
    long oneOf(int number);

    /** How many runs have begun when this is executed. */
    @ReadOnly
    int runsSoFar();

    /** Reads a gate, which is another one after each write. */
    @ReadOnly
    String behind(String gate);
  }

  static final class BoardGrain implements Board {
    static final AtomicInteger RUNS = new AtomicInteger();
    static volatile CountDownLatch running = new CountDownLatch(0);
    static volatile CountDownLatch mayEnd = new CountDownLatch(0);

    private final GrainContext<String> context;
    private int written;

    BoardGrain(GrainContext<String> context) {
      this.context = context;
    }

    @Override
    public void write() {
      written++;
    }

    @Override
    public int written() {
      return written;
    }

    @Override
    public long oneOf(int number) {
      RUNS.incrementAndGet();
      running.countDown();
      try {
        mayEnd.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      return written;
    }

    @Override
    public int runsSoFar() {
      return RUNS.get();
    }

    @Override
    public String behind(String gate) {
      return written + context.grains().get(Gate.class, gate + written).readWhenOpen();
    }
  }

  private List<ResultTracker<Long>> watchAll() {
    var trackers = new ArrayList<ResultTracker<Long>>();
    for (int i = 0; i < MANY; i++) {
      int number = i;
      trackers.add(node.reactive(() -> board.oneOf(number)).tracker());
    }
    trackers.forEach(tracker -> tracker.next(SOON));
    return trackers;
  }

  @Test
  void aReadWaitsForFewRunsAndNotForAll() throws Exception {
    watchAll();
    BoardGrain.running = new CountDownLatch(1);
    BoardGrain.mayEnd = new CountDownLatch(1);
    board.write();
    BoardGrain.running.await();
    int before = BoardGrain.RUNS.get();
    var read = new CompletableFuture<Integer>();
    var reader = Thread.startVirtualThread(() -> read.complete(board.runsSoFar()));
    while (reader.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    BoardGrain.mayEnd.countDown();
    int runs = read.get() - before;
    assertTrue(runs <= 40, () -> runs + " runs came before a read");
  }

  @Test
  void runsAreNotBehindReadsThatFollowEachOther() throws Exception {
    var trackers = watchAll();
    var stop = new AtomicBoolean();
    var reads = new AtomicInteger();
    var readers = new ArrayList<CompletableFuture<Void>>();
    for (int i = 0; i < 30; i++) {
      readers.add(
          CompletableFuture.runAsync(
              () -> {
                while (!stop.get()) {
                  board.written();
                  reads.incrementAndGet();
                }
              },
              Thread::startVirtualThread));
    }
    try {
      board.write();
      int before = reads.get();
      trackers.forEach(tracker -> tracker.next(SOON));
      int meanwhile = reads.get() - before;
      assertTrue(meanwhile < MANY * 10, () -> meanwhile + " reads came before the last run");
    } finally {
      stop.set(true);
      for (var reader : readers) {
        reader.get();
      }
    }
  }

  @Test
  void allHaveResultsWhileWritesNeverPause() throws Exception {
    var trackers = watchAll();
    var stop = new AtomicBoolean();
    var writers = new ArrayList<CompletableFuture<Void>>();
    for (int i = 0; i < 8; i++) {
      writers.add(
          CompletableFuture.runAsync(
              () -> {
                while (!stop.get()) {
                  board.write();
                }
              },
              Thread::startVirtualThread));
    }
    var seen = new long[MANY];
    try {
      for (int round = 0; round < 3; round++) {
        awaitAll(trackers, seen, board.written());
      }
    } finally {
      stop.set(true);
      for (var writer : writers) {
        writer.get();
      }
    }
    awaitAll(trackers, seen, board.written());
  }

  private static void awaitAll(List<ResultTracker<Long>> trackers, long[] seen, int least) {
    for (int i = 0; i < MANY; i++) {
      while (seen[i] < least) {
        seen[i] = trackers.get(i).next(SOON);
      }
    }
  }

  /** All wait for the end of a write, and those that begin wait for other grains then. */
  @Test
  void manyRunsThatWaitKeepNoOther() {
    try {
      for (int i = 0; i < 40; i++) {
        int number = i;
        var stuck = node.reactive(() -> board.behind("w" + number));
        assertEquals("0read", stuck.tracker().next(SOON));
      }
      var other = node.reactive(() -> board.oneOf(1)).tracker();
      assertEquals(0, other.next(SOON));
      GateGrain.shut();
      board.write();
      assertEquals(1, other.next(SOON));
    } finally {
      GateGrain.open.countDown();
    }
  }

  @Test
  void aWriteDoesNotWaitForARunThatDoesNotEnd() throws Exception {
    GateGrain.shut();
    try (var watched = node.reactive(() -> board.behind("g"))) {
      var tracker = watched.tracker();
      var first = CompletableFuture.supplyAsync(() -> tracker.next(SOON));
      GateGrain.entered.await();
      for (int i = 0; i < 10; i++) {
        board.write();
      }
      assertEquals(10, board.written());
      GateGrain.open.countDown();
      first.get();
    } finally {
      GateGrain.open.countDown();
    }
  }
}
