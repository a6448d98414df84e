package dev.evergreen.codec;

/** Counts levels of records and containers on the way down, and refuses to go too deep. */
abstract sealed class Nesting permits Walk, Reader, Writer {
  final Limits limits;
  private int depth;
  private int deepest;
  private int keys;
  private int changeable;

  Nesting(Limits limits) {
    this.limits = limits;
  }

  final void enter() {
    if (++depth > limits.maxDepth()) {
      throw tooDeep(limits);
    }
    if (depth > deepest) {
      deepest = depth;
    }
  }

  final void leave() {
    depth--;
  }

  /** Starts to measure how many levels there are below here; to be given to {@link #height}. */
  final int measure() {
    int before = deepest;
    deepest = depth;
    return before;
  }

  /** The levels below here that were entered since {@code before} was measured. */
  final int height(int before) {
    int height = deepest - depth;
    deepest = Math.max(before, deepest);
    return height;
  }

  /** Counts levels that are known without going down. */
  final void below(int height) {
    if (depth + height > limits.maxDepth()) {
      throw tooDeep(limits);
    }
    deepest = Math.max(deepest, depth + height);
  }

  final void enterKey() {
    keys++;
  }

  final void leaveKey() {
    keys--;
  }

  /** Whether the current value is, or is inside, an element of a set or a key of a map. */
  final boolean inKey() {
    return keys > 0;
  }

  /** Something was made that whoever has it can change. */
  final void countChangeable() {
    changeable++;
  }

  /** How many such things were made. */
  final int changeable() {
    return changeable;
  }

  static ValueLimitException tooDeep(Limits limits) {
    return new ValueLimitException(
        "the value is nested deeper than "
            + limits.maxDepth()
            + " levels; does it contain itself? Otherwise raise Limits.maxDepth");
  }

  static ValueLimitException tooLarge(Limits limits) {
    return new ValueLimitException(
        "the value is larger than "
            + limits.maxBytes()
            + " bytes; split it, or raise Limits.maxBytes");
  }
}
