package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Moment;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.State;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * When a key expires, in milliseconds since 1970: the last one in which it is there. Redis counts
 * from the moment in which it carries out a command, of which only is known that it lies between
 * the request and the reply. If a command names the millisecond, that is one by the clock of Redis,
 * and lies between two by the clock of who has recorded the commands.
 *
 * @param by the row of that command from which it is counted, or of the transaction that it is a
 *     part of; 0 if a millisecond was named
 * @param part the row of that command; 0 if a millisecond was named
 * @param named the millisecond that was named, or null
 */
record Deadline(long earliest, long latest, long by, long part, @Nullable Long named) {
  private static final long NEVER = Long.MAX_VALUE / 2;

  /** What was over already when it was set. */
  static final Deadline OVER = new Deadline(-NEVER, -NEVER, 0, 0, -NEVER);

  /** A moment that a command names itself. */
  static Deadline at(Operation operation, long moment) {
    var skew = operation.skew();
    long earliest = skew.earliest(moment);
    long latest = skew.latest(moment);
    return new Deadline(
        earliest == latest ? earliest : Math.max(-NEVER, earliest), latest, 0, 0, moment);
  }

  /** So many milliseconds after a command is carried out. */
  static Deadline after(Operation operation, long time) {
    long earliest = Math.addExact(from(operation), time);
    long latest = Math.addExact(until(operation), time);
    return time <= 0
        ? OVER
        : earliest == latest
            ? new Deadline(earliest, latest, 0, 0, null)
            : new Deadline(earliest, latest, operation.within(), operation.row(), null);
  }

  /** The first moment in which an operation may have been carried out. */
  static long from(Operation operation) {
    return operation.sent().toEpochMilli();
  }

  /** The last one: of what has no reply any later one, but of what was never sent the first. */
  static long until(Operation operation) {
    var end = operation.replied();
    boolean neverSent = operation.lane() == 0;
    return end != null ? end.toEpochMilli() : neverSent ? from(operation) : NEVER;
  }

  /** Whether nobody knows of any time when it has passed. */
  boolean isOpen() {
    return latest >= NEVER && earliest < latest;
  }

  /** When the key is gone. */
  Moment moment() {
    // The last millisecond may be the greatest there is.
    var gone = isOpen() ? Instant.MAX : Instant.ofEpochMilli(latest).plusMillis(1);
    return Moment.between(Instant.ofEpochMilli(earliest).plusMillis(1), gone, by, part);
  }

  /**
   * The moments at which it may change something, where an operation sets it: a command that comes
   * in the last millisecond itself finds it over.
   */
  List<Moment> moments(Operation operation) {
    if (latest < from(operation)) {
      return List.of();
    }
    return by == 0 && earliest <= until(operation)
        ? Stream.of(lastMillisecond(), moment()).toList()
        : List.of(moment());
  }

  private Moment lastMillisecond() {
    var last = isOpen() ? Instant.MAX : Instant.ofEpochMilli(latest);
    return Moment.between(Instant.ofEpochMilli(earliest), last, by, part);
  }

  /** Whether it has passed already when a command sets it. */
  boolean isOver(Operation operation, State state) {
    return latest <= from(operation)
        || (by == 0 && earliest <= until(operation) && state.hasPassed(lastMillisecond()));
  }

  /** Whether it is later than another one. */
  boolean isAfter(Deadline other) {
    if (named != null && other.named != null) {
      return named > other.named;
    }
    return earliest > other.latest || isAfterWithin(other);
  }

  /** Whether it is set behind the other one in the same transaction, and for longer. */
  private boolean isAfterWithin(Deadline other) {
    return by != 0 && by == other.by && part > other.part && earliest > other.earliest;
  }

  /** Whether nobody knows which of them is later. */
  boolean mayBeEither(Deadline other) {
    boolean overlap = earliest <= other.latest && other.earliest <= latest;
    return overlap
        && (named == null || other.named == null)
        && (earliest != latest || other.earliest != other.latest)
        && !isAfterWithin(other)
        && !other.isAfterWithin(this);
  }
}
