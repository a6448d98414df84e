package dev.evergreen.provenance;

import java.util.List;

/**
 * What an operation has to do with a cell.
 *
 * <p>An operation touches each cell that it <em>could</em> have written, also if it did not: a
 * later answer may be as it is because of what kept it from writing.
 *
 * @param cell the cell, with all that is below it
 * @param kind how
 * @param effect whether the operation changed the cell when it was recorded, as its reply tells
 * @param from other cells on which what was written here depends, or that nothing was: sources,
 *     conditions
 * @param unless cells whose later writers may have undone it, although they do not touch this one:
 *     only who meets this touch has to look at them
 */
public record Touch(Cell cell, Kind kind, Effect effect, List<Cell> from, List<Cell> unless) {
  /** How an operation touches a cell. */
  public enum Kind {
    /** The reply depends on what is in the cell; the cell stays as it is. */
    READS,
    /** What is in the cell afterwards does not depend on what was in it before. */
    REPLACES,
    /**
     * What is in the cell afterwards depends on what was in it before: an increment, a write under
     * a condition.
     */
    CHANGES
  }

  /**
   * Whether an operation changed a cell. A replacement by the same content may be called either.
   */
  public enum Effect {
    /** It did. */
    YES,
    /** It did not. */
    NO,
    /** Its reply does not tell, or is not known. */
    UNKNOWN
  }

  /** The reply depends on the cell. */
  public static Touch reads(Cell cell) {
    return new Touch(cell, Kind.READS, Effect.NO, List.of(), List.of());
  }

  /** The operation writes the cell, whatever was in it. */
  public static Touch replaces(Cell cell) {
    return new Touch(cell, Kind.REPLACES, Effect.YES, List.of(), List.of());
  }

  /** The operation changes what is in the cell, and the reply may depend on what was. */
  public static Touch changes(Cell cell) {
    return new Touch(cell, Kind.CHANGES, Effect.YES, List.of(), List.of());
  }

  /** This touch with an effect or without one. */
  public Touch effect(boolean changed) {
    return effect(changed ? Effect.YES : Effect.NO);
  }

  /** This touch with this effect. */
  public Touch effect(Effect effect) {
    return new Touch(cell, kind, effect, from, unless);
  }

  /** This touch, for which these cells were read. */
  public Touch from(List<Cell> cells) {
    return new Touch(cell, kind, effect, List.copyOf(cells), unless);
  }

  /** This touch, for which these cells were read. */
  public Touch from(Cell... cells) {
    return from(List.of(cells));
  }

  /** This touch, which later writers of these cells may have undone. */
  public Touch unless(Cell... cells) {
    return new Touch(cell, kind, effect, from, List.of(cells));
  }

  /** Whether the operation could have written the cell. */
  public boolean writes() {
    return kind != Kind.READS;
  }
}
