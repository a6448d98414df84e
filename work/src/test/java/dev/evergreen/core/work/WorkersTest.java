package dev.evergreen.core.work;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.core.spi.Clock;
import dev.evergreen.core.spi.Threads;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** By threads that run when the test says so. */
final class WorkersTest {

  private static final int MANY = 10 * Workers.AT_ONCE + 7;

  private final World world = new World();
  private final Workers workers = new Workers(world, world, new Random(1));

  /** Threads run one after the other, in the order in which they were started. */
  private static final class World implements Clock, Threads {
    private final List<Runnable> started = new ArrayList<>();
    private int mostReady;

    @Override
    public long nanos() {
      return 0;
    }

    @Override
    public Instant now() {
      return Instant.EPOCH;
    }

    @Override
    public Cancellable after(long delayNanos, Runnable task) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Thread start(Runnable task) {
      started.add(task);
      mostReady = Math.max(mostReady, started.size());
      return Thread.currentThread();
    }

    @Override
    public void letOthersRun() {
      runAll();
    }

    @Override
    public void park() {
      throw new UnsupportedOperationException();
    }

    @Override
    public void parkNanos(long nanos) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void unpark(Thread thread) {
      throw new UnsupportedOperationException();
    }

    void runAll() {
      while (!started.isEmpty()) {
        started.removeFirst().run();
      }
    }
  }

  /** A task with its two steps, as they happen. */
  private record Noted(int number, List<Integer> prepared, List<Integer> run)
      implements Tasks.Task {
    @Override
    public boolean prepare() {
      prepared.add(number);
      return number % 3 > 0;
    }

    @Override
    public void run(Tasks next) {
      run.add(number);
    }
  }

  @Test
  void ofManyTasksFewAreReadyAtOnce() {
    var prepared = new ArrayList<Integer>();
    var run = new ArrayList<Integer>();
    var tasks = new Tasks();
    for (int i = 0; i < MANY; i++) {
      tasks.add(new Noted(i, prepared, run));
    }
    workers.fork(tasks);
    assertEquals(MANY, prepared.size(), "what they take is theirs at once");
    world.runAll();
    assertEquals(MANY - (MANY + 2) / 3, run.size());
    assertEquals(Workers.AT_ONCE + 1, world.mostReady);
  }
}
