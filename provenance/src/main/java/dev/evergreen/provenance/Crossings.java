package dev.evergreen.provenance;

import java.sql.SQLException;
import java.util.OptionalLong;
import java.util.function.BiPredicate;

/**
 * Finds what was sent before a place where the record is not whole, and may have taken effect
 * behind it. As a rule there is nothing, which is asked once for each such place.
 */
final class Crossings {
  private final ReadSession session;
  private final OperationReader operations;
  private final Neighbours neighbours;
  private final LongOperations longOnes;

  /** Whether what was sent in an epoch was over when another one began. */
  private final BiPredicate<Long, Long> isOver;

  /** The place that was asked about last; of this moment of the trace. */
  private OptionalLong asked = OptionalLong.empty();

  /** Whether nothing was under way there. */
  private boolean quiet;

  Crossings(
      ReadSession session,
      OperationReader operations,
      Neighbours neighbours,
      LongOperations longOnes,
      BiPredicate<Long, Long> isOver) {
    this.session = session;
    this.operations = operations;
    this.neighbours = neighbours;
    this.longOnes = longOnes;
    this.isOver = isOver;
  }

  /** The trace may be another one than it was at the last question. */
  void forget() {
    asked = OptionalLong.empty();
  }

  /**
   * Whether one crosses a row and could have written something of a cell.
   *
   * @param epoch the epoch of that row
   */
  boolean any(long row, long epoch, Cell cell) throws SQLException {
    session.checkTime();
    if (isQuiet(row)) {
      return false;
    }
    for (var near = neighbours.of(cell, row, row + 1); near.hasNext(); ) {
      if (!isOver.test(near.next().operation().epoch(), epoch)) {
        return true;
      }
    }
    for (long other : longOnes.writing(cell, row - TraceDatabase.LONG, row)) {
      if (!isOver(other, epoch)) {
        return true;
      }
    }
    return false;
  }

  private boolean isOver(long other, long epoch) throws SQLException {
    return operations.whole(other).map(one -> isOver.test(one.epoch(), epoch)).orElse(true);
  }

  private boolean isQuiet(long row) throws SQLException {
    if (!session.isStill() || asked.isEmpty() || asked.getAsLong() != row) {
      quiet = longOnes.underWay(row - TraceDatabase.LONG, row).isEmpty() && noneCrosses(row);
      asked = OptionalLong.of(row);
    }
    return quiet;
  }

  /** Of those that were not under way for long. */
  private boolean noneCrosses(long row) throws SQLException {
    return !session
        .statements()
        .any(
            "select 1 from op where seq >= ? and seq <= ? and %s > ? and outcome <> %d limit 1"
                .formatted(TraceDatabase.END, Outcome.NOT_SENT.code()),
            row - TraceDatabase.LONG,
            row,
            row);
  }
}
