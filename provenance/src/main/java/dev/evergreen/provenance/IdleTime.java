package dev.evergreen.provenance;

import dev.evergreen.kernel.Scratch;
import dev.evergreen.kernel.ThreadCalls;
import java.io.IOException;
import java.sql.SQLException;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;

/**
 * The time of processors that nobody else wants. A thread that has once chosen to take no other
 * cannot take it back, so that there is one for each piece of work.
 */
final class IdleTime {
  private IdleTime() {}

  /**
   * Has something done in it, and waits for that; where the system knows of no such time, in any.
   */
  static <T> T call(Callable<T> work) throws SQLException, IOException {
    var task = new FutureTask<>(work);
    var thread =
        Thread.ofPlatform()
            .name("trace-loader-idle")
            .daemon()
            .start(
                () -> {
                  var _ = ThreadCalls.takeIdleTime(new Scratch());
                  task.run();
                });
    SpoolFiles.awaitEnd(thread);
    if (task.state() == FutureTask.State.SUCCESS) {
      return task.resultNow();
    }
    switch (task.exceptionNow()) {
      case SQLException e -> throw e;
      case IOException e -> throw e;
      case RuntimeException e -> throw e;
      case Error e -> throw e;
      case Throwable e -> throw new IllegalStateException(e);
    }
  }
}
