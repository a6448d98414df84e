package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Exception;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** A client that speaks HTTP/2 with the proxy frame by frame, right or wrong. */
final class RawHttp2 implements AutoCloseable {
  static final int DATA = 0;
  static final int HEADERS = 1;
  static final int RST_STREAM = 3;
  static final int SETTINGS = 4;
  static final int GOAWAY = 7;
  static final int CONTINUATION = 9;
  static final int END_STREAM = 1;
  static final int END_HEADERS = 4;
  static final int ENHANCE_YOUR_CALM = 11;

  private final Socket socket;
  private final DataInputStream in;
  private final DefaultHttp2HeadersDecoder decoder = new DefaultHttp2HeadersDecoder(false);

  RawHttp2(InetSocketAddress proxy) throws IOException {
    socket = new Socket(proxy.getAddress(), proxy.getPort());
    socket.setSoTimeout(20_000);
    in = new DataInputStream(socket.getInputStream());
    socket.getOutputStream().write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(ISO_8859_1));
    frame(SETTINGS, 0, 0, new byte[0]);
  }

  record Frame(int type, int flags, int stream, byte[] payload) {}

  void frame(int type, int flags, int stream, byte[] payload) throws IOException {
    var frame = ByteBuffer.allocate(9 + payload.length);
    frame.put((byte) (payload.length >> 16)).putShort((short) payload.length);
    frame.put((byte) type).put((byte) flags).putInt(stream).put(payload);
    socket.getOutputStream().write(frame.array());
  }

  /** A block of short fields, each as it is. */
  static byte[] block(String... namesAndValues) {
    var block = new ByteArrayOutputStream();
    for (int i = 0; i < namesAndValues.length; i++) {
      if (i % 2 == 0) {
        block.write(0);
      }
      block.write(namesAndValues[i].length());
      block.writeBytes(namesAndValues[i].getBytes(ISO_8859_1));
    }
    return block.toByteArray();
  }

  /** Asks; the fields more are names and values. */
  void get(int stream, String path, String... more) throws IOException {
    var fields = new ArrayList<String>();
    fields.addAll(List.of(":method", "GET", ":scheme", "http", ":authority", "test"));
    fields.addAll(List.of(":path", path));
    fields.addAll(List.of(more));
    frame(HEADERS, END_STREAM | END_HEADERS, stream, block(fields.toArray(String[]::new)));
  }

  Frame next() throws IOException {
    int length = in.readUnsignedByte() << 16 | in.readUnsignedShort();
    int type = in.readUnsignedByte();
    int flags = in.readUnsignedByte();
    int stream = in.readInt();
    return new Frame(type, flags, stream, in.readNBytes(length));
  }

  /** The code of the GOAWAY that comes. */
  int goAway() throws IOException {
    var frame = next();
    while (frame.type != GOAWAY) {
      frame = next();
    }
    return ByteBuffer.wrap(frame.payload).getInt(4);
  }

  /** The status of a stream's response. */
  String status(int stream) throws IOException {
    while (true) {
      var frame = next();
      if (frame.type == GOAWAY) {
        throw new EOFException("the proxy goes away");
      }
      if (frame.type == HEADERS) {
        var status = decode(frame);
        if (frame.stream == stream) {
          return status;
        }
      }
    }
  }

  /** So many bytes of a stream's data. */
  String data(int stream, int length) throws IOException {
    var data = new ByteArrayOutputStream();
    while (data.size() < length) {
      var frame = next();
      if (frame.type == DATA && frame.stream == stream) {
        data.writeBytes(frame.payload);
      }
    }
    return data.toString(ISO_8859_1);
  }

  private String decode(Frame frame) throws IOException {
    try {
      var fields = decoder.decodeHeaders(frame.stream, Unpooled.wrappedBuffer(frame.payload));
      return String.valueOf(fields.status());
    } catch (Http2Exception e) {
      throw new IOException(e);
    }
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
