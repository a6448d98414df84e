package dev.evergreen.bench.load;

import dev.evergreen.bench.load.GeneratorProgram.Answer;
import dev.evergreen.bench.load.GeneratorProgram.Order;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Processes that make load together: they begin at the same instant, and their results are one.
 * They end with this process. For one thread at a time.
 */
public final class Generators implements AutoCloseable {

  /** From the last one's being ready until the begin. */
  private static final long NOTICE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  /**
   * What came of a run.
   *
   * @param load as it was made
   * @param serverMicros processor time of the server's process for each request, in microseconds;
   *     NaN if it was not to be taken
   * @param generatorShare how busy the busiest generator was, 1 for all the time
   */
  public record Outcome(LoadResult load, double serverMicros, double generatorShare) {

    /** A generator that has no more time to give decides about the rate itself. */
    public boolean generatorBound() {
      return generatorShare >= 0.9;
    }
  }

  private final List<GeneratorProcess> processes = new ArrayList<>();

  /**
   * Starts processes, on one core after the other.
   *
   * @param firstCore the first one's; it counts down from there
   */
  public static Generators start(int count, int firstCore) throws IOException {
    var generators = new Generators();
    try {
      for (int i = 0; i < count; i++) {
        generators.processes.add(
            GeneratorProcess.start(Math.floorMod(firstCore - i, Cores.count())));
      }
      return generators;
    } catch (IOException e) {
      generators.close();
      throw e;
    }
  }

  /** Sets every key of a plan once. Blocks until that is done. */
  public void fill(LoadPlan plan) throws IOException {
    processes.getFirst().ask(new Order.Fill(plan));
  }

  /**
   * Makes load, and blocks until it is done.
   *
   * @param server the process whose time is taken, or null for none
   * @throws WrongReplyException if the server answers with what was not set
   * @throws IOException if it closes a connection, or has ended
   */
  public Outcome run(LoadPlan plan, @Nullable ProcessHandle server)
      throws IOException, InterruptedException {
    for (int i = 0; i < processes.size(); i++) {
      processes.get(i).tell(new Order.Prepare(plan.part(i, processes.size())));
    }
    for (var process : processes) {
      process.hear();
    }
    long start = System.nanoTime() + NOTICE_NANOS;
    for (var process : processes) {
      process.tell(new Order.Begin(start));
    }
    long from = start + plan.warmUp().toNanos();
    awaitTime(from);
    var before = times(server);
    awaitTime(from + plan.time().toNanos());
    var after = times(server);
    double nanos = System.nanoTime() - from;
    LoadResult together = null;
    for (var process : processes) {
      if (!(process.hear() instanceof Answer.Done(var result))) {
        throw new IllegalStateException("a result was expected");
      }
      together = together == null ? result : together.plus(result);
    }
    if (together == null) {
      throw new IllegalStateException("there are no processes");
    }
    long busiest = 0;
    for (int i = 1; i < before.length; i++) {
      busiest = Math.max(busiest, after[i] - before[i]);
    }
    double micros = server == null ? Double.NaN : (after[0] - before[0]) / 1e3;
    return new Outcome(together, micros / together.answered(), busiest / nanos);
  }

  private static void awaitTime(long nanoTime) throws InterruptedException {
    for (long left = nanoTime - System.nanoTime(); left > 0; left = nanoTime - System.nanoTime()) {
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      LockSupport.parkNanos(left);
    }
  }

  /** The processor times of the server and of the generators. */
  private long[] times(@Nullable ProcessHandle server) throws IOException {
    var times = new long[processes.size() + 1];
    times[0] = server == null ? 0 : Cores.timeOf(server.pid());
    for (int i = 0; i < processes.size(); i++) {
      times[i + 1] = Cores.timeOf(processes.get(i).pid());
    }
    return times;
  }

  /** Ends them. */
  @Override
  public void close() {
    processes.forEach(GeneratorProcess::close);
  }
}
