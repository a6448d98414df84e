package dev.evergreen.codec;

import java.lang.reflect.Array;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** An array of anything but primitives. */
final class ArrayShape extends Shape {
  private final Class<?> type;
  private final Shape component;

  ArrayShape(String name, Class<?> type, Shape component) {
    super(name);
    this.type = type;
    this.component = component;
  }

  @Override
  boolean mutable() {
    return true;
  }

  @Override
  boolean array() {
    return true;
  }

  @Override
  void parts(Consumer<Shape> visitor) {
    visitor.accept(component);
  }

  private @Nullable Object[] checked(Object value) {
    if (!type.isInstance(value)) {
      throw wrongClass(value);
    }
    return (@Nullable Object[]) value;
  }

  /** An array of the static type, whatever the one at run time. */
  private @Nullable Object[] create(int length) {
    return (@Nullable Object[]) Array.newInstance(type.getComponentType(), length);
  }

  @Override
  void write(Writer out, Object value) {
    out.enter();
    @Nullable Object[] elements = checked(value);
    out.tag(Tag.LIST);
    out.varint(elements.length);
    for (Object element : elements) {
      component.put(out, element);
    }
    out.leave();
  }

  @Override
  Object read(Reader in, int tag) {
    requireTag(in, tag, Tag.LIST);
    in.enter();
    int count = in.count(1);
    @Nullable Object[] elements = Items.start(count);
    for (int i = 0; i < count; i++) {
      elements = Items.roomFor(i, elements, count);
      elements[i] = component.get(in);
    }
    in.leave();
    @Nullable Object[] array = create(count);
    in.countChangeable();
    System.arraycopy(elements, 0, array, 0, count);
    return array;
  }

  @Override
  Object freezeValue(Object value, Walk walk) {
    @Nullable Object[] elements = checked(value);
    @Nullable Object[] copy = create(elements.length);
    walk.enter();
    walk.count(3);
    walk.countChangeable();
    for (int i = 0; i < elements.length; i++) {
      copy[i] = component.freeze(elements[i], walk);
    }
    walk.leave();
    return copy;
  }

  @Override
  boolean sameValue(Object a, Object b, int levels) {
    if (levels == 0) {
      throw tooDeepToCompare();
    }
    @Nullable Object[] as = checked(a);
    @Nullable Object[] bs = checked(b);
    if (as.length != bs.length) {
      return false;
    }
    for (int i = 0; i < as.length; i++) {
      if (!component.same(as[i], bs[i], levels - 1)) {
        return false;
      }
    }
    return true;
  }
}
