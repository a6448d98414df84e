package dev.evergreen.http;

import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.MemoryPair;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Speaks HTTP/2 with a server frame by frame, right or wrong. */
final class Http2Client implements AutoCloseable {
  static final int DATA = 0;
  static final int HEADERS = 1;
  static final int PRIORITY = 2;
  static final int RST_STREAM = 3;
  static final int SETTINGS = 4;
  static final int PUSH_PROMISE = 5;
  static final int PING = 6;
  static final int GOAWAY = 7;
  static final int WINDOW_UPDATE = 8;
  static final int CONTINUATION = 9;
  static final int END_STREAM = 1;
  static final int END_HEADERS = 4;

  /** What the server has sent. */
  record Frame(int type, int flags, int stream, byte[] payload) {
    int number() {
      return ByteBuffer.wrap(payload).getInt();
    }
  }

  private final MemoryPair pair;
  final CompletableFuture<Integer> served;
  private final Connection connection;
  private final DefaultHttp2HeadersEncoder encoder = new DefaultHttp2HeadersEncoder();
  private final DefaultHttp2HeadersDecoder decoder = new DefaultHttp2HeadersDecoder(false);

  private Http2Client(
      Handler handler, HttpSettings settings, CancelScope draining, int capacity, int piece) {
    pair = MemoryPair.of(Talk.FIBERS, capacity, piece);
    served = Talk.serve(handler, settings, pair.far(), draining);
    connection = pair.near();
  }

  static Http2Client silent(Handler handler) {
    int capacity = MemoryPair.CAPACITY;
    return new Http2Client(handler, HttpSettings.DEFAULT, CancelScope.open(), capacity, capacity);
  }

  static Http2Client connect(Handler handler) throws IOException {
    return connect(handler, HttpSettings.DEFAULT, CancelScope.open(), MemoryPair.CAPACITY);
  }

  static Http2Client connect(
      Handler handler, HttpSettings settings, CancelScope draining, int piece) throws IOException {
    return connect(handler, settings, draining, MemoryPair.CAPACITY, piece);
  }

  /**
   * With more room on the way than a connection's first window, so that the server need not wait.
   */
  static Http2Client connectWithRoom(Handler handler, HttpSettings settings) throws IOException {
    int capacity = 4 * MemoryPair.CAPACITY;
    return connect(handler, settings, CancelScope.open(), capacity, capacity);
  }

  private static Http2Client connect(
      Handler handler, HttpSettings settings, CancelScope draining, int capacity, int piece)
      throws IOException {
    var client = new Http2Client(handler, settings, draining, capacity, piece);
    client.raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    client.send(SETTINGS, 0, 0);
    return client;
  }

  void raw(String bytes) throws IOException {
    Talk.write(connection, bytes);
  }

  void send(int type, int flags, int stream, byte... payload) throws IOException {
    var frame = ByteBuffer.allocate(9 + payload.length);
    frame.put((byte) (payload.length >> 16)).putShort((short) payload.length);
    frame.put((byte) type).put((byte) flags).putInt(stream).put(payload);
    connection.write(frame.flip());
    connection.flush();
  }

  void send(int type, int flags, int stream, int number) throws IOException {
    send(type, flags, stream, bytes(number));
  }

  static byte[] bytes(int number) {
    return ByteBuffer.allocate(4).putInt(number).array();
  }

  byte[] block(String... namesAndValues) throws IOException {
    var headers = new Ordered();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      headers.lines.add(java.util.Map.entry(namesAndValues[i], namesAndValues[i + 1]));
    }
    ByteBuf out = Unpooled.buffer();
    try {
      encoder.encodeHeaders(1, headers, out);
    } catch (Http2Exception e) {
      throw new IOException(e);
    }
    var bytes = new byte[out.readableBytes()];
    out.readBytes(bytes);
    return bytes;
  }

  /** Fields in just the order in which they were given. */
  private static final class Ordered extends DefaultHttp2Headers {
    private final List<java.util.Map.Entry<CharSequence, CharSequence>> lines = new ArrayList<>();

    Ordered() {
      super(false);
    }

    @Override
    public java.util.Iterator<java.util.Map.Entry<CharSequence, CharSequence>> iterator() {
      return lines.iterator();
    }
  }

  /** Begins a stream by whatever fields. */
  void headers(int stream, boolean end, String... namesAndValues) throws IOException {
    send(HEADERS, END_HEADERS | (end ? END_STREAM : 0), stream, block(namesAndValues));
  }

  static String[] get(String path, String... more) {
    return request("GET", path, more);
  }

  static String[] request(String method, String path, String... more) {
    var fields = new ArrayList<String>();
    fields.addAll(List.of(":method", method, ":scheme", "http", ":authority", "a", ":path", path));
    fields.addAll(List.of(more));
    return fields.toArray(String[]::new);
  }

  /** The next frame, or null at the end. */
  Frame next() throws IOException {
    var head = read(9);
    if (head.length < 9) {
      return new Frame(-1, 0, 0, new byte[0]);
    }
    var buffer = ByteBuffer.wrap(head);
    int length = (buffer.get() & 0xff) << 16 | (buffer.getShort() & 0xffff);
    int type = buffer.get();
    int flags = buffer.get();
    return new Frame(type, flags, buffer.getInt(), read(length));
  }

  /** The next frame, if it begins in time; else null. */
  @Nullable Frame nextWithin(Duration limit) throws IOException {
    connection.readTimeout(limit);
    try {
      return next();
    } catch (SocketTimeoutException e) {
      return null;
    } finally {
      connection.readTimeout(ChronoUnit.FOREVER.getDuration());
    }
  }

  private byte[] read(int length) throws IOException {
    var into = ByteBuffer.allocate(length);
    while (into.hasRemaining() && connection.read(into) >= 0) {
      // Goes on until all is there.
    }
    return java.util.Arrays.copyOf(into.array(), into.position());
  }

  /** The next frame of a type; others are dropped, but the end is not. */
  Frame next(int type) throws IOException {
    Frame frame;
    do {
      frame = next();
    } while (frame.type != type && frame.type != -1);
    return frame;
  }

  /** A whole response: its status, and its body. Others' frames are dropped. */
  String response(int stream) throws IOException {
    var text = new StringBuilder();
    while (true) {
      var frame = next();
      if (frame.type == -1 || frame.type == GOAWAY) {
        return text + "[end]";
      }
      if (frame.type == HEADERS) {
        var status = status(frame);
        if (frame.stream == stream) {
          text.append(status).append(' ');
        }
      }
      if (frame.stream == stream && frame.type == DATA) {
        text.append(new String(frame.payload, StandardCharsets.ISO_8859_1));
      }
      if (frame.stream == stream && frame.type == RST_STREAM) {
        return text + "[reset " + frame.number() + "]";
      }
      if (frame.stream == stream && frame.type <= HEADERS && (frame.flags & END_STREAM) != 0) {
        return text.toString();
      }
    }
  }

  private String status(Frame frame) throws IOException {
    var headers = fields(frame);
    return headers.status() == null ? headers.toString() : headers.status().toString();
  }

  /** The fields of a frame of headers; each must be read once, in their order. */
  Http2Headers fields(Frame frame) throws IOException {
    try {
      return decoder.decodeHeaders(frame.stream, Unpooled.wrappedBuffer(frame.payload));
    } catch (Http2Exception e) {
      throw new IOException(e);
    }
  }

  /** The code of the GOAWAY that comes, and then the end. */
  int goAway() throws IOException {
    var frame = next(GOAWAY);
    return frame.type == -1 ? -1 : ByteBuffer.wrap(frame.payload).getInt(4);
  }

  void endOutput() throws IOException {
    connection.shutdownOutput();
  }

  @Override
  public void close() {
    pair.close();
    served.join();
  }
}
