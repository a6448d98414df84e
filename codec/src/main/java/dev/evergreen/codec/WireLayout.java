package dev.evergreen.codec;

import java.util.IdentityHashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A layout found in a message, and how its names map to the components of this process. */
final class WireLayout {
  final List<String> names;

  /** The layout of this process that it equals, if that was seen at once. */
  final @Nullable Layout expected;

  private final IdentityHashMap<Layout, int[]> mappings = new IdentityHashMap<>(2);

  WireLayout(List<String> names, @Nullable Layout expected) {
    this.names = names;
    this.expected = expected;
  }

  /** For each name here its index in {@code layout}, or -1. */
  int[] indexesIn(Layout layout) {
    return mappings.computeIfAbsent(
        layout, known -> names.stream().mapToInt(known.names::indexOf).toArray());
  }
}
