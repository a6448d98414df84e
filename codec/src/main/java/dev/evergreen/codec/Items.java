package dev.evergreen.codec;

import java.util.Arrays;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/** Arrays that are filled as elements come, so that an announced count alone allocates little. */
final class Items {
  private static final int TRUSTED = 1024;

  private Items() {}

  static @Nullable Object[] start(int count) {
    return new @Nullable Object[Math.min(count, TRUSTED)];
  }

  /** The array with room at the index; never longer than {@code count}. */
  static @Nullable Object[] roomFor(int index, @Nullable Object[] items, int count) {
    return index < items.length ? items : Arrays.copyOf(items, Math.min(count, 2 * items.length));
  }

  /** The elements in an array of their own that can hold anything. */
  static @Nullable Object[] of(Collection<?> collection) {
    @Nullable Object[] items = collection.toArray();
    return items.getClass() == Object[].class
        ? items
        : Arrays.copyOf(items, items.length, Object[].class);
  }
}
