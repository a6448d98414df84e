package dev.evergreen.fibers;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.ByteBuffer;
import java.util.Locale;

/**
 * The system calls of Linux that fibers need, and nothing else. Each is one call; a negative result
 * is the negated error number. None blocks but {@link #epollWait}.
 *
 * <p>All descriptors are made non-blocking and close-on-exec.
 */
@SuppressWarnings("restricted") // Calling the kernel is what this class is for.
final class Kernel {

  static final int EINTR = 4;
  static final int EAGAIN = 11;
  static final int ENOMEM = 12;
  static final int ENFILE = 23;
  static final int EMFILE = 24;
  static final int EPIPE = 32;
  static final int EPROTO = 71;
  static final int ENOSYS = 38;
  static final int ENOENT = 2;
  static final int EACCES = 13;
  static final int EADDRINUSE = 98;
  static final int EADDRNOTAVAIL = 99;
  static final int ENETUNREACH = 101;
  static final int ECONNABORTED = 103;
  static final int ECONNRESET = 104;
  static final int ENOBUFS = 105;
  static final int ETIMEDOUT = 110;
  static final int ECONNREFUSED = 111;
  static final int EHOSTUNREACH = 113;
  static final int EINPROGRESS = 115;

  static final int AF_UNSPEC = 0;
  static final int AF_UNIX = 1;
  static final int AF_INET = 2;
  static final int AF_INET6 = 10;

  static final int SOL_SOCKET = 1;
  static final int SO_REUSEADDR = 2;
  static final int SO_ERROR = 4;
  static final int SO_SNDBUF = 7;
  static final int SO_RCVBUF = 8;
  static final int SO_LINGER = 13;
  static final int IPPROTO_TCP = 6;
  static final int TCP_NODELAY = 1;
  static final int IPPROTO_IPV6 = 41;
  static final int IPV6_V6ONLY = 26;

  static final int SHUT_WR = 1;
  static final int SHUT_RDWR = 2;

  static final int EPOLLIN = 0x1;
  static final int EPOLLPRI = 0x2;
  static final int EPOLLOUT = 0x4;
  static final int EPOLLERR = 0x8;
  static final int EPOLLHUP = 0x10;
  static final int EPOLLRDHUP = 0x2000;
  static final int EPOLLET = 1 << 31;

  /** Only on x86-64 the structure is packed. */
  private static final boolean PACKED_EVENTS =
      System.getProperty("os.arch", "").toLowerCase(Locale.ROOT).matches("amd64|x86_64");

  static final int EVENT_SIZE = PACKED_EVENTS ? 12 : 16;
  static final int EVENT_DATA = PACKED_EVENTS ? 4 : 8;

  private static final int SOCK_STREAM = 1;
  private static final int NONBLOCK_CLOEXEC = 0x800 | 0x80000;
  private static final int EPOLL_CLOEXEC = 0x80000;
  private static final int EPOLL_CTL_ADD = 1;
  static final int MSG_NOSIGNAL = 0x4000;
  static final int MSG_DONTWAIT = 0x40;

  private static final long IO_URING_SETUP = 425;
  private static final long IO_URING_ENTER = 426;
  private static final int RING_GET_EVENTS = 1;
  private static final int PROT_READ_WRITE = 1 | 2;
  private static final int MAP_SHARED_POPULATE = 0x1 | 0x8000;

  private static final Linker LINKER = Linker.nativeLinker();
  private static final Linker.Option ERRNO = Linker.Option.captureCallState("errno");
  static final MemoryLayout ERRNO_LAYOUT = Linker.Option.captureStateLayout();
  private static final long ERRNO_OFFSET =
      ERRNO_LAYOUT.byteOffset(MemoryLayout.PathElement.groupElement("errno"));

  private static final MethodHandle RECV =
      call("recv", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT);
  private static final MethodHandle SEND =
      call("send", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT);
  private static final MethodHandle SENDMSG =
      call("sendmsg", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT);
  private static final MethodHandle EPOLL_WAIT =
      call("epoll_wait", JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT);
  private static final MethodHandle EPOLL_PWAIT2 =
      LINKER.defaultLookup().find("epoll_pwait2").isPresent()
          ? call("epoll_pwait2", JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT, ADDRESS, ADDRESS)
          : EPOLL_WAIT;
  private static final MethodHandle EPOLL_CREATE = call("epoll_create1", JAVA_INT, JAVA_INT);
  private static final MethodHandle EPOLL_CTL =
      call("epoll_ctl", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS);
  private static final MethodHandle EVENTFD = call("eventfd", JAVA_INT, JAVA_INT, JAVA_INT);
  private static final MethodHandle CLOSE = call("close", JAVA_INT, JAVA_INT);
  private static final MethodHandle SOCKET = call("socket", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);
  private static final MethodHandle BIND = call("bind", JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT);
  private static final MethodHandle CONNECT =
      call("connect", JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT);
  private static final MethodHandle LISTEN = call("listen", JAVA_INT, JAVA_INT, JAVA_INT);
  private static final MethodHandle ACCEPT =
      call("accept4", JAVA_INT, JAVA_INT, ADDRESS, ADDRESS, JAVA_INT);
  private static final MethodHandle SHUTDOWN = call("shutdown", JAVA_INT, JAVA_INT, JAVA_INT);
  private static final MethodHandle SET_OPTION =
      call("setsockopt", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT);
  private static final MethodHandle GET_OPTION =
      call("getsockopt", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS, ADDRESS);
  private static final MethodHandle LOCAL_NAME =
      call("getsockname", JAVA_INT, JAVA_INT, ADDRESS, ADDRESS);
  private static final MethodHandle PEER_NAME =
      call("getpeername", JAVA_INT, JAVA_INT, ADDRESS, ADDRESS);

  private static final MethodHandle MAP =
      call("mmap", JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG);
  private static final MethodHandle UNMAP = call("munmap", JAVA_INT, ADDRESS, JAVA_LONG);

  /** The C library has no functions for these. */
  private static final MethodHandle RING_SETUP = numbered(JAVA_INT, ADDRESS);

  private static final MethodHandle RING_ENTER =
      numbered(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS, JAVA_LONG);

  /** Without error number, as any thread may call it at any time. */
  private static final MethodHandle WRITE =
      LINKER.downcallHandle(
          LINKER.defaultLookup().findOrThrow("write"),
          FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG));

  private static final MemorySegment ONE = Arena.global().allocateFrom(JAVA_LONG, 1);

  private static volatile boolean exactWaits = EPOLL_PWAIT2 != EPOLL_WAIT;

  private Kernel() {}

  private static MethodHandle call(String name, MemoryLayout result, MemoryLayout... arguments) {
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow(name), FunctionDescriptor.of(result, arguments), ERRNO);
  }

  /** A system call by its number, which is the first argument. */
  private static MethodHandle numbered(MemoryLayout... arguments) {
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow("syscall"),
        FunctionDescriptor.of(JAVA_LONG, JAVA_LONG).appendArgumentLayouts(arguments),
        ERRNO,
        Linker.Option.firstVariadicArg(1));
  }

  /** Says whether this system has these calls. */
  static boolean available() {
    return System.getProperty("os.name").equals("Linux")
        && LINKER.defaultLookup().find("epoll_create1").isPresent()
        && LINKER.defaultLookup().find("eventfd").isPresent();
  }

  private static long result(Scratch scratch, long result) {
    return result >= 0 ? result : -scratch.errno().get(JAVA_INT, ERRNO_OFFSET);
  }

  private static int result(Scratch scratch, int result) {
    return (int) result(scratch, (long) result);
  }

  private static Error failed(Throwable e) {
    return new LinkageError("a system call could not be made", e);
  }

  static int receive(Scratch scratch, int fd, MemorySegment into) {
    try {
      return (int)
          result(scratch, (long) RECV.invokeExact(scratch.errno(), fd, into, into.byteSize(), 0));
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  static int send(Scratch scratch, int fd, MemorySegment from) {
    try {
      return (int)
          result(
              scratch,
              (long) SEND.invokeExact(scratch.errno(), fd, from, from.byteSize(), MSG_NOSIGNAL));
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** Sends what is in several buffers of native memory, at most {@link Scratch#PARTS}. */
  static int sendGathered(Scratch scratch, int fd, ByteBuffer[] from) {
    try {
      return (int)
          result(
              scratch,
              (long) SENDMSG.invokeExact(scratch.errno(), fd, scratch.message(from), MSG_NOSIGNAL));
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /**
   * Waits for events, into the scratch memory.
   *
   * @param nanos at most so long; 0 for not at all, less for ever
   * @return how many there are
   */
  static int epollWait(Scratch scratch, int fd, long nanos) {
    if (nanos > 0 && exactWaits) {
      int n = epollWaitExactly(scratch, fd, nanos);
      if (n != -ENOSYS) {
        return n;
      }
      exactWaits = false;
    }
    // Late rather than early, as an early one would only come back.
    int millis = nanos < 0 ? -1 : (int) Math.min(Integer.MAX_VALUE, (nanos + 999_999) / 1_000_000);
    try {
      return result(
          scratch,
          (int)
              EPOLL_WAIT.invokeExact(
                  scratch.errno(), fd, scratch.events(), Scratch.EVENTS, millis));
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  private static int epollWaitExactly(Scratch scratch, int fd, long nanos) {
    try {
      return result(
          scratch,
          (int)
              EPOLL_PWAIT2.invokeExact(
                  scratch.errno(),
                  fd,
                  scratch.events(),
                  Scratch.EVENTS,
                  scratch.duration(nanos),
                  MemorySegment.NULL));
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  static int epollCreate(Scratch scratch) {
    try {
      return result(scratch, (int) EPOLL_CREATE.invokeExact(scratch.errno(), EPOLL_CLOEXEC));
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  static int epollAdd(Scratch scratch, int epoll, int fd, int events, long data) {
    try {
      return result(
          scratch,
          (int)
              EPOLL_CTL.invokeExact(
                  scratch.errno(), epoll, EPOLL_CTL_ADD, fd, scratch.event(events, data)));
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** Makes an io_uring as the parameters say, and tells in them how it is. */
  static int ringSetup(Scratch scratch, int entries, MemorySegment parameters) {
    try {
      return (int)
          result(
              scratch,
              (long) RING_SETUP.invokeExact(scratch.errno(), IO_URING_SETUP, entries, parameters));
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /**
   * Submits entries of an io_uring, and waits for completions if all were submitted.
   *
   * @return how many were submitted
   */
  static int ringEnter(Scratch scratch, int ring, int submit, int completions) {
    try {
      return (int)
          result(
              scratch,
              (long)
                  RING_ENTER.invokeExact(
                      scratch.errno(),
                      IO_URING_ENTER,
                      ring,
                      submit,
                      completions,
                      RING_GET_EVENTS,
                      MemorySegment.NULL,
                      0L));
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** Maps memory that is shared with the kernel. */
  static MemorySegment map(Scratch scratch, int fd, long offset, long size) throws IOException {
    long address;
    try {
      address =
          (long)
              MAP.invokeExact(
                  scratch.errno(),
                  MemorySegment.NULL,
                  size,
                  PROT_READ_WRITE,
                  MAP_SHARED_POPULATE,
                  fd,
                  offset);
    } catch (Throwable e) {
      throw failed(e);
    }
    SocketErrors.check((int) result(scratch, Math.min(0, address)), "map memory of the kernel's");
    return MemorySegment.ofAddress(address).reinterpret(size);
  }

  static void unmap(Scratch scratch, MemorySegment mapped) {
    try {
      int ignored = (int) UNMAP.invokeExact(scratch.errno(), mapped, mapped.byteSize());
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  static int eventfd(Scratch scratch) {
    try {
      return result(scratch, (int) EVENTFD.invokeExact(scratch.errno(), 0, NONBLOCK_CLOEXEC));
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** Adds one to an eventfd; fails only when that has already been done 2^64 times. */
  static void signal(int eventfd) {
    try {
      long ignored = (long) WRITE.invokeExact(eventfd, ONE, 8L);
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** Linux frees the descriptor whatever it answers. */
  static void close(Scratch scratch, int fd) {
    try {
      int ignored = (int) CLOSE.invokeExact(scratch.errno(), fd);
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  static int socket(Scratch scratch, int family) {
    try {
      return result(
          scratch,
          (int) SOCKET.invokeExact(scratch.errno(), family, SOCK_STREAM | NONBLOCK_CLOEXEC, 0));
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** Binds to the address that is in the scratch memory. */
  static int bind(Scratch scratch, int fd, int length) {
    try {
      return result(
          scratch, (int) BIND.invokeExact(scratch.errno(), fd, scratch.address(), length));
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** Begins to connect to the address that is in the scratch memory. */
  static int connect(Scratch scratch, int fd, int length) {
    try {
      return result(
          scratch, (int) CONNECT.invokeExact(scratch.errno(), fd, scratch.address(), length));
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** Ends a connection by TCP at once, with a reset; does nothing to others. */
  static void disconnect(Scratch scratch, int fd) {
    scratch.address().set(JAVA_SHORT, 0, (short) AF_UNSPEC);
    int ignored = connect(scratch, fd, 16);
  }

  static int listen(Scratch scratch, int fd, int backlog) {
    try {
      return result(scratch, (int) LISTEN.invokeExact(scratch.errno(), fd, backlog));
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  static int accept(Scratch scratch, int fd) {
    try {
      return result(
          scratch,
          (int)
              ACCEPT.invokeExact(
                  scratch.errno(), fd, MemorySegment.NULL, MemorySegment.NULL, NONBLOCK_CLOEXEC));
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  static int shutdown(Scratch scratch, int fd, int how) {
    try {
      return result(scratch, (int) SHUTDOWN.invokeExact(scratch.errno(), fd, how));
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  static int option(Scratch scratch, int fd, int level, int option, int value) {
    return option(scratch, fd, level, option, scratch.number(value));
  }

  static int option(Scratch scratch, int fd, int level, int option, MemorySegment value) {
    try {
      return result(
          scratch,
          (int)
              SET_OPTION.invokeExact(
                  scratch.errno(), fd, level, option, value, (int) value.byteSize()));
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** Takes the error that a connection attempt ended with, 0 for none. */
  static int takeError(Scratch scratch, int fd) {
    try {
      int n =
          result(
              scratch,
              (int)
                  GET_OPTION.invokeExact(
                      scratch.errno(),
                      fd,
                      SOL_SOCKET,
                      SO_ERROR,
                      scratch.number(0),
                      scratch.length(4)));
      return n < 0 ? -n : scratch.number();
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** Puts the socket's own address into the scratch memory. */
  static int localName(Scratch scratch, int fd) {
    try {
      return result(
          scratch,
          (int)
              LOCAL_NAME.invokeExact(
                  scratch.errno(), fd, scratch.address(), scratch.length(Scratch.ADDRESS_SIZE)));
    } catch (Throwable e) {
      throw failed(e);
    }
  }

  /** Puts the other side's address into the scratch memory. */
  static int peerName(Scratch scratch, int fd) {
    try {
      return result(
          scratch,
          (int)
              PEER_NAME.invokeExact(
                  scratch.errno(), fd, scratch.address(), scratch.length(Scratch.ADDRESS_SIZE)));
    } catch (Throwable e) {
      throw failed(e);
    }
  }
}
