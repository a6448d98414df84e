package dev.evergreen.store.hits;

/** What decides which items stay in a cache of limited memory. */
interface Policy extends AutoCloseable {
  String name();

  /** Whether the item is there; if not, it is stored. */
  boolean get(Request request, int now);

  @Override
  default void close() {}
}
