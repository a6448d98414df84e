package dev.evergreen.kernel;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** An io_uring: queues in memory that is shared with the kernel. */
public final class RingCalls {

  private static final long IO_URING_SETUP = 425;
  private static final long IO_URING_ENTER = 426;
  private static final int GET_EVENTS = 1;

  private static final MethodHandle SETUP = CLibrary.numbered(JAVA_INT, ADDRESS);
  private static final MethodHandle ENTER =
      CLibrary.numbered(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS, JAVA_LONG);

  private RingCalls() {}

  /**
   * Makes one as the parameters say, and tells in them how it is.
   *
   * @param parameters C's {@code struct io_uring_params}
   * @return its descriptor
   */
  public static int open(Scratch scratch, int entries, MemorySegment parameters) {
    try {
      return (int)
          scratch.result(
              (long) SETUP.invokeExact(scratch.errno(), IO_URING_SETUP, entries, parameters));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /**
   * Submits entries, and waits for completions if all were submitted.
   *
   * @return how many were submitted
   */
  public static int enter(Scratch scratch, int ring, int submit, int completions) {
    try {
      return (int)
          scratch.result(
              (long)
                  ENTER.invokeExact(
                      scratch.errno(),
                      IO_URING_ENTER,
                      ring,
                      submit,
                      completions,
                      GET_EVENTS,
                      MemorySegment.NULL,
                      0L));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }
}
