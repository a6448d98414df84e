package dev.evergreen.core;

/** Whether a result is known to be current. */
public enum Freshness {

  /** Everything the result was computed from is subscribed and heard of. */
  CURRENT,

  /**
   * Something the result was computed from has failed or is not heard of; the result may be
   * outdated. The runtime keeps trying.
   */
  IN_DOUBT
}
