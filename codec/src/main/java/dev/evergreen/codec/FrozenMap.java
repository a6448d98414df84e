package dev.evergreen.codec;

import java.util.AbstractMap;
import java.util.AbstractSet;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** An unmodifiable map of frozen keys and values, in the order in which they were given. */
final class FrozenMap extends AbstractMap<@Nullable Object, @Nullable Object>
    implements SequencedMap<@Nullable Object, @Nullable Object> {
  private final @Nullable Object[] keys;
  private final @Nullable Object[] values;
  private final Index index;
  private final Stamp stamp;
  private int hash;

  FrozenMap(@Nullable Object[] keys, @Nullable Object[] values, Index index, Stamp stamp) {
    this.keys = keys;
    this.values = values;
    this.index = index;
    this.stamp = stamp;
  }

  Stamp stamp() {
    return stamp;
  }

  /** The array itself, to be read only. */
  @Nullable Object[] keys() {
    return keys;
  }

  /** The array itself, to be read only. */
  @Nullable Object[] valueArray() {
    return values;
  }

  Index index() {
    return index;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return super.equals(other);
  }

  /** Remembered, since a hostile nest of sets would otherwise be hashed once for each level. */
  @Override
  public int hashCode() {
    int known = hash;
    if (known == 0) {
      known = super.hashCode();
      hash = stamp.lasting() ? known : 0;
    }
    return known;
  }

  @Override
  public int size() {
    return keys.length;
  }

  @Override
  public boolean containsKey(@Nullable Object key) {
    return index.find(key) >= 0;
  }

  @Override
  public @Nullable Object get(@Nullable Object key) {
    int at = index.find(key);
    return at < 0 ? null : values[at];
  }

  @Override
  public @Nullable Object getOrDefault(@Nullable Object key, @Nullable Object otherwise) {
    int at = index.find(key);
    return at < 0 ? otherwise : values[at];
  }

  @Override
  public @Nullable Object remove(@Nullable Object key) {
    throw new UnsupportedOperationException();
  }

  @Override
  public SequencedMap<@Nullable Object, @Nullable Object> reversed() {
    var reversed = new LinkedHashMap<@Nullable Object, @Nullable Object>();
    for (int i = keys.length - 1; i >= 0; i--) {
      reversed.put(keys[i], values[i]);
    }
    return Collections.unmodifiableSequencedMap(reversed);
  }

  @Override
  public Set<Entry<@Nullable Object, @Nullable Object>> entrySet() {
    return new Entries();
  }

  private final class Entries extends AbstractSet<Entry<@Nullable Object, @Nullable Object>> {
    @Override
    public int size() {
      return keys.length;
    }

    @Override
    public boolean contains(@Nullable Object other) {
      if (!(other instanceof Entry<?, ?> entry)) {
        return false;
      }
      int at = index.find(entry.getKey());
      return at >= 0 && Objects.equals(values[at], entry.getValue());
    }

    @Override
    public Iterator<Entry<@Nullable Object, @Nullable Object>> iterator() {
      return new Iterator<>() {
        private int next;

        @Override
        public boolean hasNext() {
          return next < keys.length;
        }

        @Override
        public Entry<@Nullable Object, @Nullable Object> next() {
          if (next >= keys.length) {
            throw new NoSuchElementException();
          }
          int at = next++;
          return new SimpleImmutableEntry<>(keys[at], values[at]);
        }
      };
    }
  }
}
