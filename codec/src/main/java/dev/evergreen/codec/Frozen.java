package dev.evergreen.codec;

import java.util.Collections;
import java.util.NavigableMap;
import org.jspecify.annotations.Nullable;

/** What the frozen sets and maps have in common. */
final class Frozen {
  private Frozen() {}

  static boolean is(Object collection) {
    return stamp(collection) != null;
  }

  /** Whether nothing can change a collection or map, given that nothing can change its elements. */
  static boolean keeps(Object collection) {
    return collection instanceof FrozenList
        || is(collection)
        || ListShape.unmodifiable(collection)
        || KeyedShape.UNMODIFIABLE.contains(collection.getClass());
  }

  static @Nullable Stamp stamp(Object collection) {
    return switch (collection) {
      case FrozenSet set -> set.stamp();
      case FrozenMap map -> map.stamp();
      case FrozenSortedSet set -> set.stamp();
      case FrozenSortedMap map -> map.stamp();
      default -> null;
    };
  }

  static @Nullable Index index(Object collection) {
    return switch (collection) {
      case FrozenSet set -> set.index();
      case FrozenMap map -> map.index();
      default -> null;
    };
  }

  /** The tree must not be changed any more. */
  static Object sorted(
      NavigableMap<@Nullable Object, @Nullable Object> tree, boolean map, Stamp stamp) {
    NavigableMap<@Nullable Object, @Nullable Object> view =
        Collections.unmodifiableNavigableMap(tree);
    return map
        ? new FrozenSortedMap(view, stamp)
        : new FrozenSortedSet(view.navigableKeySet(), stamp);
  }
}
