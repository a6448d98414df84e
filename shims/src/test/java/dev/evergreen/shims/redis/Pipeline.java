package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.List;

/** A Redis of a test's own, and one connection by which much is sent at once. */
final class Pipeline implements AutoCloseable {
  private static final byte[] END =
      "+<the end>\r\n".getBytes(java.nio.charset.StandardCharsets.US_ASCII);

  private final RedisServer server;
  private final SocketChannel channel;

  /** Of a Redis with these options. */
  Pipeline(String... options) throws IOException {
    server = RedisServer.start(options);
    channel = SocketChannel.open(UnixDomainSocketAddress.of(server.socket));
  }

  /** Sends all commands at once and gives the bytes of all replies. */
  Bytes send(List<List<Bytes>> commands) {
    var request = new ByteArrayOutputStream();
    for (var command : commands) {
      request.writeBytes(Resp.write(command));
    }
    request.writeBytes(
        Resp.write(List.of(Bytes.of("EVAL"), Bytes.of("return {ok='<the end>'}"), Bytes.of("0"))));
    var writer = Thread.ofVirtual().start(() -> write(ByteBuffer.wrap(request.toByteArray())));
    var reply = read();
    try {
      writer.join();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    return reply;
  }

  private void write(ByteBuffer bytes) {
    try {
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Bytes read() {
    try {
      var buffer = ByteBuffer.allocate(1 << 16);
      var bytes = new byte[1 << 16];
      int length = 0;
      while (length < END.length
          || !Arrays.equals(bytes, length - END.length, length, END, 0, END.length)) {
        buffer.clear();
        if (channel.read(buffer) < 0) {
          throw new IOException("redis-server closed the connection");
        }
        buffer.flip();
        if (length + buffer.remaining() > bytes.length) {
          bytes = Arrays.copyOf(bytes, 2 * (length + buffer.remaining()));
        }
        int more = buffer.remaining();
        buffer.get(bytes, length, more);
        length += more;
      }
      return Bytes.of(Arrays.copyOf(bytes, length - END.length));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() throws IOException {
    channel.close();
    server.close();
  }
}
