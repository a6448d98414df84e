package dev.evergreen.fibers;

import java.util.concurrent.Executor;

/**
 * The scheduler that the JDK sees, one for each fiber, so that it is known where the fiber ran
 * last, and whether it used its turn up. Threads that the fiber makes share it, which makes that a
 * guess for them.
 *
 * <p>A fiber that let others run because its turn was over is put behind those that were woken:
 * then, and once more when it is woken next. So of fibers that always have a whole turn's work when
 * they are woken, such as those that serve endless pipelines, only the first turn is taken for that
 * of somebody who asks for little.
 */
final class Home implements Executor {

  private final Scheduler scheduler;
  private Processor last;
  private boolean started;

  /** Whether its turn was over since it waited last. */
  private boolean busy;

  /** The fiber starts at {@code first}. */
  Home(Scheduler scheduler, Processor first) {
    this.scheduler = scheduler;
    last = first;
  }

  @Override
  public void execute(Runnable continuation) {
    if (started) {
      var here = Processor.current();
      boolean turnOver = here != null && here.takeTurnOver();
      boolean behind = turnOver || busy;
      busy = turnOver;
      last = scheduler.ready(continuation, here, last, behind);
    } else {
      started = true;
      scheduler.start(continuation, last);
    }
  }
}
