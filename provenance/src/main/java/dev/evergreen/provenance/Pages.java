package dev.evergreen.provenance;

import java.sql.SQLException;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;

/** Reads rows in pages, from a row down; between the pages nothing is held open. */
abstract class Pages<T> implements Iterator<T> {
  private long before;
  private Iterator<T> page = List.<T>of().iterator();
  private boolean over;

  Pages(long before) {
    this.before = before;
  }

  /** The next elements whose rows are below one, the highest first; none if there are no more. */
  abstract List<T> page(long before) throws SQLException;

  abstract long row(T element);

  @Override
  public boolean hasNext() {
    if (!page.hasNext() && !over) {
      try {
        var next = page(before);
        over = next.isEmpty();
        if (!over) {
          before = row(next.getLast());
        }
        page = next.iterator();
      } catch (SQLException e) {
        throw new TraceException("The trace cannot be read", e);
      }
    }
    return page.hasNext();
  }

  @Override
  public T next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return page.next();
  }
}
