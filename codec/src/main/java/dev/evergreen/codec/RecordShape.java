package dev.evergreen.codec;

import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A record: its components, read by accessors and put together by the canonical constructor. */
final class RecordShape extends Shape {
  private static final int UNKNOWN = -2;
  private static final int NONE = -1;

  private final RecordAccess access;
  private final boolean generic;
  private final Set<String> removed;
  private Layout layout;
  private Shape[] components = new Shape[0];
  private int bound = UNKNOWN;
  private int height;

  RecordShape(String name, RecordAccess access) {
    super(name);
    this.access = access;
    this.generic = access.type().getTypeParameters().length > 0;
    var gone = access.type().getAnnotation(Removed.class);
    this.removed = gone == null ? Set.of() : Set.copyOf(Arrays.asList(gone.value()));
    this.layout = new Layout(List.of());
  }

  /** The second half of construction; components may contain this shape. */
  void complete(Layout layout, Shape[] components) {
    for (String component : layout.names) {
      if (removed.contains(component)) {
        throw new NotAValueException(
            name() + " says that it has removed " + component + ", and still has it");
      }
    }
    this.layout = layout;
    this.components = components;
  }

  @Override
  int bound() {
    if (bound == UNKNOWN) {
      bound = NONE;
      bound = generic ? NONE : sumOfBounds();
    }
    return bound;
  }

  /** While it is being computed the bound reads as none, so a type inside itself has none. */
  private int sumOfBounds() {
    int sum = 3;
    int levels = 0;
    for (Shape component : components) {
      if (component.bound() < 0) {
        return NONE;
      }
      sum += component.bound();
      levels = Math.max(levels, component.height());
    }
    height = levels + 1;
    return sum;
  }

  @Override
  int height() {
    return height;
  }

  @Override
  void parts(Consumer<Shape> visitor) {
    for (Shape component : components) {
      visitor.accept(component);
    }
  }

  @Override
  int nameBytes() {
    return layout.definition.length;
  }

  private void check(Object value) {
    if (value.getClass() != access.type()) {
      throw wrongClass(value);
    }
  }

  @Override
  void write(Writer out, Object value) {
    check(value);
    out.enter();
    out.tag(Tag.RECORD);
    out.layout(layout);
    for (int i = 0; i < components.length; i++) {
      components[i].put(out, access.get(value, i));
    }
    out.leave();
  }

  @Override
  Object read(Reader in, int tag) {
    requireTag(in, tag, Tag.RECORD);
    in.enter();
    WireLayout wire = in.layout(layout);
    var values = new @Nullable Object[components.length];
    if (wire.expected == layout) {
      for (int i = 0; i < components.length; i++) {
        values[i] = components[i].get(in);
      }
    } else {
      readMapped(in, wire, values);
    }
    in.leave();
    try {
      return access.create(values, in);
    } catch (RuntimeException e) {
      throw in.malformed("the constructor of " + name() + " refused its components: " + e, e);
    }
  }

  private void readMapped(Reader in, WireLayout wire, @Nullable Object[] values) {
    int[] indexes = wire.indexesIn(layout);
    for (int i = 0; i < components.length; i++) {
      values[i] = components[i].absent();
    }
    for (int i = 0; i < indexes.length; i++) {
      int index = indexes[i];
      if (index >= 0) {
        values[index] = components[index].get(in);
        continue;
      }
      var component = wire.names.get(i);
      if (!removed.contains(component)) {
        in.unknown(name(), component);
      }
      in.skip();
    }
  }

  @Override
  Object freezeValue(Object value, Walk walk) {
    check(value);
    if (bound >= 0 && !walk.inKey()) {
      walk.below(height);
      walk.count(bound);
      return value;
    }
    walk.enter();
    walk.count(walk.inKey() ? 3 + layout.definition.length : 3);
    @Nullable Object @Nullable [] changed = null;
    for (int i = 0; i < components.length; i++) {
      Object before = access.get(value, i);
      Object after = components[i].freeze(before, walk);
      if (changed == null && (after != before || !access.keeps(value, i, before))) {
        changed = access.all(value);
      }
      if (changed != null) {
        changed[i] = after;
      }
    }
    walk.leave();
    return changed == null ? value : recreate(changed, walk);
  }

  private Object recreate(@Nullable Object[] values, Walk walk) {
    try {
      return access.create(values, walk);
    } catch (RuntimeException e) {
      throw new NotAValueException(
          "the constructor of " + name() + " refused its own components, frozen: " + e, e);
    }
  }

  @Override
  boolean sameValue(Object a, Object b, int levels) {
    if (levels == 0) {
      throw tooDeepToCompare();
    }
    check(a);
    check(b);
    for (int i = 0; i < components.length; i++) {
      if (!components[i].same(access.get(a, i), access.get(b, i), levels - 1)) {
        return false;
      }
    }
    return true;
  }
}
