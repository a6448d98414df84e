package dev.evergreen.proxy.storage;

import java.nio.ByteBuffer;

/** Chooses among the variants of a response. */
@FunctionalInterface
public interface Selector {
  /**
   * Whether the request is one for which the variant may be used.
   *
   * @param variant as it was given in the {@link Entry}; not to be changed
   */
  boolean takes(byte[] variant);

  /**
   * Of two variants that it takes, whether the one that was asked for earlier is to be used
   * nevertheless; by default that asked for last is.
   *
   * @param earlier its head
   * @param last the head of the other
   */
  default boolean prefers(ByteBuffer earlier, ByteBuffer last) {
    return false;
  }
}
