package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Moment;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Skew;
import dev.evergreen.provenance.State;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * When a key expires, in milliseconds since 1970: the last one in which it is there. Redis counts
 * from the moment in which it carries out a command, of which only is known that it lies between
 * the request and the reply. If a command names the millisecond, that is one by the clock of Redis,
 * and lies between two by the clock of who has recorded the commands.
 *
 * @param earliest the first that it may be, if both clocks go at the same rate
 * @param latest the last one
 * @param drift so many nanoseconds earlier or later it may be by the recorder's clock, as that of
 *     Redis may go faster or slower meanwhile
 * @param by the row of that command from which it is counted, or of the transaction that it is a
 *     part of; 0 if a millisecond was named
 * @param part the row of that command; 0 if a millisecond was named
 * @param named the millisecond that was named, or null
 */
record Deadline(long earliest, long latest, long drift, long by, long part, @Nullable Long named) {
  private static final long NEVER = Long.MAX_VALUE / 2;

  private static final long NANOS = 1_000_000;

  /**
   * Clocks that are kept in step, or run free, part by less than one of so many: it is taken for
   * granted that neither goes wrong, or is put right, by more than one part in 2,000. What moves
   * one faster is noticed only where it comes to a quarter of a second.
   */
  private static final long RATE = 1_000;

  /** What was over already when it was set. */
  static final Deadline OVER = new Deadline(-NEVER, -NEVER, 0, 0, 0, -NEVER);

  /** A moment that a command names itself. */
  static Deadline at(Operation operation, long moment) {
    var skew = operation.skew();
    long earliest = skew.earliest(moment);
    long latest = skew.latest(moment);
    return new Deadline(
        earliest == latest ? earliest : Math.max(-NEVER, earliest), latest, 0, 0, 0, moment);
  }

  /** So many milliseconds after a command is carried out. */
  static Deadline after(Operation operation, long time) {
    long earliest = Math.addExact(from(operation), time);
    long latest = Math.addExact(until(operation), time);
    if (time <= 0) {
      return OVER;
    }
    long drift = drift(operation.skew(), time);
    return earliest == latest && drift == 0
        ? new Deadline(earliest, latest, 0, 0, 0, null)
        : new Deadline(earliest, latest, drift, operation.within(), operation.row(), null);
  }

  /**
   * How far clocks may part within so many milliseconds, in nanoseconds; no farther than is
   * noticed. They need not begin a millisecond at the same time either. It grows by less than the
   * time does: so the longer one of two times that begin together ends later in any case.
   */
  private static long drift(Skew skew, long time) {
    long most = Math.min(skew.width(), NEVER / NANOS);
    return Math.min(most * NANOS, NANOS + Math.min(time, NEVER / NANOS) * (NANOS / RATE));
  }

  /** The first millisecond by the recorder's clock that it may be. */
  private long soonest() {
    return earliest - driftMillis();
  }

  /** The last one. */
  private long utmost() {
    return latest + Math.min(driftMillis(), Long.MAX_VALUE - latest);
  }

  private long driftMillis() {
    return Math.ceilDiv(drift, NANOS);
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
    return Moment.between(
        Instant.ofEpochMilli(earliest).plusMillis(1).minusNanos(drift),
        isOpen() ? gone : gone.plusNanos(drift),
        by,
        Objects.requireNonNullElse(named, part));
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
    return Moment.between(
        Instant.ofEpochMilli(earliest), last, by, Objects.requireNonNullElse(named, part));
  }

  /** Whether it has passed already when a command sets it. */
  boolean isOver(Operation operation, State state) {
    return latest <= from(operation)
        || (by == 0 && earliest <= until(operation) && state.hasPassed(lastMillisecond()));
  }

  /**
   * How many milliseconds are left when an operation is carried out, by the clock of Redis: at
   * least.
   */
  long leastLeft(Operation operation) {
    return soonest() - until(operation);
  }

  /** At most. */
  long mostLeft(Operation operation) {
    return utmost() - from(operation);
  }

  /** Whether it is later than another one. */
  boolean isAfter(Deadline other) {
    if (named != null && other.named != null) {
      return named > other.named;
    }
    return soonest() > other.utmost() || isAfterWithin(other);
  }

  /** Whether it is set behind the other one in the same transaction, and for longer. */
  private boolean isAfterWithin(Deadline other) {
    return by != 0 && by == other.by && part > other.part && earliest > other.earliest;
  }

  /** Whether nobody knows which of them is later. */
  boolean mayBeEither(Deadline other) {
    boolean overlap = soonest() <= other.utmost() && other.soonest() <= utmost();
    return overlap
        && (named == null || other.named == null)
        && (soonest() != utmost() || other.soonest() != other.utmost())
        && !isAfterWithin(other)
        && !other.isAfterWithin(this);
  }
}
