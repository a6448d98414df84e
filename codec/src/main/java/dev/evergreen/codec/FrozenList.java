package dev.evergreen.codec;

import java.util.AbstractList;
import java.util.Arrays;
import java.util.RandomAccess;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** An unmodifiable list of frozen elements. */
final class FrozenList extends AbstractList<@Nullable Object> implements RandomAccess {
  private final @Nullable Object[] elements;
  private final Stamp stamp;
  private int hash;

  /** Keeps the array. */
  FrozenList(@Nullable Object[] elements, Stamp stamp) {
    this.elements = elements;
    this.stamp = stamp;
  }

  Stamp stamp() {
    return stamp;
  }

  /** The array itself, to be read only. */
  @Nullable Object[] elements() {
    return elements;
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
  public @Nullable Object get(int index) {
    return elements[index];
  }

  @Override
  public int size() {
    return elements.length;
  }

  @Override
  public @Nullable Object[] toArray() {
    return Arrays.copyOf(elements, elements.length, Object[].class);
  }

  @Override
  public void forEach(Consumer<? super @Nullable Object> action) {
    for (Object element : elements) {
      action.accept(element);
    }
  }
}
