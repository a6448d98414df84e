package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;

/**
 * The kinds of values. Each has a cell of its own below the key's, so that an operation on one kind
 * is no writer of another.
 */
enum Kind {
  STRING("v", "string"),
  LIST("l", "list"),
  HASH("f", "hash"),
  SET("s", "set"),
  SORTED("z", "zset"),
  STREAM("x", "stream");

  @SuppressWarnings("ImmutableEnumChecker") // nobody writes to the array in it
  private final Bytes part;

  private final String type;

  Kind(String part, String type) {
    this.part = Bytes.of(part);
    this.type = type;
  }

  /** The cell that holds a value of this kind, or its members. */
  Cell of(Cell key) {
    return key.child(part);
  }

  /** The name in the replies of TYPE. */
  String type() {
    return type;
  }
}
