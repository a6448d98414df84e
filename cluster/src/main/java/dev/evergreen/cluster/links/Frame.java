package dev.evergreen.cluster.links;

import java.nio.ByteBuffer;

/**
 * What goes over a link, in bytes after {@link MessageCodec#HEAD} free ones. On the wire a frame is
 * four bytes of length, which count what follows them, a byte that says of which kind it is, and
 * its content.
 *
 * @param kind how it goes if it is not large
 * @param end of the content in {@code bytes}
 */
record Frame(int kind, byte[] bytes, int end) {

  /** The most bytes of a message that goes as one frame, and of one piece of a larger one. */
  static final int PIECE = 64 << 10;

  /** The most that a frame's length may say. */
  static final int MAX_LENGTH = 1 + 4 + PIECE;

  /** A whole message. */
  static final int MESSAGE = 1;

  /** The number of bytes of a large message, and its first piece. */
  static final int FIRST_PIECE = 2;

  /** The next piece of the large message that is under way. */
  static final int NEXT_PIECE = 3;

  /** The sender has removed the receiver for good. */
  static final int REMOVED = 4;

  /** Asks for a {@link #PONG} with the same eight bytes. */
  static final int PING = 5;

  /** Answers a {@link #PING}: the sender counted as a member there when that came. */
  static final int PONG = 6;

  /** Of a ping and its answer. */
  static final int TOKEN_BYTES = 8;

  static Frame message(byte[] bytes, int end) {
    return new Frame(MESSAGE, bytes, end);
  }

  static Frame token(int kind, long token) {
    byte[] bytes = new byte[MessageCodec.HEAD + TOKEN_BYTES];
    ByteBuffer.wrap(bytes).putLong(MessageCodec.HEAD, token);
    return new Frame(kind, bytes, bytes.length);
  }

  int size() {
    return end - MessageCodec.HEAD;
  }

  boolean large() {
    return size() > PIECE;
  }

  static void putHead(byte[] to, int at, int kind, int content) {
    ByteWriter.putFixed4(to, at, content + 1);
    to[at + 4] = (byte) kind;
  }
}
