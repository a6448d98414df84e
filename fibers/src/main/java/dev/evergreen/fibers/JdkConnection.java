package dev.evergreen.fibers;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A connection by the JDK's blocking sockets.
 *
 * <p>Those can neither wait for input without reading it nor stop reading at a time. So such waits
 * read into {@code staging}, the ones with a limit by another thread: if it is not done in time,
 * its read goes on, and belongs to the next one here.
 */
final class JdkConnection extends Connection {

  private static final int STAGING_SIZE = 4 << 10;

  private final JdkFibers fibers;
  private final SocketChannel channel;
  private final @Nullable UnixDomainSocketAddress listenedAt;

  /**
   * Of the reader: what was read ahead, ready to be taken. It is on the heap: each connection has
   * one, also at rest, and the JVM's native memory is left to {@link Buffers}, which counts only
   * its own.
   */
  private @Nullable ByteBuffer staging;

  private @Nullable Ahead<Integer> reading;
  private boolean ended;

  /**
   * One that is connected.
   *
   * @param listenedAt of a UNIX socket, the path by which its listener is found: the system may
   *     know it by a former one
   */
  JdkConnection(
      JdkFibers fibers, SocketChannel channel, @Nullable UnixDomainSocketAddress listenedAt) {
    this.fibers = fibers;
    this.channel = channel;
    this.listenedAt = listenedAt;
  }

  @Override
  FibersBase fibers() {
    return fibers;
  }

  static JdkConnection connect(
      JdkFibers fibers, SocketAddress address, @Nullable Duration limit, SocketOptions options)
      throws IOException {
    boolean inet = !(address instanceof UnixDomainSocketAddress);
    var channel = inet ? SocketChannel.open() : SocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      configure(channel, inet, options);
      long nanos = limit == null ? Nanos.FOREVER : Nanos.of(limit);
      JdkSockets.connect(
          channel, "connect to " + address, nanos, () -> channel.connect(resolved(address)));
      return new JdkConnection(fibers, channel, null);
    } catch (IOException e) {
      channel.close();
      throw e;
    }
  }

  static SocketAddress resolved(SocketAddress address) throws UnknownHostException {
    if (address instanceof InetSocketAddress inet && inet.isUnresolved()) {
      throw new UnknownHostException("the host " + inet.getHostString() + " is not known");
    }
    return address;
  }

  static SocketChannel configure(SocketChannel channel, boolean inet, SocketOptions options)
      throws IOException {
    if (options.sendBuffer() > 0) {
      channel.setOption(StandardSocketOptions.SO_SNDBUF, options.sendBuffer());
    }
    if (options.receiveBuffer() > 0) {
      channel.setOption(StandardSocketOptions.SO_RCVBUF, options.receiveBuffer());
    }
    if (inet) {
      channel.setOption(StandardSocketOptions.TCP_NODELAY, options.noDelay());
      channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
    }
    return channel;
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    if (!into.hasRemaining()) {
      return 0;
    }
    if (!hasStaged() && !ended) {
      flushBeforeWaiting();
      if (!mayGiveUp() && reading == null) {
        waitsToReceive();
        try {
          return noteEnd(channel.read(into));
        } finally {
          goesOnReceiving();
        }
      }
      stage();
    }
    return tryRead(into);
  }

  @Override
  public int tryRead(ByteBuffer into) throws IOException {
    checkOpen();
    if (reading != null && reading.isDone()) {
      stage();
    }
    var from = staging;
    if (from == null || !hasStaged()) {
      if (ended) {
        flushOwn();
      }
      return ended ? -1 : 0;
    }
    int n = Math.min(from.remaining(), into.remaining());
    into.put(into.position(), from, from.position(), n).position(into.position() + n);
    from.position(from.position() + n);
    return n;
  }

  @Override
  void awaitSome() throws IOException {
    if (!hasStaged() && !ended) {
      flushBeforeWaiting();
      stage();
    }
  }

  private void checkOpen() throws ClosedChannelException {
    if (!channel.isOpen()) {
      throw new ClosedChannelException();
    }
  }

  private boolean hasStaged() {
    return reading == null && staging != null && staging.hasRemaining();
  }

  private int noteEnd(int n) {
    ended |= n < 0;
    hasReceived(n);
    return n;
  }

  private void stage() throws IOException {
    waitsToReceive();
    try {
      readAhead();
    } finally {
      goesOnReceiving();
    }
  }

  /** Reads ahead, in this thread if there is no limit. */
  private void readAhead() throws IOException {
    if (staging == null) {
      staging = ByteBuffer.allocate(STAGING_SIZE).limit(0);
    }
    var into = staging;
    if (reading == null && !mayGiveUp()) {
      noteEnd(fill(into));
      return;
    }
    CancelScope.check("read");
    if (reading == null) {
      reading = new Ahead<>(() -> fill(into));
    }
    noteEnd(await(reading));
    reading = null;
  }

  /** Whether the reader may stop waiting before something has come. */
  private boolean mayGiveUp() {
    return readLimited() || CancelScope.current() != null;
  }

  private int fill(ByteBuffer into) throws IOException {
    into.clear();
    try {
      return channel.read(into);
    } finally {
      into.flip();
    }
  }

  private int await(Ahead<Integer> read) throws IOException {
    try {
      boolean limited = readLimited();
      return read.await("read", limited, limited ? readLimit() : 0);
    } catch (ClosedByInterruptException e) {
      close();
      throw e;
    } finally {
      if (read.failed()) {
        reading = null;
      }
    }
  }

  @Override
  void transmit(ByteBuffer from) throws IOException {
    // Blocking writes do not tell beforehand whether they will wait.
    try (var _ = holdForWriter()) {
      while (from.hasRemaining()) {
        waitsToSend();
        try {
          hasSent(transmitInTime(from));
        } finally {
          goesOnSending();
        }
      }
    }
  }

  @Override
  void transmit(ByteBuffer[] from) throws IOException {
    if (from.length > 1 && !mayGiveUp() && !writeLimited()) {
      hasSent((int) channel.write(from));
    }
    for (var rest : from) {
      transmit(rest);
    }
  }

  @Override
  void sendNow(ByteBuffer from) throws IOException {
    checkOpen();
  }

  private int transmitInTime(ByteBuffer from) throws IOException {
    try {
      return JdkSockets.write(this, writeTimeoutNanos(), () -> channel.write(from));
    } catch (DeadlineException | WriteTimeoutException e) {
      throw e;
    } catch (SocketTimeoutException e) {
      var late = new WriteTimeoutException(Duration.ofNanos(writeTimeoutNanos()));
      late.initCause(e);
      throw late;
    }
  }

  @Override
  public void shutdownOutput() throws IOException {
    flush();
    channel.shutdownOutput();
  }

  @Override
  public SocketAddress localAddress() throws IOException {
    checkOpen();
    return listenedAt != null ? listenedAt : channel.getLocalAddress();
  }

  @Override
  public SocketAddress peerAddress() throws IOException {
    return channel.getRemoteAddress();
  }

  @Override
  public void reset() {
    try {
      if (channel.supportedOptions().contains(StandardSocketOptions.SO_LINGER)) {
        channel.setOption(StandardSocketOptions.SO_LINGER, 0);
      }
    } catch (IOException e) {
      // It is closed already.
    }
    close();
  }

  @Override
  void closeSocket() {
    fibers.forget(this);
    JdkSockets.close(channel);
  }

  @Override
  public String toString() {
    return channel.toString();
  }
}
