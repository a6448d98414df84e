package dev.evergreen.core.sim;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Runs many seeds on all processors.
 *
 * @param <F> what describes a failure
 */
public final class Seeds<F> {

  private final LongFunction<? extends @Nullable F> run;
  private final int enough;
  private final AtomicLong next;
  private final long end;
  private final ReentrantLock lock = new ReentrantLock();
  private final TreeMap<Long, F> failures = new TreeMap<>();

  private Seeds(long first, long count, int enough, LongFunction<? extends @Nullable F> run) {
    this.next = new AtomicLong(first);
    this.end = first + count;
    this.enough = enough;
    this.run = run;
  }

  /**
   * Runs seeds in order until {@code enough} of them have failed; blocks until done.
   *
   * @param run runs a seed; returns null if nothing is wrong
   * @return the failures, in the order of their seeds
   */
  public static <F> List<F> failures(
      long first, long count, int enough, LongFunction<? extends @Nullable F> run)
      throws InterruptedException {
    var seeds = new Seeds<F>(first, count, enough, run);
    var workers = new ArrayList<Thread>();
    for (int i = 0; i < Runtime.getRuntime().availableProcessors(); i++) {
      workers.add(Thread.ofPlatform().daemon().name("seeds-" + i).start(seeds::work));
    }
    for (var worker : workers) {
      worker.join();
    }
    return List.copyOf(seeds.failures.values());
  }

  private void work() {
    for (long seed = next.getAndIncrement(); seed < end; seed = next.getAndIncrement()) {
      var failure = run.apply(seed);
      if (failure != null) {
        note(seed, failure);
      }
    }
  }

  private void note(long seed, F failure) {
    lock.lock();
    try {
      failures.put(seed, failure);
      if (failures.size() >= enough) {
        next.set(end);
      }
    } finally {
      lock.unlock();
    }
  }
}
