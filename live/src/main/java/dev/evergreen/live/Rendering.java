package dev.evergreen.live;

import org.jspecify.annotations.Nullable;

/** How an edge shows results; the JSON of values is the same at all. Safe for all threads. */
public interface Rendering {

  /** What stands behind the JSON in the bytes of each result; nothing by default. */
  default byte[] tail() {
    return new byte[0];
  }

  /**
   * What is told instead of a result.
   *
   * @param name of the result
   * @param failure what a computation ended with; {@link UnwritableException} if its result cannot
   *     be shown; {@link RefusedException} if there is no room for it
   */
  Exception told(String name, Exception failure);

  /** As which bytes it is told; those of different failures differ. */
  byte[] bytes(Exception told);

  /**
   * A shorter form of a result, at most half as long; null, as by default, if there is none. Made
   * once, by whoever needs it first.
   */
  default byte @Nullable [] shorter(Present result) {
    return null;
  }
}
