package dev.evergreen.core.sim;

import java.util.ArrayList;
import java.util.List;

/** Immutable lists. */
final class Lists {

  private Lists() {}

  static <T> List<T> append(List<T> list, T item) {
    var longer = new ArrayList<>(list);
    longer.add(item);
    return List.copyOf(longer);
  }
}
