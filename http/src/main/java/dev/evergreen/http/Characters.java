package dev.evergreen.http;

/** The classes of bytes that the grammar of RFC 9110 and RFC 9112 knows. */
final class Characters {
  private static final byte TOKEN = 1;
  private static final byte VALUE = 2;
  private static final byte TARGET = 4;

  private static final byte[] CLASSES = new byte[256];

  static {
    for (int c = 0x21; c < 0x7f; c++) {
      CLASSES[c] = VALUE | TARGET;
    }
    for (int c = 0x80; c < 0x100; c++) {
      CLASSES[c] = VALUE;
    }
    CLASSES[' '] = VALUE;
    CLASSES['\t'] = VALUE;
    for (int c = 'a'; c <= 'z'; c++) {
      CLASSES[c] |= TOKEN;
      CLASSES[c - 'a' + 'A'] |= TOKEN;
    }
    for (int c = '0'; c <= '9'; c++) {
      CLASSES[c] |= TOKEN;
    }
    for (char c : "!#$%&'*+-.^_`|~".toCharArray()) {
      CLASSES[c] |= TOKEN;
    }
  }

  private Characters() {}

  /** Whether a byte may be in a method or a field's name. */
  static boolean isToken(int b) {
    return (CLASSES[b & 0xff] & TOKEN) != 0;
  }

  /** Whether a byte may be in a field's value: none of the controls but the tab. */
  static boolean isValue(int b) {
    return (CLASSES[b & 0xff] & VALUE) != 0;
  }

  /** Whether a byte may be in a request's target: what is visible in ASCII. */
  static boolean isTarget(int b) {
    return (CLASSES[b & 0xff] & TARGET) != 0;
  }

  static boolean isToken(CharSequence text) {
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) > 0xff || !isToken(text.charAt(i))) {
        return false;
      }
    }
    return !text.isEmpty();
  }

  static boolean isBlank(int b) {
    return b == ' ' || b == '\t';
  }

  static boolean isDigit(int b) {
    return b >= '0' && b <= '9';
  }

  static int lower(int c) {
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
  }
}
