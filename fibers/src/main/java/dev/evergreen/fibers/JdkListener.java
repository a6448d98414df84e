package dev.evergreen.fibers;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A listener by the JDK's sockets. */
final class JdkListener implements Listener, FibersBase.Closing {

  private final JdkFibers fibers;
  private final ServerSocketChannel channel;
  private final SocketOptions options;
  private final SocketAddress address;
  private final Served served = new Served();

  /** Of the acceptor: a call that it stopped waiting for. */
  private volatile @Nullable Ahead<SocketChannel> accepting;

  private JdkListener(JdkFibers fibers, ServerSocketChannel channel, SocketOptions options)
      throws IOException {
    this.fibers = fibers;
    this.channel = channel;
    this.options = options;
    address = channel.getLocalAddress();
  }

  static JdkListener open(JdkFibers fibers, SocketAddress address, SocketOptions options)
      throws IOException {
    boolean unix = address instanceof UnixDomainSocketAddress;
    var channel =
        unix ? ServerSocketChannel.open(StandardProtocolFamily.UNIX) : ServerSocketChannel.open();
    try {
      if (options.receiveBuffer() > 0) {
        channel.setOption(StandardSocketOptions.SO_RCVBUF, options.receiveBuffer());
      }
      channel.bind(JdkConnection.resolved(address), options.backlog());
      return new JdkListener(fibers, channel, options);
    } catch (IOException e) {
      channel.close();
      throw e;
    }
  }

  @Override
  public SocketAddress address() {
    return address;
  }

  @Override
  public Connection accept() throws IOException {
    fibers.outputs().flushAll();
    var accepted = next();
    try {
      return fibers.opened(
          new JdkConnection(
              fibers,
              JdkConnection.configure(accepted, address instanceof InetSocketAddress, options)));
    } catch (IOException e) {
      accepted.close();
      throw e;
    }
  }

  private SocketChannel next() throws IOException {
    if (accepting == null && CancelScope.current() == null) {
      return channel.accept();
    }
    CancelScope.check("accept a connection");
    var present = accepting;
    if (present == null) {
      present = new Ahead<>(channel::accept);
      accepting = present;
    }
    try {
      var accepted = present.await("accept a connection", false, 0);
      accepting = null;
      return accepted;
    } catch (ClosedByInterruptException e) {
      close();
      throw e;
    } finally {
      if (present.failed()) {
        accepting = null;
      }
    }
  }

  @Override
  public void serve(Handler handler, ConnectionLimit limit, Handler refusal) {
    new Serving(fibers, this, served, (_, task) -> fibers.spawn(task), handler, limit, refusal)
        .serve();
  }

  @Override
  public CancelScope draining() {
    return served.draining();
  }

  @Override
  public boolean drain(Duration grace) {
    close();
    return served.drain(grace);
  }

  @Override
  public void close() {
    fibers.forget(this);
    var left = accepting;
    if (left != null) {
      left.abandon(JdkSockets::close);
    }
    JdkSockets.close(channel);
  }

  @Override
  public String toString() {
    return "listener at " + address;
  }
}
