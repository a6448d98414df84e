package dev.evergreen.kernel;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Locale;

/** Waiting for events of many descriptors: epoll, and the eventfd that wakes who waits. */
public final class PollCalls {

  public static final int EPOLLIN = 0x1;
  public static final int EPOLLPRI = 0x2;
  public static final int EPOLLOUT = 0x4;
  public static final int EPOLLERR = 0x8;
  public static final int EPOLLHUP = 0x10;
  public static final int EPOLLRDHUP = 0x2000;
  public static final int EPOLLET = 1 << 31;

  /** Only on x86-64 the structure is packed. */
  private static final boolean PACKED_EVENTS =
      System.getProperty("os.arch", "").toLowerCase(Locale.ROOT).matches("amd64|x86_64");

  static final int EVENT_SIZE = PACKED_EVENTS ? 12 : 16;
  static final int EVENT_DATA = PACKED_EVENTS ? 4 : 8;

  private static final int EPOLL_CLOEXEC = 0x80000;
  private static final int EPOLL_CTL_ADD = 1;
  private static final int EPOLL_CTL_MOD = 3;
  private static final int NONBLOCK_CLOEXEC = 0x800 | 0x80000;
  private static final int PR_SET_TIMERSLACK = 29;

  private static final MethodHandle EPOLL_WAIT =
      CLibrary.function("epoll_wait", JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT);
  private static final MethodHandle EPOLL_PWAIT2 =
      CLibrary.has("epoll_pwait2")
          ? CLibrary.function(
              "epoll_pwait2", JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT, ADDRESS, ADDRESS)
          : EPOLL_WAIT;
  private static final MethodHandle EPOLL_CREATE =
      CLibrary.function("epoll_create1", JAVA_INT, JAVA_INT);
  private static final MethodHandle EPOLL_CTL =
      CLibrary.function("epoll_ctl", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS);
  private static final MethodHandle EVENTFD =
      CLibrary.function("eventfd", JAVA_INT, JAVA_INT, JAVA_INT);
  private static final MethodHandle PRCTL =
      CLibrary.variadic("prctl", 1, JAVA_INT, JAVA_INT, JAVA_LONG);

  /** Without error number, as any thread may call it at any time. */
  private static final MethodHandle WRITE =
      CLibrary.silent("write", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG);

  private static final MemorySegment ONE = Arena.global().allocateFrom(JAVA_LONG, 1);

  private static volatile boolean exactWaits = EPOLL_PWAIT2 != EPOLL_WAIT;

  private PollCalls() {}

  /** Makes an epoll; returns its descriptor. */
  public static int open(Scratch scratch) {
    try {
      return scratch.result((int) EPOLL_CREATE.invokeExact(scratch.errno(), EPOLL_CLOEXEC));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /** Registers a descriptor for events, which are known by some data. */
  public static int add(Scratch scratch, int epoll, int fd, int events, long data) {
    return control(scratch, epoll, EPOLL_CTL_ADD, fd, events, data);
  }

  /** Changes for which events a descriptor is registered. */
  public static int change(Scratch scratch, int epoll, int fd, int events, long data) {
    return control(scratch, epoll, EPOLL_CTL_MOD, fd, events, data);
  }

  private static int control(
      Scratch scratch, int epoll, int operation, int fd, int events, long data) {
    try {
      return scratch.result(
          (int)
              EPOLL_CTL.invokeExact(
                  scratch.errno(), epoll, operation, fd, scratch.event(events, data)));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /**
   * Waits for events, into the scratch memory.
   *
   * @param nanos at most so long; 0 for not at all, less for ever
   * @return how many there are
   */
  public static int await(Scratch scratch, int epoll, long nanos) {
    if (nanos > 0 && exactWaits) {
      int n = awaitExactly(scratch, epoll, nanos);
      if (n != -Errno.ENOSYS) {
        return n;
      }
      exactWaits = false;
    }
    // Late rather than early, as an early one would only come back.
    int millis = nanos < 0 ? -1 : (int) Math.min(Integer.MAX_VALUE, (nanos + 999_999) / 1_000_000);
    try {
      return scratch.result(
          (int)
              EPOLL_WAIT.invokeExact(
                  scratch.errno(), epoll, scratch.events(), Scratch.EVENTS, millis));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /** Whether waits end to the microsecond, for all that is known by now; else to 1 ms. */
  public static boolean isExact() {
    return exactWaits;
  }

  private static int awaitExactly(Scratch scratch, int epoll, long nanos) {
    try {
      return scratch.result(
          (int)
              EPOLL_PWAIT2.invokeExact(
                  scratch.errno(),
                  epoll,
                  scratch.events(),
                  Scratch.EVENTS,
                  scratch.duration(nanos),
                  MemorySegment.NULL));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /** From now on the current platform thread's waits may last so much longer; 50 µs by default. */
  public static int timerSlack(Scratch scratch, long nanos) {
    try {
      return scratch.result((int) PRCTL.invokeExact(scratch.errno(), PR_SET_TIMERSLACK, nanos));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /** Makes an eventfd; returns its descriptor. */
  public static int openEvent(Scratch scratch) {
    try {
      return scratch.result((int) EVENTFD.invokeExact(scratch.errno(), 0, NONBLOCK_CLOEXEC));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /** Adds one to an eventfd; fails only when that has already been done 2^64 times. */
  public static void signal(int eventfd) {
    try {
      long ignored = (long) WRITE.invokeExact(eventfd, ONE, 8L);
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }
}
