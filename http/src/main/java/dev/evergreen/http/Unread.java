package dev.evergreen.http;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;

/**
 * Bytes that have come and that nobody has read. What comes in many small parts is gathered, so
 * that it takes no more memory than a little more than its bytes.
 */
final class Unread {
  /** What is smaller is gathered, if something lies here already. */
  private static final int SMALL = 1 << 10;

  private final ArrayDeque<ByteBuffer> parts = new ArrayDeque<>(2);
  private int bytes;

  boolean isEmpty() {
    return bytes == 0;
  }

  int bytes() {
    return bytes;
  }

  /** How many buffers hold them. */
  int parts() {
    return parts.size();
  }

  /** Adds a part, whose buffer is this object's from now on. */
  void add(ByteBuffer part) {
    int length = part.remaining();
    if (length == 0) {
      return;
    }
    bytes += length;
    var last = parts.peekLast();
    if (last == null || length >= SMALL) {
      parts.add(part);
    } else if (last.capacity() - last.limit() >= length) {
      append(last, part);
    } else {
      var gathered = ByteBuffer.allocate(SMALL).limit(0);
      append(gathered, part);
      parts.add(gathered);
    }
  }

  private static void append(ByteBuffer to, ByteBuffer part) {
    int end = to.limit();
    to.limit(end + part.remaining()).put(end, part, part.position(), part.remaining());
  }

  /** Moves as much as there is, and is room for; answers how many bytes. */
  int read(ByteBuffer into) {
    int read = 0;
    while (into.hasRemaining() && !parts.isEmpty()) {
      var part = parts.element();
      int n = Math.min(part.remaining(), into.remaining());
      into.put(into.position(), part, part.position(), n).position(into.position() + n);
      part.position(part.position() + n);
      read += n;
      if (!part.hasRemaining()) {
        parts.remove();
      }
    }
    bytes -= read;
    return read;
  }

  void clear() {
    parts.clear();
    bytes = 0;
  }
}
