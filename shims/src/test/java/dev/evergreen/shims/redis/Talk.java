package dev.evergreen.shims.redis;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** A client that sends bytes, and reads them; nothing may take longer than 20 s. */
final class Talk implements AutoCloseable {
  private static final int PATIENCE_MILLIS = 20_000;

  final Socket socket;
  private final InputStream in;
  private final OutputStream out;
  private final Closeable connection;

  Talk(Socket socket) throws IOException {
    this.socket = socket;
    socket.setTcpNoDelay(true);
    socket.setSoTimeout(PATIENCE_MILLIS);
    in = new BufferedInputStream(socket.getInputStream(), 1 << 16);
    out = socket.getOutputStream();
    connection = socket;
  }

  /** By a UNIX socket, which has no time limit. */
  Talk(Path path) throws IOException {
    socket = new Socket();
    var channel = SocketChannel.open(UnixDomainSocketAddress.of(path));
    in = new BufferedInputStream(Channels.newInputStream(channel), 1 << 16);
    // Not a channel's own stream: reading by that would keep others from writing.
    out = new ChannelOutput(channel);
    connection = channel;
  }

  private static final class ChannelOutput extends OutputStream {
    private final SocketChannel channel;

    ChannelOutput(SocketChannel channel) {
      this.channel = channel;
    }

    @Override
    public void write(int b) throws IOException {
      write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int from, int length) throws IOException {
      var buffer = ByteBuffer.wrap(bytes, from, length);
      while (buffer.hasRemaining()) {
        channel.write(buffer);
      }
    }
  }

  static Talk to(int port) throws IOException {
    return new Talk(new Socket(InetAddress.getLoopbackAddress(), port));
  }

  /** Asks by new connections until one is replied to: those before may meet what just ends. */
  static String served(int port, String... words) throws IOException {
    while (true) {
      try (var talk = to(port)) {
        var reply = askUntilEnd(talk, words);
        if (!reply.endsWith("<end>")) {
          return reply;
        }
      }
    }
  }

  private static String askUntilEnd(Talk talk, String... words) throws IOException {
    try {
      return talk.ask(words);
    } catch (SocketException e) {
      return "<end>";
    }
  }

  void send(byte[] bytes) throws IOException {
    out.write(bytes);
    out.flush();
  }

  void send(String... words) throws IOException {
    send(Identity.request(words));
  }

  /** Sends a request and answers its reply. */
  String ask(String... words) throws IOException {
    send(words);
    return reply();
  }

  /** The next message, whole; what came of it if it was cut off. */
  String reply() throws IOException {
    var scanner = new ReplyScanner();
    var chunk = new byte[1 << 14];
    var bytes = new ByteArrayOutputStream();
    while (true) {
      in.mark(chunk.length);
      int n = in.read(chunk);
      if (n < 0) {
        return text(bytes) + "<end>";
      }
      scanner.at = 0;
      boolean whole = scanner.scan(ByteBuffer.wrap(chunk), n);
      int used = whole ? scanner.at : n;
      bytes.write(chunk, 0, used);
      in.reset();
      in.skipNBytes(used);
      if (whole) {
        return text(bytes);
      }
    }
  }

  /** All that comes until some bytes have come, or the end. */
  String readUntil(String last) throws IOException {
    var bytes = new ByteArrayOutputStream();
    var end = last.getBytes(StandardCharsets.ISO_8859_1);
    int matched = 0;
    while (matched < end.length) {
      int b;
      try {
        b = in.read();
      } catch (SocketTimeoutException e) {
        return text(bytes) + "<nothing more in time>";
      }
      if (b < 0) {
        return text(bytes) + "<end>";
      }
      bytes.write(b);
      matched = b == end[matched] ? matched + 1 : b == end[0] ? 1 : 0;
    }
    return text(bytes);
  }

  /** All that comes until the end. */
  String readAll() throws IOException {
    var bytes = new ByteArrayOutputStream();
    for (int b = in.read(); b >= 0; b = in.read()) {
      bytes.write(b);
    }
    return text(bytes);
  }

  /** What comes until the connection ends, in order or not. */
  String rest() {
    var bytes = new ByteArrayOutputStream();
    try {
      for (int b = in.read(); b >= 0; b = in.read()) {
        bytes.write(b);
      }
    } catch (SocketTimeoutException e) {
      throw new UncheckedIOException("it has not ended in time", e);
    } catch (IOException e) {
      return text(bytes);
    }
    return text(bytes);
  }

  int read(byte[] into) throws IOException {
    return in.read(into);
  }

  private static String text(ByteArrayOutputStream bytes) {
    return bytes.toString(StandardCharsets.ISO_8859_1);
  }

  @Override
  public void close() throws IOException {
    connection.close();
  }
}
