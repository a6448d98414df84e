package dev.evergreen.store;

/** What a value that is to be stored does to the one that is there. */
public enum Mode {
  /** Stores in any case. */
  SET,
  /** Stores if there is no item. */
  ADD,
  /** Stores if there is an item. */
  REPLACE,
  /** Puts the value behind that of the item. Client flags and expiry stay as they are. */
  APPEND,
  /** Puts the value before that of the item. Client flags and expiry stay as they are. */
  PREPEND
}
