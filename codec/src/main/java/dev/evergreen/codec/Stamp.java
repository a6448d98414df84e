package dev.evergreen.codec;

/**
 * What a frozen collection remembers, so that freezing it again costs nothing.
 *
 * @param first the shape its elements or keys were frozen by
 * @param second the shape its values were frozen by; {@code first} if there are none
 * @param bytes its estimated size
 * @param height how many levels there are inside, its own included
 * @param inKey whether the size was estimated for a key
 * @param changeable whether something inside must be copied again, such as an array
 * @param ordered whether it is a set or map whose order counts
 */
record Stamp(
    Shape first,
    Shape second,
    long bytes,
    int height,
    boolean inKey,
    boolean changeable,
    boolean ordered) {

  /** For elements or entries of static types. */
  static Stamp of(
      Shape first, Shape second, long bytes, int height, boolean inKey, boolean changeable) {
    return new Stamp(first, second, bytes, height, inKey, changeable, false);
  }

  /** For a collection of nothing. */
  static Stamp empty(Shape first, Shape second) {
    return new Stamp(first, second, 3, 1, true, false, false);
  }

  /** The same for a set or map whose order counts. */
  Stamp inOrder() {
    return new Stamp(first, second, bytes, height, inKey, changeable, true);
  }

  /** Whether hash codes inside cannot change. */
  boolean lasting() {
    return !(changeable || first instanceof DynamicShape);
  }

  /** Whether a frozen collection of this stamp can stay as it is; if so, counts it. */
  boolean settles(Shape first, Shape second, Walk walk) {
    if (this.first != first || this.second != second || (walk.inKey() && !inKey)) {
      return false;
    }
    return settles(walk);
  }

  /** The same, whatever the static type. */
  boolean settles(Walk walk) {
    if (!changeable) {
      walk.below(height);
      walk.count(bytes);
    }
    return !changeable;
  }
}
