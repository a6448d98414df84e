package dev.evergreen.http;

import java.nio.ByteBuffer;

/** Writes text of ASCII without making arrays of it. */
final class Text {
  private Text() {}

  static void put(ByteBuffer into, String text) {
    for (int i = 0; i < text.length(); i++) {
      into.put((byte) text.charAt(i));
    }
  }

  /** Decimal digits of a number that is not negative. */
  static void putNumber(ByteBuffer into, long number) {
    int digits = 1;
    for (long rest = number / 10; rest != 0; rest /= 10) {
      digits++;
    }
    int end = into.position() + digits;
    long rest = number;
    for (int i = end - 1; i >= into.position(); i--) {
      into.put(i, (byte) ('0' + rest % 10));
      rest /= 10;
    }
    into.position(end);
  }

  /** Hexadecimal digits of a number that is not negative. */
  static void putHex(ByteBuffer into, int number) {
    int shift = Math.max(0, (31 - Integer.numberOfLeadingZeros(number)) / 4 * 4);
    for (; shift >= 0; shift -= 4) {
      into.put((byte) "0123456789abcdef".charAt(number >>> shift & 15));
    }
  }
}
