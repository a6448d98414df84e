package dev.evergreen.provenance;

import java.sql.SQLException;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.jspecify.annotations.Nullable;

/**
 * Those that touch a cell. What was read to see what is beside others is not read once more: a walk
 * that asks for that at each of its steps reads a history once.
 */
final class StoredWriters implements Trace.Writers {
  private final ReadSession session;
  private final OperationReader operations;
  private final CellIndex index;
  private final Neighbours neighbours;
  private final Cell cell;
  private long before;
  private @Nullable Iterator<Operation> rest;

  /** The row of the next one, or 0 if it was not looked for. */
  private long row;

  /** The next one, if it was read. */
  private @Nullable Operation next;

  StoredWriters(
      ReadSession session,
      OperationReader operations,
      CellIndex index,
      Neighbours neighbours,
      Cell cell,
      long before) {
    this.session = session;
    this.operations = operations;
    this.index = index;
    this.neighbours = neighbours;
    this.cell = cell;
    this.before = before;
  }

  @Override
  public long row() {
    if (row == 0) {
      session.read(
          () -> {
            find();
            return true;
          });
    }
    return row;
  }

  private void find() throws SQLException {
    row = neighbours.below(cell, before);
    if (row > 0) {
      rest = null;
      return;
    }
    if (rest == null) {
      rest = index.writersOf(operations.turns, cell, before);
    }
    if (rest.hasNext()) {
      var place = rest.next();
      row = place.row();
      next = place.request().isEmpty() ? null : place;
    }
  }

  @Override
  public void skip() {
    before = row();
    row = 0;
    next = null;
  }

  @Override
  public boolean hasNext() {
    while (next == null && row() > 0) {
      next = session.read(() -> operations.whole(row)).orElse(null);
      if (next == null) {
        // It is not there any more.
        skip();
      }
    }
    return next != null;
  }

  @Override
  public Operation next() {
    if (!hasNext() || next == null) {
      throw new NoSuchElementException();
    }
    var found = next;
    skip();
    return found;
  }
}
