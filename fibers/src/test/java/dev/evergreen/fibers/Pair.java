package dev.evergreen.fibers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import javax.net.ssl.SSLException;

/** A connection of ours, and its peer, which the thread of the test uses. */
record Pair(Connection ours, Peer peer) implements AutoCloseable {

  /** The other side of a connection. */
  interface Peer {
    /** Reads at least one byte, or -1 at the end. */
    int read(ByteBuffer into) throws IOException;

    /** Sends all bytes. */
    void write(ByteBuffer from) throws IOException;

    void shutdownOutput() throws IOException;

    void close() throws IOException;

    /** Closes such that our side is reset. */
    void reset() throws IOException;
  }

  /** A socket of the JDK in blocking mode. */
  record Socket(SocketChannel channel) implements Peer {
    @Override
    public int read(ByteBuffer into) throws IOException {
      return channel.read(into);
    }

    @Override
    public void write(ByteBuffer from) throws IOException {
      // One write of the JDK's may take a part only, in blocking mode, too.
      while (from.hasRemaining()) {
        channel.write(from);
      }
    }

    @Override
    public void shutdownOutput() throws IOException {
      channel.shutdownOutput();
    }

    @Override
    public void close() throws IOException {
      channel.close();
    }

    @Override
    public void reset() throws IOException {
      channel.setOption(StandardSocketOptions.SO_LINGER, 0);
      channel.close();
    }
  }

  /** Another connection of ours. */
  record Other(Connection connection) implements Peer {
    @Override
    public int read(ByteBuffer into) throws IOException {
      try {
        return connection.read(into);
      } catch (SSLException e) {
        // An end that TLS did not announce, as that of a socket does not either.
        return -1;
      }
    }

    @Override
    public void write(ByteBuffer from) throws IOException {
      connection.write(from);
      connection.flush();
    }

    @Override
    public void shutdownOutput() throws IOException {
      connection.shutdownOutput();
    }

    @Override
    public void close() {
      connection.close();
    }

    @Override
    public void reset() {
      connection.reset();
    }
  }

  static final SocketOptions SMALL = SocketOptions.DEFAULT.withBuffers(4096, 4096);

  static Pair accepted(Fibers fibers) throws IOException {
    return accepted(fibers, loopback(), SocketOptions.DEFAULT);
  }

  static Pair accepted(Fibers fibers, SocketAddress address, SocketOptions options)
      throws IOException {
    try (var listener = fibers.listen(address, options)) {
      var peer =
          address instanceof UnixDomainSocketAddress
              ? SocketChannel.open(java.net.StandardProtocolFamily.UNIX)
              : SocketChannel.open();
      if (options.receiveBuffer() > 0) {
        peer.setOption(StandardSocketOptions.SO_RCVBUF, options.receiveBuffer());
        peer.setOption(StandardSocketOptions.SO_SNDBUF, options.sendBuffer());
      }
      peer.connect(listener.address());
      return new Pair(listener.accept(), new Socket(peer));
    }
  }

  static InetSocketAddress loopback() {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  }

  void peerSends(String text) throws IOException {
    peer.write(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)));
  }

  String peerReads(int bytes) throws IOException {
    var into = ByteBuffer.allocate(bytes);
    while (into.hasRemaining() && peer.read(into) >= 0) {
      // Goes on until all is there.
    }
    return text(into.flip());
  }

  /** Closes the peer such that our side is reset. */
  void peerResets() throws IOException {
    peer.reset();
  }

  static String read(Connection from, int bytes) throws IOException {
    var into = ByteBuffer.allocateDirect(bytes);
    while (into.hasRemaining() && from.read(into) >= 0) {
      // Goes on until all is there.
    }
    return text(into.flip());
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(ByteBuffer bytes) {
    return StandardCharsets.UTF_8.decode(bytes).toString();
  }

  @Override
  public void close() throws IOException {
    ours.close();
    peer.close();
  }
}
