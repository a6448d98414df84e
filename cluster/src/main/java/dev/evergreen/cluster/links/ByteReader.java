package dev.evergreen.cluster.links;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Bytes of another node being read. Trusts nothing: every length is compared with the bytes that
 * remain before anything is allocated for it. Remembers names that it has read, as those repeat.
 * Not thread-safe.
 */
final class ByteReader {

  private static final byte[] NO_BYTES = {};
  private static final int LONGEST_NAME = 128;
  private static final int NAMES_BITS = 8;
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  /** By a hash of its bytes; a name that meets another takes its place. */
  private final @Nullable Name[] names = new @Nullable Name[1 << NAMES_BITS];

  private byte[] bytes = NO_BYTES;
  private int at;
  private int end;

  /** A name as bytes and as text. */
  private static final class Name {
    final byte[] bytes;
    final String text;

    Name(byte[] bytes, String text) {
      this.bytes = bytes;
      this.text = text;
    }
  }

  /** Reads from other bytes from now on. */
  ByteReader reset(byte[] from, int start, int length) {
    bytes = from;
    at = start;
    end = start + length;
    return this;
  }

  int remaining() {
    return end - at;
  }

  static MalformedMessageException malformed(String what) {
    return new MalformedMessageException(what);
  }

  int u8() throws MalformedMessageException {
    if (at >= end) {
      throw malformed("the bytes end in the middle of a field");
    }
    return bytes[at++] & 0xFF;
  }

  int fixed4() throws MalformedMessageException {
    return u8() << 24 | u8() << 16 | u8() << 8 | u8();
  }

  long fixed8() throws MalformedMessageException {
    return (long) fixed4() << 32 | (fixed4() & 0xFFFF_FFFFL);
  }

  long varint() throws MalformedMessageException {
    long value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      int next = u8();
      value |= (long) (next & 0x7F) << shift;
      if (next < 0x80) {
        if (shift == 63 && next > 1) {
          break;
        }
        return value;
      }
    }
    throw malformed("a number has more than 64 bits");
  }

  int zigzag() throws MalformedMessageException {
    long value = varint();
    if (value >>> 32 != 0) {
      throw malformed("a number has more than 32 bits");
    }
    return (int) (value >>> 1) ^ -(int) (value & 1);
  }

  /** A count of things that take at least a byte each. */
  int count() throws MalformedMessageException {
    long count = varint();
    if (count < 0 || count > end - at) {
      throw malformed(
          Long.toUnsignedString(count) + " are announced, but only " + (end - at) + " bytes");
    }
    return (int) count;
  }

  byte[] blob() throws MalformedMessageException {
    int length = count();
    if (length == 0) {
      return NO_BYTES;
    }
    byte[] copy = Arrays.copyOfRange(bytes, at, at + length);
    at += length;
    return copy;
  }

  /** A text that is probably new. */
  String text() throws MalformedMessageException {
    int length = count();
    var text = decode(at, length);
    at += length;
    return text;
  }

  /** A text that has probably been read before. */
  String name() throws MalformedMessageException {
    int length = count();
    int start = at;
    at += length;
    if (length > LONGEST_NAME) {
      return decode(start, length);
    }
    int slot = slot(start, length);
    var known = names[slot];
    if (known != null
        && Arrays.equals(known.bytes, 0, known.bytes.length, bytes, start, start + length)) {
      return known.text;
    }
    var text = decode(start, length);
    names[slot] = new Name(Arrays.copyOfRange(bytes, start, start + length), text);
    return text;
  }

  /** From the length and the outermost bytes, in which most names differ. */
  private int slot(int start, int length) {
    long hash = length;
    if (length >= Long.BYTES) {
      hash += (long) LONGS.get(bytes, start) * 0x9E37_79B9_7F4A_7C15L;
      hash ^= (long) LONGS.get(bytes, start + length - Long.BYTES);
    } else {
      for (int i = start; i < start + length; i++) {
        hash = hash << 8 | (bytes[i] & 0xFF);
      }
    }
    hash *= 0x9E37_79B9_7F4A_7C15L;
    return (int) (hash >>> (Long.SIZE - NAMES_BITS));
  }

  private String decode(int start, int length) throws MalformedMessageException {
    int all = 0;
    for (int i = start; i < start + length; i++) {
      all |= bytes[i];
    }
    return all >= 0 ? new String(bytes, start, length, ISO_8859_1) : wide(start, start + length);
  }

  private String wide(int start, int to) throws MalformedMessageException {
    var chars = new char[to - start];
    int size = 0;
    for (int i = start; i < to; ) {
      int first = bytes[i++];
      if (first >= 0) {
        chars[size++] = (char) first;
        continue;
      }
      int more = Integer.numberOfLeadingZeros(~first) - 25;
      if (more < 1 || more > 3 || more > to - i) {
        throw malformed("a text is not UTF-8");
      }
      int c = first & (0x3F >> more);
      for (int last = i + more; i < last; i++) {
        if ((bytes[i] & 0xC0) != 0x80) {
          throw malformed("a text is not UTF-8");
        }
        c = c << 6 | (bytes[i] & 0x3F);
      }
      if (c < (more == 1 ? 0x80 : more == 2 ? 0x800 : 0x1_0000) || c > Character.MAX_CODE_POINT) {
        throw malformed("a text is not UTF-8");
      }
      size += Character.toChars(c, chars, size);
    }
    return new String(chars, 0, size);
  }

  /** Begins a struct; returns the end of what is around it, for {@link #end}. */
  int begin() throws MalformedMessageException {
    int length = count();
    int outer = end;
    end = at + length;
    return outer;
  }

  /** Passes over what a later version has appended to a struct. */
  void end(int outer) {
    at = end;
    end = outer;
  }
}
