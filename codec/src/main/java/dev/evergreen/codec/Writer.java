package dev.evergreen.codec;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** A message being written; see {@link Tag} for the format. */
final class Writer extends Nesting {
  private byte[] bytes = new byte[128];
  private int size;
  private @Nullable Interned layouts;
  private @Nullable Interned names;

  Writer(Limits limits) {
    super(limits);
  }

  byte[] toBytes() {
    if (size > limits.maxBytes()) {
      throw tooLarge(limits);
    }
    return Arrays.copyOf(bytes, size);
  }

  /** Makes room; lets the message grow a few bytes too large, which {@link #toBytes} refuses. */
  private void reserve(long more) {
    long needed = size + more;
    if (needed > bytes.length) {
      long most = Math.min(limits.maxBytes() + 16L, Integer.MAX_VALUE - 8);
      if (needed > most) {
        throw tooLarge(limits);
      }
      bytes = Arrays.copyOf(bytes, (int) Math.min(most, Math.max(needed, 2L * bytes.length)));
    }
  }

  void tag(int tag) {
    reserve(1);
    bytes[size++] = (byte) tag;
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

  void zigzag(long value) {
    varint((value << 1) ^ (value >> 63));
  }

  void fixed4(int value) {
    reserve(4);
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes[size++] = (byte) (value >> shift);
    }
  }

  void fixed8(long value) {
    fixed4((int) (value >> 32));
    fixed4((int) value);
  }

  void raw(byte[] from) {
    raw(from, 0, from.length);
  }

  void raw(byte[] from, int start, int length) {
    reserve(length);
    System.arraycopy(from, start, bytes, size, length);
    size += length;
  }

  void text(String text) {
    int start = size;
    int length = text.length();
    varint(2L * length);
    reserve(length);
    byte[] to = bytes;
    int at = size;
    for (int i = 0; i < length; i++) {
      char c = text.charAt(i);
      if (c > 0xFF) {
        size = start;
        wideText(text);
        return;
      }
      to[at++] = (byte) c;
    }
    size = at;
  }

  private void wideText(String text) {
    int length = text.length();
    varint(2L * length + 1);
    reserve(2L * length);
    for (int i = 0; i < length; i++) {
      char c = text.charAt(i);
      bytes[size++] = (byte) (c >> 8);
      bytes[size++] = (byte) c;
    }
  }

  /** Begins a packed value; returns its start, for {@link #endPack}. */
  int startPack() {
    tag(Tag.PACK);
    tag(0);
    return size;
  }

  /** Puts the length of what was written since {@code start} before it. */
  void endPack(int start) {
    int length = size - start;
    if (length < 0x80) {
      bytes[start - 1] = (byte) length;
      return;
    }
    byte[] content = Arrays.copyOfRange(bytes, start, size);
    size = start - 1;
    varint(length);
    raw(content);
  }

  /** The name must be interned by the JVM, so that it is found by identity. */
  void name(String name) {
    if (names == null) {
      names = new Interned();
    }
    int number = names.number(name);
    varint(number);
    if (number == 0) {
      text(name);
    }
  }

  void layout(Layout layout) {
    if (layouts == null) {
      layouts = new Interned();
    }
    int number = layouts.number(layout);
    varint(number);
    if (number == 0) {
      raw(layout.definition);
    }
  }

  /**
   * Writes the keys in the order of their bytes, and after each, if there are values, its value.
   *
   * <p>The keys are written behind the message first, moved aside, sorted, and put in their places.
   */
  void sorted(
      Shape keyShape, @Nullable Object[] keys, Shape valueShape, Object @Nullable [] values) {
    int start = size;
    var slices = new Slice[keys.length];
    Interned outerLayouts = layouts;
    Interned outerNames = names;
    enterKey();
    for (int i = 0; i < keys.length; i++) {
      layouts = null;
      names = null;
      int from = size;
      keyShape.put(this, keys[i]);
      slices[i] = new Slice(from - start, size - start, i, prefix(from));
    }
    leaveKey();
    layouts = outerLayouts;
    names = outerNames;
    byte[] scratch = Arrays.copyOfRange(bytes, start, size);
    size = start;
    Arrays.sort(slices, (a, b) -> a.compare(b, scratch));
    for (int i = 0; i < slices.length; i++) {
      Slice slice = slices[i];
      if (i > 0 && slices[i - 1].compare(slice, scratch) == 0) {
        throw new NotAValueException(
            "two elements of a set or keys of a map of "
                + keyShape.name()
                + " have the same components; only values that differ can be told apart");
      }
      raw(scratch, slice.from, slice.to - slice.from);
      if (values != null) {
        valueShape.put(this, values[slice.index]);
      }
    }
  }

  /** Up to eight bytes from here, as a number of the same order; most keys differ in them. */
  private long prefix(int from) {
    long prefix = 0;
    for (int i = from; i < from + 8; i++) {
      prefix = prefix << 8 | (i < size ? bytes[i] & 0xFF : 0);
    }
    return prefix;
  }

  private record Slice(int from, int to, int index, long prefix) {
    int compare(Slice other, byte[] in) {
      return prefix != other.prefix
          ? Long.compareUnsigned(prefix, other.prefix)
          : Arrays.compareUnsigned(in, from, to, in, other.from, other.to);
    }
  }
}
