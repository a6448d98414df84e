package dev.evergreen.shims.redis;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Requests as people type them: a line of words, some in quotes, split as Redis does. */
final class Inline {
  private final ByteBuffer bytes;
  private final int end;
  private int at;

  private Inline(ByteBuffer bytes, int from, int end) {
    this.bytes = bytes;
    this.at = from;
    this.end = end;
  }

  /**
   * The words of a line.
   *
   * @param end after its line feed
   * @return nothing if its quotes are not balanced, which Redis answers by an error
   */
  static Optional<List<byte[]>> split(ByteBuffer bytes, int from, int end) {
    int last = end - 1;
    if (last > from && bytes.get(last - 1) == '\r') {
      last--;
    }
    return new Inline(bytes, from, last).words();
  }

  /** The same request as an array of bulks. */
  static byte[] asArray(List<byte[]> words) {
    var out = new ByteArrayOutputStream();
    out.writeBytes(ascii("*" + words.size() + "\r\n"));
    for (var word : words) {
      out.writeBytes(ascii("$" + word.length + "\r\n"));
      out.writeBytes(word);
      out.writeBytes(ascii("\r\n"));
    }
    return out.toByteArray();
  }

  /** The words of a request that is whole, and a line whose quotes are balanced or an array. */
  static List<byte[]> requestOf(ByteBuffer bytes, int from, int to) {
    return bytes.get(from) == '*'
        ? wordsOf(bytes, from, to)
        : split(bytes, from, to).orElse(List.of());
  }

  /** The words of a request that is an array of bulks, and whole. */
  static List<byte[]> wordsOf(ByteBuffer bytes, int from, int to) {
    var words = new ArrayList<byte[]>();
    int at = lineEnd(bytes, from);
    while (at < to) {
      int begin = lineEnd(bytes, at);
      int length = 0;
      for (int i = at + 1; bytes.get(i) != '\r'; i++) {
        length = 10 * length + bytes.get(i) - '0';
      }
      var word = new byte[length];
      bytes.get(begin, word);
      words.add(word);
      at = begin + length + 2;
    }
    return words;
  }

  private static int lineEnd(ByteBuffer bytes, int from) {
    int at = from;
    while (bytes.get(at) != '\n') {
      at++;
    }
    return at + 1;
  }

  static byte[] join(byte[] first, byte[] second) {
    var joined = java.util.Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, joined, first.length, second.length);
    return joined;
  }

  static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  private Optional<List<byte[]>> words() {
    var words = new ArrayList<byte[]>();
    while (true) {
      while (at < end && isSpace(peek())) {
        at++;
      }
      // As to Redis the line ends at a zero.
      if (at == end || peek() == 0) {
        return Optional.of(words);
      }
      var word = new ByteArrayOutputStream();
      if (!readWord(word)) {
        return Optional.empty();
      }
      words.add(word.toByteArray());
    }
  }

  private boolean readWord(ByteArrayOutputStream word) {
    while (at < end && !isSpace(peek()) && peek() != 0) {
      byte b = bytes.get(at++);
      if (b == '"' || b == '\'') {
        return readQuoted(b, word) && (at == end || isSpace(peek()) || peek() == 0);
      }
      word.write(b);
    }
    return true;
  }

  private boolean readQuoted(byte quote, ByteArrayOutputStream word) {
    while (at < end && peek() != 0) {
      byte b = bytes.get(at++);
      if (b == quote) {
        return true;
      }
      if (b == '\\' && at < end) {
        if (quote == '"') {
          word.write(escaped());
          continue;
        } else if (peek() == '\'') {
          at++;
          word.write('\'');
          continue;
        }
      }
      word.write(b);
    }
    return false;
  }

  private int escaped() {
    byte b = bytes.get(at++);
    if (b == 'x' && at + 1 < end && hex(0) >= 0 && hex(1) >= 0) {
      int value = hex(0) << 4 | hex(1);
      at += 2;
      return value;
    }
    return switch (b) {
      case 'n' -> '\n';
      case 'r' -> '\r';
      case 't' -> '\t';
      case 'b' -> '\b';
      case 'a' -> 7;
      default -> b;
    };
  }

  private int hex(int ahead) {
    return Character.digit(bytes.get(at + ahead), 16);
  }

  private byte peek() {
    return bytes.get(at);
  }

  private static boolean isSpace(byte b) {
    return b == ' ' || (b >= 9 && b <= 13);
  }

  /** To Redis a line with a zero in it does not end. */
  static boolean holdsZero(ByteBuffer bytes, int from, int to) {
    for (int i = from; i < to; i++) {
      if (bytes.get(i) == 0) {
        return true;
      }
    }
    return false;
  }
}
