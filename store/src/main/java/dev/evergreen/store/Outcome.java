package dev.evergreen.store;

/** What became of a request. */
public enum Outcome {
  /** The item is there, or was made because the request said so. */
  FOUND,
  /** The change was made. */
  STORED,
  /** There is no such item, or it has expired. */
  NOT_FOUND,
  /** The condition of an add, a replace, an append or a prepend does not hold. */
  NOT_STORED,
  /** The item has another CAS number. */
  EXISTS,
  /** The value is not a decimal number of 64 bits. */
  NOT_NUMERIC,
  /** The item is larger than the store takes. */
  TOO_LARGE,
  /** There is no memory for it: nothing may be evicted, or nothing can be, because it is held. */
  OUT_OF_MEMORY,
  /** Readers and reservations hold as much memory as they may; try again when one has let go. */
  BUSY
}
