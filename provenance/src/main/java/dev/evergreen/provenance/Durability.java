package dev.evergreen.provenance;

/**
 * What a failure of the power takes away from a {@link Spool}. A killed process takes nothing that
 * was recorded, whatever is chosen: the system keeps the pages.
 */
public enum Durability {
  /** Nothing is forced to the disk: what the system had not written yet is lost, often 30 s. */
  NONE,

  /** Forced once in a while ({@link SpoolSettings#batch()}): what is younger than that is lost. */
  BATCH,

  /**
   * A reply leaves when its request and it are on the disk ({@link Spool#settle}): of what a client
   * has seen, nothing is lost. All who wait at the same moment share one force.
   */
  REPLY
}
