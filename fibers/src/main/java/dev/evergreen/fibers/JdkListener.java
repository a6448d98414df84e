package dev.evergreen.fibers;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** A listener by the JDK's sockets. */
final class JdkListener extends ListenerBase {

  /** An acceptor that has waited so long has accepted all that was there. */
  private static final long QUIET_NANOS = 20_000_000;

  private static final long NOT_NOW = System.nanoTime() + Nanos.FOREVER;

  /** The system's limit, in bytes. */
  private static final int LONGEST_PATH = 107;

  private static final FileAttribute<?> OWNERS =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

  private final JdkFibers fibers;
  private final ServerSocketChannel channel;
  private final SocketOptions options;

  /** Of the acceptor. */
  private volatile long waitsSince = NOT_NOW;

  /** Of the acceptor: a call that it stopped waiting for. */
  private volatile @Nullable Ahead<SocketChannel> accepting;

  private JdkListener(
      JdkFibers fibers, ServerSocketChannel channel, SocketAddress address, SocketOptions options) {
    super(fibers, address, options);
    this.fibers = fibers;
    this.channel = channel;
    this.options = options;
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
      if (options.reusePort() && !unix) {
        channel.setOption(StandardSocketOptions.SO_REUSEPORT, true);
      }
      if (address instanceof UnixDomainSocketAddress file && options.permissions() >= 0) {
        bindInPrivate(channel, file.getPath(), options);
        return new JdkListener(fibers, channel, address, options);
      }
      channel.bind(JdkConnection.resolved(address), options.backlog());
      return new JdkListener(fibers, channel, channel.getLocalAddress(), options);
    } catch (IOException e) {
      channel.close();
      throw e;
    }
  }

  /**
   * To the JDK, to bind is to listen: so that is done where nobody else comes, and the file is put
   * in its place when it has its permissions. A file that is there already stays.
   */
  private static void bindInPrivate(ServerSocketChannel channel, Path file, SocketOptions options)
      throws IOException {
    if (bytes(file) > LONGEST_PATH) {
      throw new SocketException("the path of a UNIX socket is too long: " + file);
    }
    var parent = file.getParent();
    var directory = Files.createTempDirectory(parent == null ? Path.of("") : parent, "", OWNERS);
    try {
      var hidden = directory.resolve("s");
      bind(channel, hidden, options.backlog());
      try {
        options.protect(hidden);
        Files.createLink(file, hidden);
      } finally {
        Files.delete(hidden);
      }
    } finally {
      Files.delete(directory);
    }
  }

  /** What is hidden has a longer path than what will be seen: then it goes by a shorter one. */
  private static void bind(ServerSocketChannel channel, Path hidden, int backlog)
      throws IOException {
    if (bytes(hidden) < LONGEST_PATH) {
      channel.bind(UnixDomainSocketAddress.of(hidden), backlog);
      return;
    }
    var directory = Files.createTempDirectory("", OWNERS);
    try {
      var shorter = directory.resolve("d");
      Files.createSymbolicLink(shorter, hidden.toAbsolutePath().getParent());
      try {
        channel.bind(UnixDomainSocketAddress.of(shorter.resolve("s")), backlog);
      } finally {
        Files.delete(shorter);
      }
    } finally {
      Files.delete(directory);
    }
  }

  private static int bytes(Path path) {
    return path.toString().getBytes(StandardCharsets.UTF_8).length;
  }

  @Override
  public Connection accept() throws IOException {
    fibers.outputs().flushAll();
    waitsSince = System.nanoTime();
    var accepted = next();
    waitsSince = NOT_NOW;
    try {
      return fibers.opened(
          new JdkConnection(
              fibers,
              JdkConnection.configure(accepted, address() instanceof InetSocketAddress, options),
              address() instanceof UnixDomainSocketAddress file ? file : null));
    } catch (IOException | RuntimeException | Error e) {
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
  void start(Connection connection, Runnable task) {
    fibers.spawn(task);
  }

  /** Nothing of that kind is to be had from the JDK. */
  @Override
  boolean leaveThePort() {
    return false;
  }

  /** Nor can the JDK be asked whether something is queued: the acceptor has it all if it waits. */
  @Override
  void lastCall(long until) {
    while (System.nanoTime() - waitsSince < QUIET_NANOS && System.nanoTime() - until < 0) {
      LockSupport.parkNanos(QUIET_NANOS / 10);
    }
    close();
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
}
