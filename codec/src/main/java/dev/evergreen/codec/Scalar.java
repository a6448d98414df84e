package dev.evergreen.codec;

import java.net.URI;
import java.time.DateTimeException;
import java.time.ZoneId;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/** A type without parts whose values are immutable. */
final class Scalar<T> extends Shape {

  interface Put<T> {
    void put(Writer out, T value);
  }

  interface Get<T> {
    T get(Reader in);
  }

  private final Class<T> type;
  private final @Nullable Object absent;
  private final boolean nullable;
  private final int tag;
  private final int bound;
  private final ToIntFunction<T> size;
  private final boolean equalsIsSame;
  private final Put<T> put;
  private final Get<T> get;

  private Scalar(
      Scalar<T> like, String name, @Nullable Object absent, ToIntFunction<T> size, int bound) {
    super(name);
    this.type = like.type;
    this.absent = absent;
    this.nullable = absent == null;
    this.tag = like.tag;
    this.bound = bound;
    this.size = size;
    this.equalsIsSame = like.equalsIsSame;
    this.put = like.put;
    this.get = like.get;
  }

  /** A type whose values have at most {@code 2 * bound} bytes. */
  Scalar(Class<T> type, int tag, int bound, Put<T> put, Get<T> get) {
    super(type.getSimpleName());
    this.type = type;
    this.absent = null;
    this.nullable = true;
    this.tag = tag;
    this.bound = bound;
    this.size = value -> bound;
    this.equalsIsSame = type != (Class<?>) URI.class;
    this.put = put;
    this.get = get;
  }

  /** The same type without a bound: a value has between {@code size} and twice as many bytes. */
  Scalar<T> sized(ToIntFunction<T> size) {
    return new Scalar<>(this, name(), absent, size, -1);
  }

  /** The primitive of this boxed type. */
  Scalar<T> primitive(Class<?> primitive, Object zero) {
    return new Scalar<>(this, primitive.getName(), zero, size, bound);
  }

  @Override
  boolean nullable() {
    return nullable;
  }

  @Override
  @Nullable Object absent() {
    return absent;
  }

  @Override
  int bound() {
    return bound;
  }

  @Override
  boolean equalsIsSame() {
    return equalsIsSame;
  }

  @Override
  boolean plain() {
    return equalsIsSame;
  }

  /** Subclasses of big numbers could be mutable, so only the very class will do; but zones. */
  private T checked(Object value) {
    if (value.getClass() != type && !(type == ZoneId.class && type.isInstance(value))) {
      throw wrongClass(value);
    }
    return type.cast(value);
  }

  @Override
  void write(Writer out, Object value) {
    T checked = checked(value);
    if (tag == Tag.PACK) {
      int start = out.startPack();
      put.put(out, checked);
      out.endPack(start);
    } else {
      out.tag(tag);
      put.put(out, checked);
    }
  }

  @Override
  Object read(Reader in, int tag) {
    requireTag(in, tag, this.tag);
    try {
      if (tag != Tag.PACK) {
        return get.get(in);
      }
      int outerEnd = in.startPack();
      T value = get.get(in);
      in.endPack(outerEnd);
      return value;
    } catch (DateTimeException | ArithmeticException e) {
      throw in.malformed("no " + name(), e);
    }
  }

  @Override
  Object freezeValue(Object value, Walk walk) {
    walk.count(size.applyAsInt(checked(value)));
    return value;
  }

  @Override
  boolean sameValue(Object a, Object b, int levels) {
    return equalsIsSame ? a.equals(b) : a.toString().equals(b.toString());
  }
}
