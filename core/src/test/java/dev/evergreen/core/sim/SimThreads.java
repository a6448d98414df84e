package dev.evergreen.core.sim;

import dev.evergreen.core.spi.Threads;

/** The threads of one simulated process. */
final class SimThreads implements Threads {

  private final Scheduler scheduler;
  private final Life life;
  private final SimClock clock;

  SimThreads(Scheduler scheduler, Life life, SimClock clock) {
    this.scheduler = scheduler;
    this.life = life;
    this.clock = clock;
  }

  @Override
  public Thread start(Runnable task) {
    var thread = scheduler.start(life, "core", task).thread;
    scheduler.preempt();
    return thread;
  }

  @Override
  public void park() {
    scheduler.park();
  }

  @Override
  public void parkNanos(long nanos) {
    scheduler.parkNanos(clock.toVirtual(nanos));
  }

  @Override
  public void unpark(Thread thread) {
    scheduler.unpark(thread);
  }
}
