package dev.evergreen.kernel;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;

/**
 * Sockets of streams. All descriptors are made close-on-exec, and non-blocking unless it says
 * otherwise.
 */
public final class SocketCalls {

  public static final int AF_UNSPEC = 0;
  public static final int AF_UNIX = 1;
  public static final int AF_INET = 2;
  public static final int AF_INET6 = 10;

  public static final int SOL_SOCKET = 1;
  public static final int SO_REUSEADDR = 2;
  public static final int SO_SNDBUF = 7;
  public static final int SO_RCVBUF = 8;
  public static final int SO_KEEPALIVE = 9;
  public static final int SO_LINGER = 13;
  public static final int SO_REUSEPORT = 15;
  public static final int SO_ATTACH_FILTER = 26;
  public static final int SO_TIMESTAMPNS = 35;
  public static final int SO_ATTACH_REUSEPORT_CBPF = 51;
  public static final int SO_DETACH_REUSEPORT_BPF = 68;
  public static final int IPPROTO_TCP = 6;
  public static final int TCP_NODELAY = 1;
  public static final int IPPROTO_IPV6 = 41;
  public static final int IPV6_V6ONLY = 26;

  public static final int SHUT_WR = 1;
  public static final int SHUT_RDWR = 2;

  public static final int MSG_DONTWAIT = 0x40;
  public static final int MSG_NOSIGNAL = 0x4000;
  public static final int MSG_MORE = 0x8000;

  private static final int SO_ERROR = 4;
  private static final int SOCK_STREAM = 1;
  private static final int CLOEXEC = 0x80000;
  private static final int NONBLOCK = 0x800;

  private static final MethodHandle RECV =
      CLibrary.function("recv", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT);
  private static final MethodHandle RECVMSG =
      CLibrary.function("recvmsg", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT);
  private static final MethodHandle SEND =
      CLibrary.function("send", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT);
  private static final MethodHandle SENDMSG =
      CLibrary.function("sendmsg", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT);
  private static final MethodHandle SOCKET =
      CLibrary.function("socket", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);
  private static final MethodHandle BIND =
      CLibrary.function("bind", JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT);
  private static final MethodHandle CONNECT =
      CLibrary.function("connect", JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT);
  private static final MethodHandle LISTEN =
      CLibrary.function("listen", JAVA_INT, JAVA_INT, JAVA_INT);
  private static final MethodHandle ACCEPT =
      CLibrary.function("accept4", JAVA_INT, JAVA_INT, ADDRESS, ADDRESS, JAVA_INT);
  private static final MethodHandle SHUTDOWN =
      CLibrary.function("shutdown", JAVA_INT, JAVA_INT, JAVA_INT);
  private static final MethodHandle SET_OPTION =
      CLibrary.function("setsockopt", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT);
  private static final MethodHandle GET_OPTION =
      CLibrary.function("getsockopt", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS, ADDRESS);
  private static final MethodHandle LOCAL_NAME =
      CLibrary.function("getsockname", JAVA_INT, JAVA_INT, ADDRESS, ADDRESS);
  private static final MethodHandle PEER_NAME =
      CLibrary.function("getpeername", JAVA_INT, JAVA_INT, ADDRESS, ADDRESS);

  private SocketCalls() {}

  /** Makes a socket whose calls do not wait; returns its descriptor. */
  public static int open(Scratch scratch, int family) {
    return open(scratch, family, SOCK_STREAM | CLOEXEC | NONBLOCK);
  }

  /** Makes a socket whose calls wait, unless {@link #MSG_DONTWAIT} is said. */
  public static int openBlocking(Scratch scratch, int family) {
    return open(scratch, family, SOCK_STREAM | CLOEXEC);
  }

  private static int open(Scratch scratch, int family, int type) {
    try {
      return scratch.result((int) SOCKET.invokeExact(scratch.errno(), family, type, 0));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /**
   * Receives what fits into the memory.
   *
   * @param flags {@link #MSG_DONTWAIT} or 0
   * @return how many bytes came; 0 if no more will come, or none fit
   */
  public static int receive(Scratch scratch, int fd, MemorySegment into, int flags) {
    try {
      return (int)
          scratch.result(
              (long) RECV.invokeExact(scratch.errno(), fd, into, into.byteSize(), flags));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /**
   * Receives as {@link #receive} does, and leaves in {@link Scratch#arrival} when the last of it
   * came to this machine, if the socket has {@link #SO_TIMESTAMPNS}: how long it then waited for
   * this call does not count.
   */
  public static int receiveStamped(Scratch scratch, int fd, MemorySegment into, int flags) {
    try {
      return (int)
          scratch.result(
              (long) RECVMSG.invokeExact(scratch.errno(), fd, scratch.receiving(into), flags));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    } finally {
      Reference.reachabilityFence(into);
    }
  }

  /**
   * Sends.
   *
   * @param flags {@link #MSG_MORE} if more follows at once, {@link #MSG_DONTWAIT}, or 0
   * @return how many bytes were taken
   */
  public static int send(Scratch scratch, int fd, MemorySegment from, int flags) {
    try {
      return (int)
          scratch.result(
              (long)
                  SEND.invokeExact(
                      scratch.errno(), fd, from, from.byteSize(), flags | MSG_NOSIGNAL));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /**
   * Sends what is in several buffers of native memory: in the first of them and those behind it, in
   * {@link Scratch#PARTS} at most.
   *
   * @return how many bytes were taken
   */
  public static int sendGathered(Scratch scratch, int fd, ByteBuffer[] from, int first) {
    try {
      return (int)
          scratch.result(
              (long)
                  SENDMSG.invokeExact(
                      scratch.errno(), fd, scratch.message(from, first), MSG_NOSIGNAL));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    } finally {
      // The message has only the addresses of their memory.
      Reference.reachabilityFence(from);
    }
  }

  /** Binds to the address that is in the scratch memory, of so many bytes. */
  public static int bind(Scratch scratch, int fd, int length) {
    try {
      return scratch.result((int) BIND.invokeExact(scratch.errno(), fd, scratch.address(), length));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /** Begins to connect to the address that is in the scratch memory, of so many bytes. */
  public static int connect(Scratch scratch, int fd, int length) {
    try {
      return scratch.result(
          (int) CONNECT.invokeExact(scratch.errno(), fd, scratch.address(), length));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /** Ends a connection by TCP at once, with a reset; does nothing to others. */
  public static void disconnect(Scratch scratch, int fd) {
    scratch.address().set(JAVA_SHORT, 0, (short) AF_UNSPEC);
    int ignored = connect(scratch, fd, 16);
  }

  /** From now on connections are accepted. */
  public static int listen(Scratch scratch, int fd, int backlog) {
    try {
      return scratch.result((int) LISTEN.invokeExact(scratch.errno(), fd, backlog));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /** Accepts a connection; returns its descriptor, whose calls do not wait. */
  public static int accept(Scratch scratch, int fd) {
    try {
      return scratch.result(
          (int)
              ACCEPT.invokeExact(
                  scratch.errno(), fd, MemorySegment.NULL, MemorySegment.NULL, CLOEXEC | NONBLOCK));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /** Ends one direction of a connection, or both. */
  public static int shutdown(Scratch scratch, int fd, int how) {
    try {
      return scratch.result((int) SHUTDOWN.invokeExact(scratch.errno(), fd, how));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /** Sets an option that is a number. */
  public static int option(Scratch scratch, int fd, int level, int option, int value) {
    return option(scratch, fd, level, option, scratch.number(value));
  }

  /** Sets an option that is a structure. */
  public static int option(Scratch scratch, int fd, int level, int option, MemorySegment value) {
    try {
      return scratch.result(
          (int)
              SET_OPTION.invokeExact(
                  scratch.errno(), fd, level, option, value, (int) value.byteSize()));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /** Takes the error that a connection attempt ended with, not negated; 0 for none. */
  public static int takeError(Scratch scratch, int fd) {
    try {
      int n =
          scratch.result(
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
      throw CLibrary.failed(e);
    }
  }

  /** Puts the socket's own address into the scratch memory. */
  public static int localName(Scratch scratch, int fd) {
    try {
      return scratch.result(
          (int)
              LOCAL_NAME.invokeExact(
                  scratch.errno(), fd, scratch.address(), scratch.length(Scratch.ADDRESS_SIZE)));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }

  /** Puts the other side's address into the scratch memory. */
  public static int peerName(Scratch scratch, int fd) {
    try {
      return scratch.result(
          (int)
              PEER_NAME.invokeExact(
                  scratch.errno(), fd, scratch.address(), scratch.length(Scratch.ADDRESS_SIZE)));
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }
}
