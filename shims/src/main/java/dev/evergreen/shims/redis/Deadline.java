package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Operation;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;

/**
 * When a key expires, in milliseconds since 1970: the last one in which it is there. Redis counts
 * from the moment in which it carries out a command, of which only is known that it lies between
 * the request and the reply.
 */
record Deadline(long earliest, long latest) {
  private static final long NEVER = Long.MAX_VALUE / 2;

  /** A moment that a command names itself. */
  static Deadline at(long moment) {
    return new Deadline(moment, moment);
  }

  /** So many milliseconds after a command is carried out. */
  static Deadline after(Operation operation, long time) {
    return time <= 0
        ? at(-NEVER)
        : new Deadline(Math.addExact(from(operation), time), Math.addExact(until(operation), time));
  }

  /** The first moment in which an operation may have been carried out. */
  static long from(Operation operation) {
    return operation.sent().toEpochMilli();
  }

  /** The last one: of what was never sent the first, of what has no reply any later one. */
  static long until(Operation operation) {
    var end = operation.replied();
    boolean neverSent = operation.lane() == 0;
    return neverSent ? from(operation) : end == null ? NEVER : end.toEpochMilli();
  }

  /** The moments from which on it may have passed, and has. */
  List<Instant> moments() {
    return Stream.of(earliest, latest).distinct().map(Deadline::behind).toList();
  }

  private static Instant behind(long last) {
    return Instant.ofEpochMilli(last).plusMillis(1); // the last one may be the greatest there is
  }

  /** Whether it has passed at a moment. */
  boolean hasPassed(Instant now) {
    return !now.isBefore(behind(latest));
  }

  /** Whether it may have passed at a moment, or while an operation was under way. */
  boolean mayHavePassed(Instant now, Operation operation) {
    boolean meanwhile = from(operation) <= earliest && earliest < until(operation);
    return meanwhile || !now.isBefore(behind(earliest));
  }

  /** Whether it has passed already when a command sets it. */
  boolean isOver(Operation operation) {
    if (earliest == latest && latest > from(operation) && latest <= until(operation)) {
      throw new UnsupportedOperationException("it passed when the command was under way");
    }
    return latest <= from(operation);
  }

  /** Whether it is later than another one. */
  boolean isAfter(Deadline other) {
    boolean overlap = earliest <= other.latest && other.earliest <= latest;
    if (overlap && (earliest != latest || !equals(other))) {
      throw new UnsupportedOperationException("nobody knows which of them is earlier");
    }
    return earliest > other.latest;
  }
}
