package dev.evergreen.fibers;

import java.net.SocketAddress;
import java.time.Duration;

/** What the listeners of both modes share: whom they serve, and how they come to their end. */
abstract sealed class ListenerBase implements Listener, FibersBase.Closing
    permits OwnListener, JdkListener {

  /** So long a client may take to answer our part of a handshake of TCP's. */
  private static final long HANDSHAKE_NANOS = 500_000_000;

  /** So long it may take to accept what was queued, if there are descriptors for it. */
  private static final long LAST_CALL_NANOS = 1_000_000_000;

  private final FibersBase fibers;
  private final SocketAddress address;
  private final boolean reusePort;
  private final Served served = new Served();

  ListenerBase(FibersBase fibers, SocketAddress address, SocketOptions options) {
    this.fibers = fibers;
    this.address = address;
    reusePort = options.reusePort();
  }

  @Override
  public final SocketAddress address() {
    return address;
  }

  @Override
  public final void serve(Handler handler, ConnectionLimit limit, Handler refusal) {
    served.acceptorBegins();
    try {
      new Serving(fibers, this, served, this::start, handler, limit, refusal).serve();
    } finally {
      served.acceptorEnds();
    }
    served.awaitDrain();
  }

  /** Starts the fiber of a connection that was accepted here. */
  abstract void start(Connection connection, Runnable task);

  @Override
  public final CancelScope draining() {
    return served.draining();
  }

  @Override
  public final boolean drain(Duration grace) {
    long now = System.nanoTime();
    long until = now + Nanos.of(grace);
    served.beginDrain();
    if (served.accepting()) {
      if (reusePort && leaveThePort()) {
        served.awaitAcceptors(Nanos.earlier(until, now + HANDSHAKE_NANOS));
      }
      long end = Nanos.earlier(until, System.nanoTime() + LAST_CALL_NANOS);
      lastCall(end);
      served.awaitAcceptors(end);
    }
    close();
    return served.drain(until);
  }

  /**
   * Has the system give new connections to the other listeners of the port; says whether it does.
   */
  abstract boolean leaveThePort();

  /** Has the acceptor take what is queued, close this when nothing is any more, and end. */
  abstract void lastCall(long until);

  @Override
  public final String toString() {
    return "listener at " + address;
  }
}
