package dev.evergreen.fibers;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * How sockets are made. Those that a listener accepts get the same. The system notices after a
 * while, two hours unless it is told otherwise, that the peer of one has vanished ({@code
 * SO_KEEPALIVE}).
 *
 * @param backlog how many connections may wait to be accepted; the system may allow fewer
 * @param noDelay whether small packets leave at once; TCP only
 * @param sendBuffer in bytes, or 0 for what the system thinks best; the system may take another
 *     size
 * @param receiveBuffer as {@code sendBuffer}
 * @param reusePort whether other listeners, of this process and of others of the same user, may
 *     listen at the same address and port if they say so, too ({@code SO_REUSEPORT}); new
 *     connections are spread over them. So a new process can take over a port: it begins to listen,
 *     then the old one is {@linkplain Listener#drain drained}. TCP only, and without effect on
 *     connections that are made
 * @param permissions of the file of a UNIX socket that is listened at, such as 0700: nobody can
 *     connect who may not by them, from the first moment on; or -1 for what the process's mask
 *     leaves
 */
public record SocketOptions(
    int backlog,
    boolean noDelay,
    int sendBuffer,
    int receiveBuffer,
    boolean reusePort,
    int permissions) {

  /**
   * A backlog of 1,024, no delay, the system's sizes of buffers, a port of its own, and the usual
   * permissions of a file.
   */
  public static final SocketOptions DEFAULT = new SocketOptions(1024, true, 0, 0, false, -1);

  public SocketOptions {
    if (backlog < 1 || sendBuffer < 0 || receiveBuffer < 0) {
      throw new IllegalArgumentException(
          "the backlog must be positive and no size of a buffer negative, but they are "
              + backlog
              + ", "
              + sendBuffer
              + " and "
              + receiveBuffer);
    }
  }

  /** The same with another backlog. */
  public SocketOptions withBacklog(int backlog) {
    return new SocketOptions(backlog, noDelay, sendBuffer, receiveBuffer, reusePort, permissions);
  }

  /** The same with other sizes of the system's buffers, in bytes. */
  public SocketOptions withBuffers(int send, int receive) {
    return new SocketOptions(backlog, noDelay, send, receive, reusePort, permissions);
  }

  /** The same for a port that may be shared. */
  public SocketOptions withReusePort() {
    return new SocketOptions(backlog, noDelay, sendBuffer, receiveBuffer, true, permissions);
  }

  /** The same with other permissions of a UNIX socket's file, such as 0700. */
  public SocketOptions withPermissions(int mode) {
    return new SocketOptions(backlog, noDelay, sendBuffer, receiveBuffer, reusePort, mode);
  }

  /** Gives a UNIX socket's file its permissions, if any were said. */
  void protect(Path file) throws IOException {
    if (permissions >= 0) {
      Files.setAttribute(file, "unix:mode", permissions);
    }
  }
}
