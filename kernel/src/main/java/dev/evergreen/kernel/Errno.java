package dev.evergreen.kernel;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.net.BindException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.net.SocketTimeoutException;

/** Error numbers of Linux, and the exceptions that the JDK throws for them. */
@SuppressWarnings("restricted") // The C library's texts are read.
public final class Errno {

  public static final int ENOENT = 2;
  public static final int EINTR = 4;
  public static final int EAGAIN = 11;
  public static final int ENFILE = 23;
  public static final int EMFILE = 24;
  public static final int EPIPE = 32;
  public static final int ENOSYS = 38;
  public static final int EPROTO = 71;
  public static final int EADDRINUSE = 98;
  public static final int EADDRNOTAVAIL = 99;
  public static final int ENETUNREACH = 101;
  public static final int ECONNABORTED = 103;
  public static final int ECONNRESET = 104;
  public static final int ETIMEDOUT = 110;
  public static final int ECONNREFUSED = 111;
  public static final int EHOSTUNREACH = 113;
  public static final int EINPROGRESS = 115;

  private static final MethodHandle STRERROR = CLibrary.silent("strerror", ADDRESS, JAVA_INT);

  private Errno() {}

  /**
   * Returns {@code result}, or throws if it is a negated error number.
   *
   * @param what what was tried, as a continuation of "could not"
   */
  public static int check(int result, String what) throws IOException {
    if (result < 0) {
      throw of(result, what);
    }
    return result;
  }

  /** The exception that the JDK's own sockets throw for an error number, negated or not. */
  public static IOException of(int result, String what) {
    int error = Math.abs(result);
    var tried = "could not " + what + ": ";
    return switch (error) {
      case ECONNRESET -> new SocketException(tried + "connection reset by the peer");
      case EPIPE -> new SocketException(tried + "broken pipe, the peer has closed");
      case ECONNREFUSED -> new ConnectException(tried + "connection refused");
      case ENOENT -> new ConnectException(tried + "there is no such socket file");
      case ETIMEDOUT -> new SocketTimeoutException(tried + "the peer does not answer");
      case EHOSTUNREACH, ENETUNREACH -> new NoRouteToHostException(tried + "no route to the host");
      case EADDRINUSE -> new BindException(tried + "the address is in use");
      case EADDRNOTAVAIL ->
          new BindException(tried + "the address is none of this machine's, or all ports are used");
      case EMFILE ->
          new SocketException(tried + "this process has too many open files (see ulimit -n)");
      case ENFILE -> new SocketException(tried + "the system has too many open files");
      default -> new SocketException(tried + text(error) + " (error number " + error + ")");
    };
  }

  /** What the C library calls an error. */
  static String text(int error) {
    try {
      var text = (MemorySegment) STRERROR.invokeExact(error);
      return text.reinterpret(Long.MAX_VALUE).getString(0);
    } catch (Throwable e) {
      throw CLibrary.failed(e);
    }
  }
}
