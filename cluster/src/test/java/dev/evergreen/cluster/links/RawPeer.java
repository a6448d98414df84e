package dev.evergreen.cluster.links;

import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.Arrays;

/** A connection on which a test says what it likes. */
final class RawPeer implements AutoCloseable {

  final Socket socket;
  final OutputStream out;
  final FrameInput in;

  RawPeer(InetSocketAddress to) throws IOException {
    socket = new Socket(to.getAddress(), to.getPort());
    socket.setSoTimeout(30_000);
    out = socket.getOutputStream();
    in = new FrameInput(socket.getInputStream(), 1 << 20);
  }

  /** Says hello as a node. */
  Handshake.Answer greet(NodeId from, NodeId to) throws IOException, MalformedMessageException {
    return greet(new Handshake.Hello(1, 1, "test", from, to));
  }

  Handshake.Answer greet(Handshake.Hello hello) throws IOException, MalformedMessageException {
    Handshake.write(out, hello);
    return Handshake.readAnswer(in);
  }

  void send(Message message) throws IOException {
    out.write(frame(message));
  }

  static byte[] frame(Message message) {
    var bytes = MessageCodec.write(message);
    Frame.putHead(bytes.bytes(), 0, Frame.MESSAGE, bytes.size() - MessageCodec.HEAD);
    return Arrays.copyOf(bytes.bytes(), bytes.size());
  }

  /** Waits until the other side has closed it. */
  void awaitEnd() throws IOException {
    try {
      socket.getInputStream().transferTo(OutputStream.nullOutputStream());
    } catch (SocketTimeoutException e) {
      throw new AssertionError("the other side keeps the connection", e);
    } catch (IOException e) {
      // A reset ends it as well.
      return;
    }
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
