package dev.evergreen.codec;

import java.util.AbstractSet;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.NoSuchElementException;
import java.util.SequencedSet;
import org.jspecify.annotations.Nullable;

/** An unmodifiable set of frozen elements, in the order in which they were given. */
final class FrozenSet extends AbstractSet<@Nullable Object>
    implements SequencedSet<@Nullable Object> {
  private final @Nullable Object[] elements;
  private final Index index;
  private final Stamp stamp;
  private int hash;

  FrozenSet(@Nullable Object[] elements, Index index, Stamp stamp) {
    this.elements = elements;
    this.index = index;
    this.stamp = stamp;
  }

  Stamp stamp() {
    return stamp;
  }

  /** The array itself, to be read only. */
  @Nullable Object[] elements() {
    return elements;
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
  public boolean contains(@Nullable Object element) {
    return index.find(element) >= 0;
  }

  @Override
  public int size() {
    return elements.length;
  }

  @Override
  public Iterator<@Nullable Object> iterator() {
    return new Each(elements);
  }

  @Override
  public @Nullable Object[] toArray() {
    return Arrays.copyOf(elements, elements.length, Object[].class);
  }

  @Override
  public SequencedSet<@Nullable Object> reversed() {
    var reversed = new LinkedHashSet<@Nullable Object>();
    for (int i = elements.length - 1; i >= 0; i--) {
      reversed.add(elements[i]);
    }
    return Collections.unmodifiableSequencedSet(reversed);
  }

  /** The elements of an array. */
  static final class Each implements Iterator<@Nullable Object> {
    private final @Nullable Object[] elements;
    private int next;

    Each(@Nullable Object[] elements) {
      this.elements = elements;
    }

    @Override
    public boolean hasNext() {
      return next < elements.length;
    }

    @Override
    public @Nullable Object next() {
      if (next >= elements.length) {
        throw new NoSuchElementException();
      }
      return elements[next++];
    }
  }
}
