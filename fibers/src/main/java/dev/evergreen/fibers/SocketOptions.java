package dev.evergreen.fibers;

/**
 * How sockets are made. Those that a listener accepts get the same.
 *
 * @param backlog how many connections may wait to be accepted; the system may allow fewer
 * @param noDelay whether small packets leave at once; TCP only
 * @param sendBuffer in bytes, or 0 for what the system thinks best; the system may take another
 *     size
 * @param receiveBuffer as {@code sendBuffer}
 */
public record SocketOptions(int backlog, boolean noDelay, int sendBuffer, int receiveBuffer) {

  /** A backlog of 1,024, no delay, and the system's sizes of buffers. */
  public static final SocketOptions DEFAULT = new SocketOptions(1024, true, 0, 0);

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
    return new SocketOptions(backlog, noDelay, sendBuffer, receiveBuffer);
  }

  /** The same with other sizes of the system's buffers, in bytes. */
  public SocketOptions withBuffers(int send, int receive) {
    return new SocketOptions(backlog, noDelay, send, receive);
  }
}
