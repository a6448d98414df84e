package dev.evergreen.bench;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The threads that call JMH's benchmarks. Public, since JMH makes it by reflection. */
public final class Callers extends ThreadPoolExecutor {

  private static volatile boolean virtual = true;

  /** Makes a pool; JMH makes one for each of its runs. */
  public Callers(int threads, String prefix) {
    super(
        threads,
        threads,
        0,
        TimeUnit.SECONDS,
        new LinkedBlockingQueue<>(),
        virtual
            ? Thread.ofVirtual().name(prefix, 0).factory()
            : Thread.ofPlatform().name(prefix, 0).daemon().factory());
  }

  /** What kind of threads the next pool has. */
  static void areVirtual(boolean virtual) {
    Callers.virtual = virtual;
  }
}
