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

/** A connection of ours, and its peer: a socket of the JDK in blocking mode. */
record Pair(Connection ours, SocketChannel peer) implements AutoCloseable {

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
      return new Pair(listener.accept(), peer);
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
    peer.setOption(StandardSocketOptions.SO_LINGER, 0);
    peer.close();
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
