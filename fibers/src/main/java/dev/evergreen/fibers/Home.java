package dev.evergreen.fibers;

import java.util.concurrent.Executor;

/**
 * The scheduler that the JDK sees, one for each fiber, so that it is known where the fiber ran
 * last. Threads that the fiber makes share it, which makes that a guess for them.
 */
final class Home implements Executor {

  private final Scheduler scheduler;
  private Processor last;
  private boolean started;

  /** The fiber starts at {@code first}. */
  Home(Scheduler scheduler, Processor first) {
    this.scheduler = scheduler;
    last = first;
  }

  @Override
  public void execute(Runnable continuation) {
    if (started) {
      last = scheduler.ready(continuation, last);
    } else {
      started = true;
      scheduler.start(continuation, last);
    }
  }
}
