package dev.evergreen.provenance;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Those of an iterator that pass a test. */
final class Filtered<T> implements Iterator<T> {
  private final Iterator<T> all;
  private final Predicate<T> test;
  private @Nullable T next;

  Filtered(Iterator<T> all, Predicate<T> test) {
    this.all = all;
    this.test = test;
  }

  @Override
  public boolean hasNext() {
    while (next == null && all.hasNext()) {
      var candidate = all.next();
      if (test.test(candidate)) {
        next = candidate;
      }
    }
    return next != null;
  }

  @Override
  public T next() {
    if (!hasNext() || next == null) {
      throw new NoSuchElementException();
    }
    var result = next;
    next = null;
    return result;
  }
}
