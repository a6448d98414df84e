package dev.evergreen.codec;

import java.util.Arrays;
import java.util.IdentityHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Numbers objects by identity in the order of their first use; few as a rule, so a scan is fast.
 */
final class Interned {
  private static final int SCANNED = 16;

  private @Nullable Object[] items = new @Nullable Object[4];
  private int size;
  private @Nullable IdentityHashMap<Object, Integer> numbers;

  /** The number of the object, from 1, or 0 if it is new; a new one gets the next number. */
  int number(Object object) {
    if (numbers != null) {
      Integer known = numbers.putIfAbsent(object, numbers.size() + 1);
      return known == null ? 0 : known;
    }
    for (int i = 0; i < size; i++) {
      if (items[i] == object) {
        return i + 1;
      }
    }
    if (size == items.length) {
      items = Arrays.copyOf(items, 2 * size);
    }
    items[size++] = object;
    if (size > SCANNED) {
      var all = new IdentityHashMap<Object, Integer>();
      for (Object item : items) {
        if (item != null) {
          all.put(item, all.size() + 1);
        }
      }
      numbers = all;
    }
    return 0;
  }
}
