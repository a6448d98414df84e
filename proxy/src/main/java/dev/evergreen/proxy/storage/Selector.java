package dev.evergreen.proxy.storage;

/** Chooses among the variants of a response. */
@FunctionalInterface
public interface Selector {
  /**
   * Whether the request is one for which the variant may be used.
   *
   * @param variant as it was given in the {@link Entry}; not to be changed
   */
  boolean takes(byte[] variant);
}
