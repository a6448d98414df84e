package dev.evergreen.codec;

import java.util.Collection;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A {@code List}, {@code Collection} or {@code SequencedCollection}; frozen, it is a list. */
final class ListShape extends Shape {
  private static final Class<?> SMALL = List.of(1).getClass();
  private static final Class<?> LARGE = List.of(1, 2, 3).getClass();
  private static final Class<?> OF_STREAM = Stream.of(1).toList().getClass();

  private final Class<?> type;
  private final Shape element;
  private final FrozenList empty;

  ListShape(String name, Class<?> type, Shape element) {
    super(name);
    this.type = type;
    this.element = element;
    this.empty = new FrozenList(new Object[0], Stamp.empty(element, element));
  }

  @Override
  boolean mutable() {
    return true;
  }

  @Override
  boolean equalsIsSame() {
    return element.equalsIsSame();
  }

  @Override
  Object absent() {
    return empty;
  }

  @Override
  void parts(Consumer<Shape> visitor) {
    visitor.accept(element);
  }

  /** The elements; a frozen list's own array, which is not to be changed. */
  private @Nullable Object[] elements(Object value) {
    if (value instanceof FrozenList frozen) {
      return frozen.elements();
    }
    if (!type.isInstance(value)) {
      throw wrongClass(value);
    }
    return Items.of((Collection<?>) value);
  }

  @Override
  void write(Writer out, Object value) {
    out.enter();
    @Nullable Object[] elements = elements(value);
    out.tag(Tag.LIST);
    out.varint(elements.length);
    for (Object each : elements) {
      element.put(out, each);
    }
    out.leave();
  }

  @Override
  Object read(Reader in, int tag) {
    requireTag(in, tag, Tag.LIST);
    int start = in.position();
    int before = in.measure();
    int changeable = in.changeable();
    in.enter();
    int count = in.count(1);
    @Nullable Object[] elements = Items.start(count);
    for (int i = 0; i < count; i++) {
      elements = Items.roomFor(i, elements, count);
      elements[i] = element.get(in);
    }
    in.leave();
    int height = in.height(before);
    return count == 0
        ? empty
        : frozen(elements, in.position() - start + 1L, height, in, changeable);
  }

  /**
   * @param changeable how many things that can be changed had been made before the elements
   */
  private FrozenList frozen(
      @Nullable Object[] elements, long bytes, int height, Nesting by, int changeable) {
    boolean more = by.changeable() > changeable;
    return new FrozenList(elements, Stamp.of(element, element, bytes, height, by.inKey(), more));
  }

  @Override
  Object freezeValue(Object value, Walk walk) {
    if (value instanceof FrozenList list && list.stamp().settles(element, element, walk)) {
      return value;
    }
    @Nullable Object[] before = elements(value);
    @Nullable Object[] after = value instanceof FrozenList ? before.clone() : before;
    int outer = walk.measure();
    int changeable = walk.changeable();
    long start = walk.bytes();
    walk.enter();
    walk.count(3);
    boolean changed = false;
    for (int i = 0; i < after.length; i++) {
      Object each = after[i];
      after[i] = element.freeze(each, walk);
      changed |= after[i] != each;
    }
    walk.leave();
    int height = walk.height(outer);
    if (!changed && unmodifiable(value)) {
      return value;
    }
    return after.length == 0
        ? empty
        : frozen(after, walk.bytes() - start, height, walk, changeable);
  }

  /**
   * Whether it is a list of the JDK that nothing can change, given that nothing can change its
   * elements.
   */
  static boolean unmodifiable(Object list) {
    Class<?> c = list.getClass();
    return c == SMALL || c == LARGE || c == OF_STREAM;
  }

  @Override
  boolean sameValue(Object a, Object b, int levels) {
    if (levels == 0) {
      throw tooDeepToCompare();
    }
    @Nullable Object[] as = elements(a);
    @Nullable Object[] bs = elements(b);
    if (as.length != bs.length) {
      return false;
    }
    for (int i = 0; i < as.length; i++) {
      if (!element.same(as[i], bs[i], levels - 1)) {
        return false;
      }
    }
    return true;
  }
}
