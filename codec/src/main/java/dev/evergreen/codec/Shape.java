package dev.evergreen.codec;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** What a codec knows of one static type. The four operations treat null, the subclasses not. */
abstract class Shape {
  private final String name;
  private volatile @Nullable Boolean identity;

  Shape(String name) {
    this.name = name;
  }

  /** The type, as in source code. */
  final String name() {
    return name;
  }

  /** Whether null is a value of this type. */
  boolean nullable() {
    return true;
  }

  /** Whether {@code equals} of frozen values is, or goes down to, that of arrays: identity. */
  final boolean identity() {
    Boolean known = identity;
    if (known == null) {
      known = reach().stream().anyMatch(Shape::array);
      identity = known;
    }
    return known;
  }

  /** All shapes that values of this type can consist of, itself included. */
  final Set<Shape> reach() {
    Set<Shape> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    collect(seen);
    return seen;
  }

  private void collect(Set<Shape> seen) {
    if (seen.add(this)) {
      parts(part -> part.collect(seen));
    }
  }

  boolean array() {
    return false;
  }

  /** What a record component of this type is if the bytes lack it. */
  @Nullable Object absent() {
    return null;
  }

  /** Whether values of this type are mutable objects, or can be; what they hold aside. */
  boolean mutable() {
    return false;
  }

  /**
   * At least half of the most bytes a value can have outside of keys, names of layouts and
   * constants not counted; or -1 if that depends on the value, or if its depth does.
   */
  int bound() {
    return -1;
  }

  /** The levels that values of this type have at most, if they have a bound. */
  int height() {
    return 0;
  }

  /** As {@link ValueType#plain}. */
  boolean plain() {
    return false;
  }

  /** Whether {@code equals} and {@link #same} agree for frozen values. */
  boolean equalsIsSame() {
    return false;
  }

  /** The shapes that values of this type consist of. */
  void parts(Consumer<Shape> visitor) {}

  /** The bytes that the names belonging to this shape alone can take once in a message. */
  int nameBytes() {
    return 0;
  }

  abstract void write(Writer out, Object value);

  abstract @Nullable Object read(Reader in, int tag);

  abstract Object freezeValue(Object value, Walk walk);

  /** Compares two distinct objects; {@code levels} may still be entered. */
  abstract boolean sameValue(Object a, Object b, int levels);

  final void put(Writer out, @Nullable Object value) {
    if (value == null) {
      requireNullable();
      out.tag(Tag.NULL);
    } else {
      write(out, value);
    }
  }

  final @Nullable Object get(Reader in) {
    int tag = in.u8();
    if (tag != Tag.NULL) {
      return read(in, tag);
    }
    if (!nullable()) {
      throw in.malformed("null is no " + name);
    }
    return null;
  }

  final @Nullable Object freeze(@Nullable Object value, Walk walk) {
    if (value == null) {
      requireNullable();
      walk.count(1);
      return null;
    }
    return freezeValue(value, walk);
  }

  final boolean same(@Nullable Object a, @Nullable Object b, int levels) {
    return a == b || (a != null && b != null && sameValue(a, b, levels));
  }

  private void requireNullable() {
    if (!nullable()) {
      throw new NotAValueException("null is no " + name);
    }
  }

  final void requireTag(Reader in, int tag, int expected) {
    if (tag != expected) {
      throw in.malformed("tag " + tag + " does not begin a " + name);
    }
  }

  static ValueLimitException tooDeepToCompare() {
    return new ValueLimitException(
        "the values are nested too deep to be compared; do they contain themselves?");
  }

  final NotAValueException wrongClass(Object value) {
    return new NotAValueException(
        "expected " + name + ", but was given a " + value.getClass().getTypeName());
  }

  @Override
  public String toString() {
    return name;
  }
}
