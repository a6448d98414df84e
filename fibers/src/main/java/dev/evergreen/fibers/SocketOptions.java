package dev.evergreen.fibers;

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
 */
public record SocketOptions(
    int backlog, boolean noDelay, int sendBuffer, int receiveBuffer, boolean reusePort) {

  /** A backlog of 1,024, no delay, the system's sizes of buffers, and a port of its own. */
  public static final SocketOptions DEFAULT = new SocketOptions(1024, true, 0, 0, false);

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
    return new SocketOptions(backlog, noDelay, sendBuffer, receiveBuffer, reusePort);
  }

  /** The same with other sizes of the system's buffers, in bytes. */
  public SocketOptions withBuffers(int send, int receive) {
    return new SocketOptions(backlog, noDelay, send, receive, reusePort);
  }

  /** The same for a port that may be shared. */
  public SocketOptions withReusePort() {
    return new SocketOptions(backlog, noDelay, sendBuffer, receiveBuffer, true);
  }
}
