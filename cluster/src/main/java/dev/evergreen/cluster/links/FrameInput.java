package dev.evergreen.cluster.links;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The bytes that come from one connection: reads as many as there are at a time. Not thread-safe.
 */
final class FrameInput {

  private static final int SMALL = 1 << 10;
  private static final int LARGE = 128 << 10;
  private static final int FIRST_PART = 1 << 20;

  private final InputStream from;
  private final int maxMessageBytes;
  private byte[] bytes = new byte[SMALL];
  private int at;
  private int end;

  /** The large message that is under way; as long as what has come of it, or twice that. */
  private byte @Nullable [] assembly;

  private int assembled;
  private int total;

  FrameInput(InputStream from, int maxMessageBytes) {
    this.from = from;
    this.maxMessageBytes = maxMessageBytes;
  }

  byte[] bytes() {
    return bytes;
  }

  int at() {
    return at;
  }

  /** The other side has shown who it is: its frames may need more room than its handshake. */
  void becomeLarge() {
    bytes = Arrays.copyOf(bytes, LARGE);
  }

  /**
   * Waits until {@code count} bytes are there.
   *
   * @return false if the stream ended before the first of them
   * @throws EOFException if it ended amid them
   */
  boolean await(int count) throws IOException {
    if (end - at >= count) {
      return true;
    }
    if (at + count > bytes.length) {
      if (count > bytes.length) {
        bytes = Arrays.copyOf(bytes, count);
      }
      System.arraycopy(bytes, at, bytes, 0, end - at);
      end -= at;
      at = 0;
    }
    while (end - at < count) {
      int more = from.read(bytes, end, bytes.length - end);
      if (more < 0) {
        if (end == at) {
          return false;
        }
        throw new EOFException("the connection ended amid a frame");
      }
      end += more;
    }
    return true;
  }

  /** How many bytes are held for a large message. */
  int allocated() {
    return assembly == null ? 0 : assembly.length;
  }

  void skip(int count) {
    at += count;
    if (at == end) {
      at = 0;
      end = 0;
    }
  }

  int fixed4(int offset) {
    int i = at + offset;
    return bytes[i] << 24
        | (bytes[i + 1] & 0xFF) << 16
        | (bytes[i + 2] & 0xFF) << 8
        | (bytes[i + 3] & 0xFF);
  }

  /**
   * Takes a piece of a large message, which begins {@code offset} bytes from here.
   *
   * @return the whole message if this was its last piece
   * @throws MalformedMessageException if the other side does not keep to the rules of pieces, so
   *     that nothing that follows could be relied on
   */
  byte @Nullable [] piece(int offset, int length, boolean first) throws MalformedMessageException {
    int skipped = 0;
    if (first) {
      if (assembly != null || length < 4) {
        throw ByteReader.malformed("a large message begins amid another, or without its size");
      }
      total = fixed4(offset);
      if (total <= 0 || total > maxMessageBytes) {
        throw ByteReader.malformed(
            "a message of "
                + Integer.toUnsignedString(total)
                + " bytes is announced, but at most "
                + maxMessageBytes
                + " are allowed here; the setting maxMessageBytes must be the same on all nodes");
      }
      assembly = new byte[Math.min(total, FIRST_PART)];
      assembled = 0;
      skipped = 4;
    }
    int size = length - skipped;
    var to = assembly;
    if (to == null || size > total - assembled || size == 0) {
      throw ByteReader.malformed("a piece belongs to no large message, is empty or too long");
    }
    if (assembled + size > to.length) {
      to = Arrays.copyOf(to, (int) Math.min(total, Math.max(2L * to.length, assembled + size)));
      assembly = to;
    }
    System.arraycopy(bytes, at + offset + skipped, to, assembled, size);
    assembled += size;
    if (assembled < total) {
      return null;
    }
    assembly = null;
    return to;
  }
}
