package dev.evergreen.http;

import dev.evergreen.fibers.Connection;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/**
 * The bodies that a connection of HTTP/1.1 sends, one after the other, and what follows when it has
 * left HTTP.
 */
final class Http1Writer implements BodyWriter {
  /** More is sent from where it lies. */
  static final int COPIED = 16 << 10;

  private static final byte[] CRLF = {'\r', '\n'};
  private static final int CHUNK_LINE = 10;

  private final Connection connection;

  /** How many bytes are left, or as {@link Framing} tells. */
  private long left;

  private boolean dropped;
  private volatile boolean ended = true;

  private volatile boolean aborted;

  Http1Writer(Connection connection) {
    this.connection = connection;
  }

  /**
   * A body begins.
   *
   * @param framing its length, or as {@link Framing} tells
   * @param without whether the message has none: then what is written is dropped
   */
  void begin(long framing, boolean without) {
    left = framing;
    dropped = without;
    ended = false;
  }

  /** Whether the message is whole, be its end told or not. */
  boolean isWhole() {
    return !aborted && (ended || dropped || left == 0);
  }

  /** Whether its end was told. */
  boolean ended() {
    return ended;
  }

  @Override
  public void write(ByteBuffer from) throws IOException {
    int n = from.remaining();
    if (take(n)) {
      beginChunk(n);
      if (n > COPIED && from.isDirect()) {
        connection.writeAndFlush(from);
      } else {
        connection.write(from);
      }
      endChunk();
    } else {
      from.position(from.limit());
    }
  }

  @Override
  public void write(FileChannel file, long position, long count) throws IOException {
    for (long done = 0; done < count; ) {
      int n = (int) Math.min(count - done, 1 << 30);
      if (take(n)) {
        beginChunk(n);
        connection.write(file, position + done, n);
        endChunk();
      }
      done += n;
    }
  }

  /** Whether so many bytes are to be sent. */
  private boolean take(int n) {
    if (ended) {
      throw new IllegalStateException("the message has ended");
    }
    if (dropped || n == 0) {
      return false;
    }
    if (left >= 0) {
      if (n > left) {
        abort();
        throw new IllegalStateException("the body is longer than the head told");
      }
      left -= n;
    }
    return true;
  }

  private void beginChunk(int n) throws IOException {
    if (left == Framing.CHUNKED) {
      var out = connection.reserve(CHUNK_LINE);
      Text.putHex(out, n);
      out.put(CRLF);
    }
  }

  private void endChunk() throws IOException {
    if (left == Framing.CHUNKED) {
      connection.reserve(CRLF.length).put(CRLF);
    }
  }

  @Override
  public void flush() throws IOException {
    connection.flush();
  }

  @Override
  public void end(Fields trailers) throws IOException {
    if (ended) {
      return;
    }
    if (!dropped && left > 0) {
      abort();
      throw new IllegalStateException("the body is shorter than the head told, by " + left);
    }
    if (!dropped && left == Framing.CHUNKED) {
      var out = connection.reserve(trailers.size() + 5);
      out.put((byte) '0').put(CRLF);
      for (int line = 0; line < trailers.count(); line++) {
        if (!Hops.isDropped(trailers, line, false)) {
          trailers.putLine(line, out);
        }
      }
      out.put(CRLF);
    }
    ended = true;
  }

  @Override
  public void abort() {
    if (!ended) {
      ended = true;
      aborted = true;
      connection.reset();
    }
  }
}
