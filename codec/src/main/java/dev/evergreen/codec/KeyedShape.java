package dev.evergreen.codec;

import java.util.Arrays;
import java.util.Map;
import java.util.NavigableMap;
import java.util.SequencedMap;
import java.util.SequencedSet;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A set, or a map, whose keys are then what the elements of a set are. The order of the keys counts
 * only where the static type says so, {@code SequencedSet} or {@code SequencedMap}.
 */
final class KeyedShape extends Shape {
  static final Set<Class<?>> UNMODIFIABLE =
      Set.of(
          Set.of(1).getClass(),
          Set.of(1, 2, 3).getClass(),
          Map.of(1, 1).getClass(),
          Map.of(1, 1, 2, 2).getClass());

  private final Class<?> type;
  private final boolean map;
  private final boolean sorted;
  private final boolean sequenced;
  private final Shape key;
  private final Shape value;
  private final Limits limits;
  private @Nullable Object empty;

  /** For a set, {@code value} is {@code key}. */
  KeyedShape(String name, Class<?> type, Shape key, Shape value, Limits limits) {
    super(name);
    this.type = type;
    this.map = Map.class.isAssignableFrom(type);
    this.sorted = SortedSet.class.isAssignableFrom(type) || SortedMap.class.isAssignableFrom(type);
    this.sequenced = type == SequencedSet.class || type == SequencedMap.class;
    this.key = key;
    this.value = value;
    this.limits = limits;
  }

  /** Keys, and the values beside them unless it is a set. */
  record Content(@Nullable Object[] keys, @Nullable Object @Nullable [] values) {

    static Content of(Object collection) {
      return switch (collection) {
        case FrozenSet set -> new Content(set.elements(), null);
        case FrozenMap map -> new Content(map.keys(), map.valueArray());
        case Map<?, ?> map -> ofEntries(map.entrySet().toArray());
        case Set<?> set -> new Content(Items.of(set), null);
        default -> throw new IllegalArgumentException(collection.getClass().getTypeName());
      };
    }

    /** With arrays of its own; those of a frozen collection are not to be changed. */
    Content copy() {
      return new Content(keys.clone(), values == null ? null : values.clone());
    }

    private static Content ofEntries(@Nullable Object[] entries) {
      var keys = new @Nullable Object[entries.length];
      var values = new @Nullable Object[entries.length];
      for (int i = 0; i < entries.length; i++) {
        if (entries[i] instanceof Map.Entry<?, ?> entry) {
          keys[i] = entry.getKey();
          values[i] = entry.getValue();
        }
      }
      return new Content(keys, values);
    }
  }

  @Override
  boolean mutable() {
    return true;
  }

  @Override
  boolean equalsIsSame() {
    return key.equalsIsSame() && value.equalsIsSame();
  }

  @Override
  Object absent() {
    Object known = empty;
    if (known == null) {
      var none = new Object[0];
      known = frozen(new Content(none, map ? none : null), Stamp.empty(key, value));
      empty = known;
    }
    return known;
  }

  @Override
  void parts(Consumer<Shape> visitor) {
    visitor.accept(key);
    visitor.accept(value);
  }

  private Content content(Object collection) {
    if (!type.isInstance(collection)) {
      throw wrongClass(collection);
    }
    return Content.of(collection);
  }

  @Override
  void write(Writer out, Object collection) {
    out.enter();
    Content content = content(collection);
    if ((sorted || sequenced) && !Frozen.is(collection)) {
      frozen(content, Stamp.empty(key, value));
    }
    if (sequenced) {
      writeInOrder(out, content);
    } else {
      out.tag(map ? Tag.MAP : Tag.SET);
      out.varint(content.keys.length);
      out.sorted(key, content.keys, value, content.values);
    }
    out.leave();
  }

  private void writeInOrder(Writer out, Content content) {
    out.tag(Tag.LIST);
    out.varint((map ? 2L : 1L) * content.keys.length);
    for (int i = 0; i < content.keys.length; i++) {
      key.put(out, content.keys[i]);
      if (content.values != null) {
        value.put(out, content.values[i]);
      }
    }
  }

  @Override
  Object read(Reader in, int tag) {
    requireTag(in, tag, sequenced ? Tag.LIST : map ? Tag.MAP : Tag.SET);
    int start = in.position();
    int outer = in.measure();
    int changeable = in.changeable();
    in.enter();
    Content content = readContent(in, readCount(in));
    in.leave();
    int height = in.height(outer);
    if (content.keys.length == 0) {
      return absent();
    }
    try {
      return frozen(content, in.position() - start + 1L, height, in, changeable);
    } catch (NotAValueException e) {
      throw in.malformed("the keys make no " + name() + ": " + e.getMessage(), e);
    }
  }

  private int readCount(Reader in) {
    int count = in.count(map && !sequenced ? 2 : 1);
    if (!map || !sequenced) {
      return count;
    }
    if (count % 2 != 0) {
      throw in.malformed("the last key of " + name() + " has no value");
    }
    return count / 2;
  }

  private Content readContent(Reader in, int count) {
    @Nullable Object[] keys = Items.start(count);
    @Nullable Object[] values = map ? Items.start(count) : null;
    int before = 0;
    int beforeEnd = 0;
    for (int i = 0; i < count; i++) {
      keys = Items.roomFor(i, keys, count);
      int start = in.position();
      keys[i] = sequenced ? key.get(in) : in.key(key, before, beforeEnd);
      before = start;
      beforeEnd = in.position();
      if (values != null) {
        values = Items.roomFor(i, values, count);
        values[i] = value.get(in);
      }
    }
    return new Content(keys, values);
  }

  /**
   * @param changeable how many things that can be changed had been made before the content
   */
  private Object frozen(Content content, long bytes, int height, Nesting by, int changeable) {
    boolean more = by.changeable() > changeable;
    return frozen(content, Stamp.of(key, value, bytes, height, by.inKey(), more));
  }

  /** Throws {@link NotAValueException} for equal keys, and for what their own methods throw. */
  private Object frozen(Content content, Stamp stamp) {
    try {
      return collection(content, stamp);
    } catch (NotAValueException | ValueLimitException e) {
      throw e;
    } catch (RuntimeException e) {
      throw new NotAValueException("the methods of a key of " + name() + " threw " + e, e);
    }
  }

  private Object collection(Content content, Stamp stamp) {
    if (sorted) {
      return Frozen.sorted(naturally(content), map, stamp);
    }
    var index = new Index(content.keys, key, limits);
    if (index.twice()) {
      throw twice();
    }
    Stamp full = sequenced ? stamp.inOrder() : stamp;
    return content.values == null
        ? new FrozenSet(content.keys, index, full)
        : new FrozenMap(content.keys, content.values, index, full);
  }

  private NavigableMap<@Nullable Object, @Nullable Object> naturally(Content content) {
    var tree = new TreeMap<@Nullable Object, @Nullable Object>();
    for (int i = 0; i < content.keys.length; i++) {
      Object each = content.keys[i];
      if (each == null) {
        throw new NotAValueException("null has no place in the natural order of " + name());
      }
      tree.put(each, content.values == null ? true : content.values[i]);
    }
    if (tree.size() != content.keys.length) {
      throw twice();
    }
    return tree;
  }

  private NotAValueException twice() {
    return new NotAValueException(
        "two elements or keys of " + name() + " are equal; which of them is meant?");
  }

  @Override
  Object freezeValue(Object collection, Walk walk) {
    Stamp known = Frozen.stamp(collection);
    if (known != null && type.isInstance(collection) && known.settles(key, value, walk)) {
      return collection;
    }
    Content before = content(collection);
    int outer = walk.measure();
    int changeable = walk.changeable();
    long start = walk.bytes();
    walk.enter();
    walk.count(3);
    walk.enterKey();
    @Nullable Object[] keys = freezeAll(key, before.keys, walk);
    walk.leaveKey();
    @Nullable Object[] values =
        before.values == null ? null : freezeAll(value, before.values, walk);
    walk.leave();
    int height = walk.height(outer);
    if (keys == before.keys
        && values == before.values
        && UNMODIFIABLE.contains(collection.getClass())) {
      return collection;
    }
    if (keys.length == 0) {
      return absent();
    }
    return frozen(new Content(keys, values), walk.bytes() - start, height, walk, changeable);
  }

  /** The same array if nothing changed. */
  private static @Nullable Object[] freezeAll(Shape shape, @Nullable Object[] all, Walk walk) {
    @Nullable Object[] result = all;
    for (int i = 0; i < all.length; i++) {
      Object after = shape.freeze(all[i], walk);
      if (after != all[i] && result == all) {
        result = all.clone();
      }
      result[i] = after;
    }
    return result;
  }

  @Override
  boolean sameValue(Object a, Object b, int levels) {
    if (levels == 0) {
      throw tooDeepToCompare();
    }
    Content as = content(a);
    Content bs = content(b);
    int count = as.keys.length;
    if (count != bs.keys.length) {
      return false;
    }
    @Nullable Index index = Frozen.index(b);
    for (int i = 0; i < count; i++) {
      int other = i;
      if (!key.same(as.keys[i], bs.keys[i], levels - 1)) {
        if (sequenced) {
          return false;
        }
        other = index == null ? -1 : index.find(as.keys[i]);
        if (other < 0 || !key.same(as.keys[i], bs.keys[other], levels - 1)) {
          return (index == null || !key.equalsIsSame()) && sameBytes(a, b, levels);
        }
      }
      if (as.values != null
          && bs.values != null
          && !value.same(as.values[i], bs.values[other], levels - 1)) {
        return false;
      }
    }
    return true;
  }

  private boolean sameBytes(Object a, Object b, int levels) {
    var within = new Limits(limits.maxBytes(), levels);
    var first = new Writer(within);
    write(first, a);
    var second = new Writer(within);
    write(second, b);
    return Arrays.equals(first.toBytes(), second.toBytes());
  }
}
