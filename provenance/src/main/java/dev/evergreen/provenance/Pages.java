package dev.evergreen.provenance;

import java.sql.SQLException;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.ToLongFunction;

/** Reads rows in pages, from a row down; between the pages nothing is held open. */
final class Pages<T> implements Iterator<T> {
  /** Reads a page. */
  @FunctionalInterface
  interface Page<T> {
    /** The next elements whose rows are below one, the highest first; none if there are no more. */
    List<T> below(long row) throws SQLException;
  }

  private final ToLongFunction<T> row;
  private final Page<T> pages;
  private long before;
  private Iterator<T> page = List.<T>of().iterator();
  private boolean over;

  Pages(long before, ToLongFunction<T> row, Page<T> pages) {
    this.before = before;
    this.row = row;
    this.pages = pages;
  }

  @Override
  public boolean hasNext() {
    if (!page.hasNext() && !over) {
      try {
        var next = pages.below(before);
        over = next.isEmpty();
        if (!over) {
          before = row.applyAsLong(next.getLast());
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
