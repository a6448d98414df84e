package dev.evergreen.bench.load;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.net.InetSocketAddress;
import java.nio.ByteOrder;

/**
 * Sockets and an epoll for one thread, by system calls of Linux: a request costs one {@code send},
 * one {@code recv} and a share of one wait, and waits are exact to the microsecond. The JDK's
 * selector waits in milliseconds. No call allocates.
 */
@SuppressWarnings("restricted") // Calling the kernel is what this class is for.
final class Sockets implements AutoCloseable {

  static final int AGAIN = -11;

  private static final int INTERRUPTED = -4;
  private static final int NO_SUCH_CALL = -38;

  private static final int EVENTS = 256;
  private static final int IN = 1;
  private static final int OUT = 4;
  private static final int ERROR = 8;
  private static final int HUNG_UP = 0x10;
  private static final int PEER_ENDED = 0x2000;

  /**
   * Each event says that something changed, so that the kernel need not look at the socket again.
   */
  private static final int EDGE = 1 << 31;

  private static final int ADD = 1;
  private static final int MODIFY = 3;

  private static final int DONT_WAIT = 0x40;
  private static final int NO_SIGNAL = 0x4000;
  private static final int SET_TIMER_SLACK = 29;

  /** Only on x86-64 the structure is packed. */
  private static final boolean PACKED = System.getProperty("os.arch").matches("amd64|x86_64");

  private static final int EVENT_SIZE = PACKED ? 12 : 16;
  private static final int EVENT_DATA = PACKED ? 4 : 8;

  private static final Linker LINKER = Linker.nativeLinker();
  private static final MemoryLayout ERRNO_LAYOUT = Linker.Option.captureStateLayout();
  private static final long ERRNO_OFFSET =
      ERRNO_LAYOUT.byteOffset(MemoryLayout.PathElement.groupElement("errno"));

  /** Addresses are passed as numbers, as a slice of a segment would be an object for each call. */
  private static final MethodHandle RECV =
      call("recv", JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);

  private static final MethodHandle SEND =
      call("send", JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
  private static final MethodHandle SOCKET = call("socket", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);
  private static final MethodHandle CONNECT =
      call("connect", JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT);
  private static final MethodHandle SET_OPTION =
      call("setsockopt", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT);
  private static final MethodHandle CLOSE = call("close", JAVA_INT, JAVA_INT);
  private static final MethodHandle EPOLL_CREATE = call("epoll_create1", JAVA_INT, JAVA_INT);
  private static final MethodHandle EPOLL_CTL =
      call("epoll_ctl", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG);
  private static final MethodHandle EPOLL_PWAIT2 =
      call("epoll_pwait2", JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG);
  private static final MethodHandle PRCTL =
      LINKER.downcallHandle(
          LINKER.defaultLookup().findOrThrow("prctl"),
          FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG),
          Linker.Option.firstVariadicArg(1));

  private final Arena arena = Arena.ofConfined();
  private final MemorySegment errno = arena.allocate(ERRNO_LAYOUT);
  private final MemorySegment events = arena.allocate((long) EVENTS * EVENT_SIZE, 8);
  private final MemorySegment small = arena.allocate(32, 8);
  private final int epoll;

  Sockets() throws IOException {
    try {
      epoll = check("make an epoll", (int) EPOLL_CREATE.invokeExact(errno, 0));
      // Else a wait may last 50 µs longer, which would be measured as the server's.
      int ignored = (int) PRCTL.invokeExact(SET_TIMER_SLACK, 1L);
    } catch (IOException e) {
      throw e;
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  private static MethodHandle call(String name, MemoryLayout result, MemoryLayout... arguments) {
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow(name),
        FunctionDescriptor.of(result, arguments),
        Linker.Option.captureCallState("errno"));
  }

  private static Error failed(Throwable e) {
    return new LinkageError("a system call could not be made", e);
  }

  private int result(long result) {
    return (int) (result >= 0 ? result : -errno.get(JAVA_INT, ERRNO_OFFSET));
  }

  private int check(String action, int result) throws IOException {
    if (result < 0) {
      throw new IOException("could not " + action + ": error " + -result(result));
    }
    return result;
  }

  /**
   * Connects, and from then on watches for input. Blocks.
   *
   * @param index by which its events are known
   * @return its descriptor
   */
  int connect(InetSocketAddress server, int index) throws IOException {
    try {
      int fd = check("make a socket", (int) SOCKET.invokeExact(errno, 2, 1, 0));
      var address = server.getAddress().getAddress();
      small.set(JAVA_SHORT, 0, (short) 2);
      small.set(
          ValueLayout.JAVA_SHORT.withOrder(ByteOrder.BIG_ENDIAN), 2, (short) server.getPort());
      MemorySegment.copy(address, 0, small, JAVA_BYTE, 4, 4);
      check("connect to " + server, (int) CONNECT.invokeExact(errno, fd, small.address(), 16));
      option(fd, 6, 1, 1); // TCP_NODELAY
      // SO_LINGER: closed by a reset, as else the port would stay taken for a minute.
      option(fd, 1, 13, 1);
      control(ADD, fd, index, EDGE | PEER_ENDED | IN);
      return fd;
    } catch (IOException e) {
      throw e;
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  private void option(int fd, int level, int name, int value) throws Throwable {
    small.set(JAVA_LONG, 0, value);
    int length = name == 13 ? 8 : 4;
    check(
        "set an option",
        (int) SET_OPTION.invokeExact(errno, fd, level, name, small.address(), length));
  }

  private void control(int operation, int fd, int index, int flags) throws IOException {
    small.set(JAVA_INT, 0, flags);
    small.set(JAVA_LONG_UNALIGNED, EVENT_DATA, index);
    try {
      check(
          "watch a socket",
          (int) EPOLL_CTL.invokeExact(errno, epoll, operation, fd, small.address()));
    } catch (IOException e) {
      throw e;
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** Says whether room for output is watched for as well. */
  void watchOutput(int fd, int index, boolean output) throws IOException {
    control(MODIFY, fd, index, EDGE | PEER_ENDED | (output ? IN | OUT : IN));
  }

  /** Returns how many bytes were read, 0 at the end, {@link #AGAIN} or another negated error. */
  int receive(int fd, long address, long bytes) {
    try {
      return result((long) RECV.invokeExact(errno, fd, address, bytes, DONT_WAIT));
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** Returns how many bytes were taken, {@link #AGAIN} or another negated error. */
  int send(int fd, long address, long bytes) {
    try {
      return result((long) SEND.invokeExact(errno, fd, address, bytes, DONT_WAIT | NO_SIGNAL));
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /**
   * Waits for events.
   *
   * @param nanos at most so long
   * @return how many there are
   */
  int await(long nanos) throws IOException {
    small.set(JAVA_LONG, 0, Math.max(0, nanos) / 1_000_000_000);
    small.set(JAVA_LONG, 8, Math.max(0, nanos) % 1_000_000_000);
    try {
      int n =
          result(
              (int)
                  EPOLL_PWAIT2.invokeExact(
                      errno, epoll, events.address(), EVENTS, small.address(), 0L));
      if (n == NO_SUCH_CALL) {
        throw new IOException("exact waits need Linux 5.11 or newer");
      }
      return n == INTERRUPTED ? 0 : check("wait for events", n);
    } catch (IOException e) {
      throw e;
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** The index of the socket of an event. */
  int index(int event) {
    return (int) events.get(JAVA_LONG_UNALIGNED, (long) event * EVENT_SIZE + EVENT_DATA);
  }

  /** Whether there is room for output. */
  boolean writable(int event) {
    return (flags(event) & OUT) != 0;
  }

  /** Whether the server sends no more. */
  boolean ended(int event) {
    return (flags(event) & (ERROR | HUNG_UP | PEER_ENDED)) != 0;
  }

  private int flags(int event) {
    return events.get(JAVA_INT_UNALIGNED, (long) event * EVENT_SIZE);
  }

  void close(int fd) {
    try {
      int ignored = (int) CLOSE.invokeExact(errno, fd);
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  @Override
  public void close() {
    close(epoll);
    arena.close();
  }
}
