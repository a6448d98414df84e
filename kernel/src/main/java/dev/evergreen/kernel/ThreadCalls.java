package dev.evergreen.kernel;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import org.jspecify.annotations.Nullable;

/** How the kernel shares processors among threads. */
public final class ThreadCalls {

  private static final int SCHED_IDLE = 5;

  /** Null where the C library has none. */
  private static final @Nullable MethodHandle SET_SCHEDULER =
      CLibrary.has("sched_setscheduler")
          ? CLibrary.function("sched_setscheduler", JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS)
          : null;

  private ThreadCalls() {}

  /**
   * From now on the current platform thread has a processor only while nobody else wants it: who
   * wakes takes it at once. A thread without special rights cannot undo that.
   */
  public static int takeIdleTime(Scratch scratch) {
    var function = SET_SCHEDULER;
    if (function == null) {
      return -Errno.ENOSYS;
    }
    // The parameter is a structure of one number, which is zero.
    MemorySegment parameter = scratch.number(0);
    try {
      return scratch.result((int) function.invokeExact(scratch.errno(), 0, SCHED_IDLE, parameter));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }
}
