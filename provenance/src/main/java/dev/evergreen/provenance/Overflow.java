package dev.evergreen.provenance;

/** What a {@link Spool} does with what is to be recorded while it has no room for it. */
public enum Overflow {
  /** Whoever records waits until there is room, and so do the clients. */
  SLOW,

  /**
   * It is dropped and counted. That it is, is on record at once, and a gap with the counts as soon
   * as there is room. The gap reaches until nothing that was dropped can take effect any more.
   */
  DROP
}
