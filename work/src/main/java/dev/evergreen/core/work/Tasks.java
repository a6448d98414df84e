package dev.evergreen.core.work;

import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * Work that became possible. It is collected while monitors are held and started afterwards; a
 * thread that has ended its own work goes on with the first instead of starting another thread. For
 * one thread.
 */
public final class Tasks {

  /** A piece of work that may make more work possible. */
  public interface Task {

    /**
     * Takes what it needs to run. Called without monitors, before a thread is started for it.
     *
     * @return false if somebody else has that, who then runs this task later
     */
    default boolean prepare() {
      return true;
    }

    /** What it waited for, since {@link #prepare} found it taken, is its own now: it runs next. */
    default void granted() {}

    void run(Tasks next);
  }

  private final ArrayDeque<Task> tasks = new ArrayDeque<>(2);
  private @Nullable Task prepared;

  public void add(Task task) {
    tasks.add(task);
  }

  /** Adds what needs not be prepared; nothing if it is null. */
  public void addPrepared(@Nullable Task task) {
    if (task == null) {
      return;
    }
    if (prepared != null) {
      throw new IllegalStateException("two tasks got what only one can have");
    }
    prepared = task;
  }

  /** The next task that can run at once. */
  public @Nullable Task poll() {
    var task = prepared;
    prepared = null;
    while (task == null && !tasks.isEmpty()) {
      var first = tasks.remove();
      task = first.prepare() ? first : null;
    }
    return task;
  }
}
