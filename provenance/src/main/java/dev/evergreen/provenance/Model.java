package dev.evergreen.provenance;

/**
 * What a store does, in few words: the requests that some trace holds can be run on it again, some
 * left out.
 */
@FunctionalInterface
public interface Model {
  /**
   * Carries out an operation's request, as the store would in this state. What the store drew at
   * random is taken from the operation's reply.
   *
   * <p>It reads no cell that the operation does not touch, and writes none that it does not touch
   * as one that it may write. An operation of parts is run part by part by the caller.
   *
   * @return the reply, in a form whose {@code equals} says whether clients would call it the same:
   *     lists for replies with an order, sets for those without
   */
  Object run(Operation operation, State state);

  /**
   * The recorded reply in the form that {@link #run} gives. Called only for operations that have a
   * reply.
   *
   * @throws IllegalArgumentException if it cannot be read, for instance because only the beginning
   *     of a long one was kept
   */
  default Object reply(Operation operation) {
    return operation.reply() == null ? Bytes.EMPTY : operation.reply();
  }
}
