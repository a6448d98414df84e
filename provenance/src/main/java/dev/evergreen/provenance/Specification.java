package dev.evergreen.provenance;

import java.util.List;
import java.util.Optional;

/**
 * What must be known of a kind of store to say why its answers are as they are.
 *
 * <p>{@link #touches} is enough for an answer: one witness, closed, though perhaps not minimal.
 * With a {@link Model} too, witnesses are minimal, and all of them can be found: the definition
 * itself is computed on the model. Both are pure functions: they keep nothing from call to call,
 * and may be called by several threads.
 */
public interface Specification {
  /** The store's kind, as in {@code evergreen why redis}. */
  String store();

  /**
   * The cells that the operation touches, in the order in which it does, from its request and reply
   * alone. Empty if the operation has nothing to do with any state. Called for the parts of an
   * operation that has parts, not for itself.
   */
  List<Touch> touches(Operation operation);

  /**
   * What the operation touches, or what its parts do, in their order; of too many cells see {@link
   * Touches}.
   */
  default List<Touch> allTouches(Operation operation) {
    if (operation.parts().isEmpty()) {
      return touches(operation);
    }
    var all = new Touches();
    operation.parts().forEach(part -> touches(part).forEach(all::add));
    return all.all();
  }

  /**
   * The moments that the operation set at which the store will change something by itself, if
   * nothing prevents that: deadlines of what it keeps.
   */
  default List<Moment> deadlines(Operation operation) {
    return List.of();
  }

  /** How much is known of an operation. */
  default Knowledge knowledge(Operation operation) {
    return Knowledge.SPECIFIED;
  }

  /**
   * Whether the reply may be no function of requests, as what is stored decides: then it is one if
   * the model gives a reply, and else nothing is claimed.
   */
  default boolean mayBeNoFunction(Operation operation) {
    return false;
  }

  /** What the store does, if the specification can tell. */
  default Optional<Model> model() {
    return Optional.empty();
  }

  /** How much a specification knows of an operation. */
  enum Knowledge {
    /** The specification speaks of it. */
    SPECIFIED,
    /**
     * No more than the cells that it may have read or written is known, from the store's own
     * tables.
     */
    DEFAULT,
    /** What it does is hidden: in a program that the store ran, or as its own words are. */
    OPAQUE,
    /**
     * Nothing: its reply is no function of recorded requests, or the specification has not heard of
     * it.
     */
    NONE
  }
}
