package dev.evergreen.fibers;

import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.net.SocketTimeoutException;

/** Turns error numbers of Linux into the exceptions that the JDK's own sockets throw. */
final class SocketErrors {

  private SocketErrors() {}

  /** Returns {@code result}, or throws if it is a negated error number. */
  static int check(int result, String what) throws IOException {
    if (result < 0) {
      throw of(result, what);
    }
    return result;
  }

  static IOException of(int result, String what) {
    int error = Math.abs(result);
    var tried = "could not " + what + ": ";
    return switch (error) {
      case Kernel.ECONNRESET -> new SocketException(tried + "connection reset by the peer");
      case Kernel.EPIPE -> new SocketException(tried + "broken pipe, the peer has closed");
      case Kernel.ECONNREFUSED -> new ConnectException(tried + "connection refused");
      case Kernel.ENOENT -> new ConnectException(tried + "there is no such socket file");
      case Kernel.ETIMEDOUT -> new SocketTimeoutException(tried + "the peer does not answer");
      case Kernel.EHOSTUNREACH, Kernel.ENETUNREACH ->
          new NoRouteToHostException(tried + "no route to the host");
      case Kernel.EADDRINUSE -> new BindException(tried + "the address is in use");
      case Kernel.EADDRNOTAVAIL ->
          new BindException(tried + "the address is none of this machine's, or all ports are used");
      case Kernel.EACCES -> new SocketException(tried + "permission denied");
      case Kernel.EMFILE ->
          new TooManyDescriptors(tried + "this process has too many open files (see ulimit -n)");
      case Kernel.ENFILE -> new TooManyDescriptors(tried + "the system has too many open files");
      default -> new SocketException(tried + "error number " + error);
    };
  }

  /** There is no descriptor left; it may pass. */
  static final class TooManyDescriptors extends SocketException {
    TooManyDescriptors(String message) {
      super(message);
    }
  }
}
