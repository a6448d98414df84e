package dev.evergreen.chirper;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The lines of a plain file with their numbers and sizes, read one after the other. Unlike the
 * JDK's reader it gets past a line that is no UTF-8 or has no end, so that it can be reported.
 */
final class Lines implements AutoCloseable {

  /** The longest line, in bytes, that is read into memory. */
  static final int LONGEST = 8 << 10;

  private final InputStream in;
  private final byte[] buffer = new byte[1 << 16];
  private int position;
  private int filled;
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
  private long number;

  Lines(Path file) throws IOException {
    in = Files.newInputStream(file);
  }

  /** The next line, or null at the end of the file. */
  @Nullable Line next() throws IOException {
    bytes.reset();
    int size = 0;
    while (position < filled || fill()) {
      size++;
      byte b = buffer[position++];
      if (b == '\n') {
        break;
      }
      if (size <= LONGEST) {
        bytes.write(b);
      }
    }
    return size == 0 ? null : new Line(++number, size, size <= LONGEST ? text() : null);
  }

  private boolean fill() throws IOException {
    position = 0;
    filled = in.read(buffer);
    return filled > 0;
  }

  private @Nullable String text() {
    try {
      var utf8 = StandardCharsets.UTF_8.newDecoder();
      var text = utf8.decode(ByteBuffer.wrap(bytes.toByteArray())).toString();
      return text.endsWith("\r") ? text.substring(0, text.length() - 1) : text;
    } catch (CharacterCodingException e) {
      return null;
    }
  }

  @Override
  public void close() throws IOException {
    in.close();
  }

  /**
   * A line.
   *
   * @param number from 1
   * @param size its bytes, the line's end included
   * @param text the line without its end; null if it is no UTF-8 or too long
   */
  record Line(long number, int size, @Nullable String text) {}
}
