package dev.evergreen.core;

import java.util.function.UnaryOperator;

/**
 * The persistent state of one grain: an immutable value, loaded at activation and saved at the end
 * of every operation that changed it, before the operation's result is delivered. An operation that
 * throws leaves it as it was.
 *
 * @param <S> a value type, usually a record
 */
public interface State<S> {

  /**
   * The present state, with what this operation has set so far. Only {@link #set} changes it: what
   * can be changed in it, such as an array, is a copy.
   */
  S get();

  /**
   * Replaces the state. It is saved when the operation ends.
   *
   * @throws ReadOnlyViolationException in a read-only operation or a computation
   */
  void set(S state);

  /** {@code set(change.apply(get()))}. */
  default void update(UnaryOperator<S> change) {
    set(change.apply(get()));
  }
}
