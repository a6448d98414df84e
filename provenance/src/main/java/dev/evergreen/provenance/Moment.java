package dev.evergreen.provenance;

import java.time.Instant;

/**
 * When a store changes something by itself, as at a deadline: at one of the times between two, for
 * all that is known.
 *
 * @param earliest the first time from which on it may have come
 * @param latest from when on it has come; {@link Instant#MAX} if nobody knows that
 * @param by the row of the operation from whose carrying out it is counted; 0 if it is counted from
 *     none. Those that are counted from different operations may lie apart.
 * @param part the row of the part of it that sets it, if it has parts: these are carried out one
 *     after the other, so that time may pass between them, but does not go back. If it is counted
 *     from none, which time it is by the store's own clock: what has another one may lie apart
 */
public record Moment(Instant earliest, Instant latest, long by, long part) {
  /** A moment that is known. */
  public static Moment at(Instant time) {
    return new Moment(time, time, 0, 0);
  }

  /** A moment that is counted from when the operation of that row is carried out. */
  public static Moment between(Instant earliest, Instant latest, long by) {
    return between(earliest, latest, by, by);
  }

  /** The same of a part of it. */
  public static Moment between(Instant earliest, Instant latest, long by, long part) {
    return earliest.equals(latest) ? at(earliest) : new Moment(earliest, latest, by, part);
  }

  /** Whether nobody knows of any time when it has come. */
  boolean isOpen() {
    return latest.equals(Instant.MAX);
  }

  /** Whether it has come when the other one comes. */
  boolean precedes(Moment other) {
    return equals(other) || !latest.isAfter(other.earliest) || precedesWithin(other);
  }

  /**
   * Whether it is set before the other one by a part of the same operation, and not for longer:
   * then it comes no later, whenever that operation was carried out.
   */
  private boolean precedesWithin(Moment other) {
    return by != 0 && by == other.by && part < other.part && !earliest.isAfter(other.earliest);
  }

  /** Whether it has come when the operation is carried out. */
  boolean precedes(Operation operation) {
    return !latest.isAfter(operation.sent());
  }

  /** Whether it has not come when the operation is carried out. */
  boolean follows(Operation operation) {
    var ended = operation.replied();
    var over = ended == null && operation.isAsked() ? operation.sent() : ended;
    return by == operation.row() || (over != null && over.isBefore(earliest));
  }
}
