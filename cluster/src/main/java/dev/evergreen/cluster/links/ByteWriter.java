package dev.evergreen.cluster.links;

import java.util.Arrays;

/** Bytes being written; {@link ByteReader} reads them. Not thread-safe. */
final class ByteWriter {

  private static final int SHORT = 1;
  private static final int LONG = 4;
  private static final int LONGEST_OF_SHORT = 0x7F;

  private byte[] bytes;
  private int size;
  private int items;

  ByteWriter(int capacity) {
    bytes = new byte[capacity];
  }

  byte[] bytes() {
    return bytes;
  }

  int size() {
    return size;
  }

  private void reserve(long more) {
    long needed = size + more;
    if (needed > bytes.length) {
      if (needed > Integer.MAX_VALUE - 8) {
        throw new IllegalArgumentException(
            "a message has " + needed + " bytes, which is more than any limit");
      }
      bytes =
          Arrays.copyOf(
              bytes, (int) Math.min(Integer.MAX_VALUE - 8, Math.max(needed, 2L * bytes.length)));
    }
  }

  /** Counts items of lists; returns how many there are by now. */
  long addItems(int more) {
    items = Math.toIntExact(Math.min(Integer.MAX_VALUE, (long) items + more));
    return items;
  }

  void u8(int value) {
    reserve(1);
    bytes[size++] = (byte) value;
  }

  void fixed2(int value) {
    u8(value >> 8);
    u8(value);
  }

  void fixed4(int value) {
    reserve(4);
    putFixed4(bytes, size, value);
    size += 4;
  }

  static void putFixed4(byte[] bytes, int at, int value) {
    bytes[at] = (byte) (value >> 24);
    bytes[at + 1] = (byte) (value >> 16);
    bytes[at + 2] = (byte) (value >> 8);
    bytes[at + 3] = (byte) value;
  }

  void fixed8(long value) {
    fixed4((int) (value >> 32));
    fixed4((int) value);
  }

  void varint(long value) {
    reserve(10);
    long rest = value;
    while ((rest & ~0x7FL) != 0) {
      bytes[size++] = (byte) (rest | 0x80);
      rest >>>= 7;
    }
    bytes[size++] = (byte) rest;
  }

  void zigzag(int value) {
    varint(((value << 1) ^ (value >> 31)) & 0xFFFF_FFFFL);
  }

  void raw(byte[] from) {
    reserve(from.length);
    System.arraycopy(from, 0, bytes, size, from.length);
    size += from.length;
  }

  void blob(byte[] from) {
    varint(from.length);
    raw(from);
  }

  /** UTF-8, in which a surrogate without its other half has the three bytes that are its own. */
  void text(String text) {
    int start = size;
    int length = text.length();
    varint(length);
    reserve(length);
    byte[] to = bytes;
    int at = size;
    for (int i = 0; i < length; i++) {
      char c = text.charAt(i);
      if (c >= 0x80) {
        size = start;
        wideText(text);
        return;
      }
      to[at++] = (byte) c;
    }
    size = at;
  }

  private void wideText(String text) {
    long length = 0;
    for (int i = 0; i < text.length(); i++) {
      int c = text.codePointAt(i);
      length += c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x1_0000 ? 3 : 4;
      i += Character.charCount(c) - 1;
    }
    varint(length);
    reserve(length);
    for (int i = 0; i < text.length(); i++) {
      int c = text.codePointAt(i);
      if (c < 0x80) {
        bytes[size++] = (byte) c;
      } else if (c < 0x800) {
        bytes[size++] = (byte) (0xC0 | c >> 6);
        tail(c, 0);
      } else if (c < 0x1_0000) {
        bytes[size++] = (byte) (0xE0 | c >> 12);
        tail(c, 6);
      } else {
        bytes[size++] = (byte) (0xF0 | c >> 18);
        tail(c, 12);
        i++;
      }
    }
  }

  private void tail(int c, int from) {
    for (int shift = from; shift >= 0; shift -= 6) {
      bytes[size++] = (byte) (0x80 | (c >> shift & 0x3F));
    }
  }

  /**
   * Begins a struct, to which later versions may append.
   *
   * @param estimate of its bytes, so that what is large need not be moved when its length is known
   * @return for {@link #end}
   */
  int begin(long estimate) {
    int width = estimate > LONGEST_OF_SHORT / 2 ? LONG : SHORT;
    reserve(width);
    size += width;
    return width == SHORT ? size : -size;
  }

  void end(int began) {
    int width = began < 0 ? LONG : SHORT;
    int start = Math.abs(began);
    int length = size - start;
    if (width == SHORT && length > LONGEST_OF_SHORT) {
      reserve(LONG - SHORT);
      System.arraycopy(bytes, start, bytes, start + LONG - SHORT, length);
      size += LONG - SHORT;
      start += LONG - SHORT;
      width = LONG;
    }
    for (int i = width, rest = length; i > 0; i--, rest >>>= 7) {
      bytes[start - i] = (byte) (i > 1 ? rest | 0x80 : rest & 0xFF);
    }
  }
}
