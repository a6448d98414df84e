package dev.evergreen.http;

import java.nio.ByteBuffer;

/** The grammar of what may follow a chunk's length (RFC 9112 §7.1.1), which means nothing to us. */
final class Extensions {
  private Extensions() {}

  /** Whether some bytes are extensions: each a semicolon, a name, and maybe a value. */
  static boolean are(ByteBuffer from, int at, int end) {
    int i = at;
    while (i >= 0 && i < end) {
      i = blanks(from, i, end);
      i = i < end && from.get(i) == ';' ? extension(from, i + 1, end) : -1;
    }
    return i == end;
  }

  /** Where an extension ends, or -1 if it is none. */
  private static int extension(ByteBuffer from, int at, int end) {
    int name = blanks(from, at, end);
    int nameEnd = token(from, name, end);
    if (nameEnd == name) {
      return -1;
    }
    int equals = blanks(from, nameEnd, end);
    if (equals == end || from.get(equals) != '=') {
      return nameEnd;
    }
    int value = blanks(from, equals + 1, end);
    if (value < end && from.get(value) == '"') {
      return quoted(from, value + 1, end);
    }
    int valueEnd = token(from, value, end);
    return valueEnd == value ? -1 : valueEnd;
  }

  private static int blanks(ByteBuffer from, int at, int end) {
    int i = at;
    while (i < end && Characters.isBlank(from.get(i))) {
      i++;
    }
    return i;
  }

  private static int token(ByteBuffer from, int at, int end) {
    int i = at;
    while (i < end && Characters.isToken(from.get(i))) {
      i++;
    }
    return i;
  }

  private static int quoted(ByteBuffer from, int at, int end) {
    for (int i = at; i < end; i++) {
      int c = from.get(i);
      if (c == '"') {
        return i + 1;
      }
      if (c == '\\') {
        i++;
      }
      if (i == end || from.get(i) < 0 || !Characters.isValue(from.get(i))) {
        return -1;
      }
    }
    return -1;
  }
}
