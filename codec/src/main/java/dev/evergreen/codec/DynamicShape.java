package dev.evergreen.codec;

import java.lang.reflect.Array;
import java.net.URI;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Any object at all, taken for what it is at run time.
 *
 * <p>A frozen collection of a static type is frozen here too, but not the other way round: what is
 * frozen here may hold objects that are no values. Where a frozen component or element has no place
 * in its record or array, because that asks for a certain class of collection, the original stays.
 */
final class DynamicShape extends Shape {
  private final Limits limits;

  DynamicShape(Limits limits) {
    super("any type");
    this.limits = limits;
  }

  @Override
  boolean mutable() {
    return true;
  }

  @Override
  void write(Writer out, Object value) {
    throw noBytes();
  }

  @Override
  Object read(Reader in, int tag) {
    throw noBytes();
  }

  static UnsupportedOperationException noBytes() {
    return new UnsupportedOperationException(
        "a value whose static type is unknown has no encoding; ask the codec for its type");
  }

  @Override
  Object freezeValue(Object value, Walk walk) {
    Stamp stamp = value instanceof FrozenList list ? list.stamp() : Frozen.stamp(value);
    if (stamp != null && stamp.settles(walk)) {
      return value;
    }
    walk.count(2);
    if (value instanceof String text) {
      walk.count(text.length());
      return text;
    }
    if (!holds(value)) {
      return value;
    }
    walk.enter();
    Object frozen =
        switch (value) {
          case Record record -> freezeRecord(record, walk);
          case Optional<?> optional -> freezeOptional(optional, walk);
          case List<?> list -> freezeList(list, walk);
          case Set<?> set -> freezeKeyed(set, walk);
          case Map<?, ?> map -> freezeKeyed(map, walk);
          default -> freezeArray(value, walk);
        };
    walk.leave();
    return frozen;
  }

  private static boolean holds(Object value) {
    return value instanceof Record
        || value instanceof Optional
        || value instanceof List
        || value instanceof Set
        || value instanceof Map
        || value.getClass().isArray();
  }

  private Object freezeRecord(Record value, Walk walk) {
    RecordAccess access = RecordAccess.ifReadable(value.getClass()).orElse(null);
    if (access == null) {
      return value;
    }
    @Nullable Object[] components;
    try {
      components = access.all(value);
    } catch (NotAValueException e) {
      return value;
    }
    boolean changed = false;
    for (int i = 0; i < components.length; i++) {
      Object frozen = freeze(components[i], walk);
      if (access.accepts(i, frozen)) {
        changed |= frozen != components[i] || !access.keeps(value, i, frozen);
        components[i] = frozen;
      }
    }
    try {
      return changed ? access.create(components, walk) : value;
    } catch (RuntimeException e) {
      return value;
    }
  }

  private Object freezeOptional(Optional<?> optional, Walk walk) {
    Object inner = optional.orElse(null);
    Object frozen = freeze(inner, walk);
    return frozen == null || frozen == inner ? optional : Optional.of(frozen);
  }

  private Object freezeList(List<?> list, Walk walk) {
    int outer = walk.measure();
    long start = walk.bytes();
    int changeable = walk.changeable();
    @Nullable Object[] items = Items.of(list);
    boolean changed = freezeAll(items, walk);
    int height = walk.height(outer);
    return !changed && ListShape.unmodifiable(list)
        ? list
        : new FrozenList(items, stamp(walk, start, height, changeable));
  }

  private Stamp stamp(Walk walk, long start, int height, int changeable) {
    long bytes = walk.bytes() - start + 3;
    boolean more = walk.changeable() > changeable;
    return new Stamp(this, this, bytes, height + 1, walk.inKey(), more, false);
  }

  /** Freezes in place; whether anything changed. */
  private boolean freezeAll(@Nullable Object[] items, Walk walk) {
    boolean changed = false;
    for (int i = 0; i < items.length; i++) {
      Object before = items[i];
      items[i] = freeze(before, walk);
      changed |= items[i] != before;
    }
    return changed;
  }

  private Object freezeKeyed(Object collection, Walk walk) {
    int outer = walk.measure();
    long start = walk.bytes();
    int changeable = walk.changeable();
    KeyedShape.Content content = KeyedShape.Content.of(collection).copy();
    boolean changed = freezeAll(content.keys(), walk);
    @Nullable Object @Nullable [] values = content.values();
    changed |= values != null && freezeAll(values, walk);
    Stamp stamp = stamp(walk, start, walk.height(outer), changeable);
    if (!changed && KeyedShape.UNMODIFIABLE.contains(collection.getClass())) {
      return collection;
    }
    return switch (collection) {
      case SortedSet<?> set -> sorted(content, set.comparator(), stamp);
      case SortedMap<?, ?> map -> sorted(content, map.comparator(), stamp);
      default -> {
        var index = new Index(content.keys(), null, limits);
        yield values == null
            ? new FrozenSet(content.keys(), index, stamp)
            : new FrozenMap(content.keys(), values, index, stamp);
      }
    };
  }

  @SuppressWarnings("unchecked") // the comparator has compared these very keys before
  private static Object sorted(
      KeyedShape.Content content, @Nullable Comparator<?> comparator, Stamp stamp) {
    var tree =
        new TreeMap<@Nullable Object, @Nullable Object>(
            (@Nullable Comparator<@Nullable Object>) comparator);
    @Nullable Object[] values = content.values();
    for (int i = 0; i < content.keys().length; i++) {
      tree.put(content.keys()[i], values == null ? true : values[i]);
    }
    return Frozen.sorted(tree, values != null, stamp);
  }

  private Object freezeArray(Object array, Walk walk) {
    int length = Array.getLength(array);
    Class<?> component = array.getClass().getComponentType();
    Object copy = Array.newInstance(component, length);
    System.arraycopy(array, 0, copy, 0, length);
    walk.count(length);
    walk.countChangeable();
    if (copy instanceof @Nullable Object[] items) {
      for (int i = 0; i < length; i++) {
        Object frozen = freeze(items[i], walk);
        items[i] = component.isInstance(frozen) ? frozen : items[i];
      }
    }
    return copy;
  }

  @Override
  boolean sameValue(Object a, Object b, int levels) {
    if (levels == 0) {
      throw tooDeepToCompare();
    }
    return switch (a) {
      case URI uri -> b instanceof URI && uri.toString().equals(b.toString());
      case Record record -> b instanceof Record other && sameRecords(record, other, levels);
      case Optional<?> o ->
          b instanceof Optional<?> other && same(o.orElse(null), other.orElse(null), levels - 1);
      case List<?> list -> b instanceof List<?> other && sameLists(list, other, levels);
      case Set<?> set -> b instanceof Set<?> && sameKeyed(set, b, levels);
      case Map<?, ?> map -> b instanceof Map<?, ?> && sameKeyed(map, b, levels);
      case Object[] items ->
          b instanceof Object[] others
              && a.getClass() == b.getClass()
              && sameLists(Arrays.asList(items), Arrays.asList(others), levels);
      default -> a.getClass().isArray() ? Objects.deepEquals(a, b) : a.equals(b);
    };
  }

  private boolean sameRecords(Record a, Record b, int levels) {
    RecordAccess access = RecordAccess.ifReadable(a.getClass()).orElse(null);
    if (access == null || a.getClass() != b.getClass()) {
      return a.equals(b);
    }
    return sameLists(Arrays.asList(access.all(a)), Arrays.asList(access.all(b)), levels);
  }

  private boolean sameLists(List<?> a, List<?> b, int levels) {
    if (a.size() != b.size()) {
      return false;
    }
    Iterator<?> others = b.iterator();
    for (Object each : a) {
      if (!others.hasNext() || !same(each, others.next(), levels - 1)) {
        return false;
      }
    }
    return true;
  }

  private boolean sameKeyed(Object a, Object b, int levels) {
    KeyedShape.Content as = KeyedShape.Content.of(a);
    KeyedShape.Content bs = KeyedShape.Content.of(b);
    if (as.keys().length != bs.keys().length) {
      return false;
    }
    Index index = Frozen.index(b);
    boolean ordered = ordered(a) && ordered(b);
    for (int i = 0; i < as.keys().length; i++) {
      int other = i;
      if (!ordered && !same(as.keys()[i], bs.keys()[i], levels - 1)) {
        index = index == null ? new Index(bs.keys(), null, limits) : index;
        other = index.find(as.keys()[i]);
      }
      if (other < 0
          || !same(as.keys()[i], bs.keys()[other], levels - 1)
          || !sameAt(as.values(), i, bs.values(), other, levels)) {
        return false;
      }
    }
    return true;
  }

  /** Whether a static type has said that the order of the set or map counts. */
  private static boolean ordered(Object collection) {
    Stamp stamp = Frozen.stamp(collection);
    return stamp != null && stamp.ordered();
  }

  private boolean sameAt(
      @Nullable Object @Nullable [] as,
      int a,
      @Nullable Object @Nullable [] bs,
      int b,
      int levels) {
    return as == null || bs == null || same(as[a], bs[b], levels - 1);
  }
}
