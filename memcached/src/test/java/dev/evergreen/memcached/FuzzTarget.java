package dev.evergreen.memcached;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.nio.ByteBuffer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** How a protocol is brought back to the beginning of a request, whatever came before. */
enum FuzzTarget {
  TEXT,
  META,
  BINARY {
    private static final int HEADER = 24;

    @Override
    String input(String bytes) {
      // The first byte chooses the protocol.
      var input = new StringBuilder(bytes.isEmpty() ? "x" : bytes);
      input.setCharAt(0, MAGIC);
      return input.length() % 3 == 0 ? input.toString() : framed(input);
    }

    /** Most inputs would be hung up on at their first change, if requests were not cut anew. */
    private static String framed(StringBuilder input) {
      for (long at = 0; at + HEADER <= input.length(); ) {
        input.setCharAt((int) at, MAGIC);
        input.replace((int) at + 8, (int) at + 10, "\0\0");
        at += HEADER + body(input.toString(), (int) at);
      }
      return input.toString();
    }

    @Override
    @Nullable String completion(String bytes) {
      int at = 0;
      while (at + HEADER <= bytes.length() && bytes.charAt(at) == MAGIC) {
        long body = body(bytes, at);
        if (body > MOST_MISSING) {
          return null;
        }
        at += HEADER + (int) body;
      }
      if (at < bytes.length() && bytes.charAt(at) != MAGIC) {
        // It is hung up on.
        return "";
      }
      int missing = at - bytes.length();
      if (missing < 0) {
        var header = bytes.substring(at) + "\0".repeat(HEADER + missing);
        long body = body(header, 0);
        return body > MOST_MISSING ? null : "\0".repeat(HEADER + missing + (int) body);
      }
      return "\0".repeat(missing);
    }

    private static long body(String bytes, int at) {
      return ByteBuffer.wrap(bytes.substring(at, at + HEADER).getBytes(ISO_8859_1)).getInt(8)
          & 0xffffffffL;
    }

    @Override
    String question(int number) {
      return noop(MAGIC, number);
    }

    @Override
    String answer(int number) {
      return noop('\u0081', number);
    }

    private static String noop(char magic, int number) {
      var header = ByteBuffer.allocate(HEADER).put((byte) magic).put((byte) 0x0a);
      return new String(header.putInt(12, number).array(), ISO_8859_1);
    }

    @Override
    boolean isWhole(String replies) {
      int at = 0;
      while (at + HEADER <= replies.length() && replies.charAt(at) == '\u0081') {
        at += (int) (HEADER + body(replies, at));
      }
      return at == replies.length();
    }
  };

  private static final char MAGIC = '\u0080';
  private static final Pattern NUMBER = Pattern.compile("[0-9]{1,20}");
  private static final String LINE = "x".repeat(98) + "\r\n";

  /** It is not worth while to send more, so that one that waits for more is left. */
  private static final int MOST_MISSING = 3_000_000;

  /** Makes an input one for this protocol. */
  String input(String bytes) {
    return bytes.startsWith("\u0080") ? "x" + bytes : bytes;
  }

  /**
   * What is to follow an input so that any request in it is complete, and the next byte begins one;
   * null if that would be too much.
   */
  @Nullable String completion(String bytes) {
    long most = 0;
    for (var match : NUMBER.matcher(bytes).results().toList()) {
      try {
        // Lengths are cut to 32 bits.
        int length = (int) Long.parseUnsignedLong(match.group());
        most = Math.max(most, Math.abs((long) length));
      } catch (NumberFormatException e) {
        // Nor does the server take it for a number.
      }
    }
    return most > MOST_MISSING ? null : LINE.repeat((int) most / LINE.length() + 3);
  }

  /** A request that has one answer only. */
  String question(int number) {
    return "mg no-such-key O" + number + "\r\n";
  }

  /** The answer to it. */
  String answer(int number) {
    return "EN O" + number + "\r\n";
  }

  /** Whether replies end where one ends. */
  boolean isWhole(String replies) {
    return replies.isEmpty() || replies.endsWith("\n");
  }
}
