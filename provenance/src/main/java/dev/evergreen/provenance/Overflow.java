package dev.evergreen.provenance;

/** What a {@link Spool} does with what is to be recorded while it has no room for it. */
public enum Overflow {
  /** Whoever records waits until there is room, and so do the clients. */
  SLOW,

  /** It is dropped and counted; a gap with the counts is recorded as soon as there is room. */
  DROP
}
