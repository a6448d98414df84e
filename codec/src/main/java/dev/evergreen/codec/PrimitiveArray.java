package dev.evergreen.codec;

import java.lang.reflect.Array;
import java.util.Arrays;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** An array of primitives, written without a tag for each. */
final class PrimitiveArray extends Shape {

  /** The tag of each kind, and half of the most bytes that one element can take, rounded up. */
  private record Kind(int tag, int bound) {}

  private static final Map<Class<?>, Kind> KINDS =
      Map.of(
          boolean[].class, new Kind(Tag.PACK, 1),
          byte[].class, new Kind(Tag.PACK, 1),
          short[].class, new Kind(Tag.INTS, 2),
          char[].class, new Kind(Tag.INTS, 2),
          int[].class, new Kind(Tag.INTS, 3),
          long[].class, new Kind(Tag.INTS, 5),
          float[].class, new Kind(Tag.FLOATS, 2),
          double[].class, new Kind(Tag.DOUBLES, 4));

  private final Class<?> type;
  private final Kind kind;

  private PrimitiveArray(Class<?> type, Kind kind) {
    super(type.getSimpleName());
    this.type = type;
    this.kind = kind;
  }

  static @Nullable PrimitiveArray of(Class<?> type) {
    Kind kind = KINDS.get(type);
    return kind == null ? null : new PrimitiveArray(type, kind);
  }

  @Override
  boolean mutable() {
    return true;
  }

  @Override
  boolean array() {
    return true;
  }

  private void check(Object value) {
    if (value.getClass() != type) {
      throw wrongClass(value);
    }
  }

  @Override
  void write(Writer out, Object value) {
    check(value);
    out.tag(kind.tag);
    out.varint(Array.getLength(value));
    switch (value) {
      case byte[] all -> out.raw(all);
      case boolean[] all -> {
        for (boolean each : all) {
          out.tag(each ? 1 : 0);
        }
      }
      case short[] all -> {
        for (short each : all) {
          out.zigzag(each);
        }
      }
      case char[] all -> {
        for (char each : all) {
          out.zigzag(each);
        }
      }
      case int[] all -> {
        for (int each : all) {
          out.zigzag(each);
        }
      }
      case long[] all -> {
        for (long each : all) {
          out.zigzag(each);
        }
      }
      case float[] all -> {
        for (float each : all) {
          out.fixed4(Float.floatToIntBits(each));
        }
      }
      case double[] all -> {
        for (double each : all) {
          out.fixed8(Double.doubleToLongBits(each));
        }
      }
      default -> throw wrongClass(value);
    }
  }

  @Override
  Object read(Reader in, int tag) {
    requireTag(in, tag, kind.tag);
    int width = tag == Tag.FLOATS ? 4 : tag == Tag.DOUBLES ? 8 : 1;
    Object array = Array.newInstance(type.getComponentType(), in.count(width));
    in.countChangeable();
    switch (array) {
      case byte[] all -> System.arraycopy(in.raw(all.length), 0, all, 0, all.length);
      case boolean[] all -> {
        for (int i = 0; i < all.length; i++) {
          all[i] = in.within(in.u8(), 0, 1) == 1;
        }
      }
      case short[] all -> {
        for (int i = 0; i < all.length; i++) {
          all[i] = (short) in.within(in.zigzag(), Short.MIN_VALUE, Short.MAX_VALUE);
        }
      }
      case char[] all -> {
        for (int i = 0; i < all.length; i++) {
          all[i] = (char) in.within(in.zigzag(), 0, Character.MAX_VALUE);
        }
      }
      case int[] all -> {
        for (int i = 0; i < all.length; i++) {
          all[i] = Scalars.int32(in);
        }
      }
      case long[] all -> {
        for (int i = 0; i < all.length; i++) {
          all[i] = in.zigzag();
        }
      }
      case float[] all -> {
        for (int i = 0; i < all.length; i++) {
          all[i] = Scalars.float32(in);
        }
      }
      case double[] all -> {
        for (int i = 0; i < all.length; i++) {
          all[i] = Scalars.float64(in);
        }
      }
      default -> throw wrongClass(array);
    }
    return array;
  }

  @Override
  Object freezeValue(Object value, Walk walk) {
    check(value);
    int length = Array.getLength(value);
    walk.count(6L + (long) length * kind.bound);
    walk.countChangeable();
    Object copy = Array.newInstance(type.getComponentType(), length);
    System.arraycopy(value, 0, copy, 0, length);
    return copy;
  }

  @Override
  boolean sameValue(Object a, Object b, int levels) {
    check(a);
    check(b);
    return Arrays.deepEquals(new Object[] {a}, new Object[] {b});
  }
}
