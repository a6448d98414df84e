package dev.evergreen.provenance;

import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.function.ToLongFunction;

/** The elements of several iterators, the highest row first, one of each row. */
final class Merged<T> implements Iterator<T> {
  private record Head<T>(T element, long row, Iterator<T> rest) {}

  private final ToLongFunction<T> row;
  private final PriorityQueue<Head<T>> heads =
      new PriorityQueue<>(Comparator.<Head<T>>comparingLong(Head::row).reversed());

  Merged(ToLongFunction<T> row, List<Iterator<T>> iterators) {
    this.row = row;
    iterators.forEach(this::add);
  }

  private void add(Iterator<T> rest) {
    if (rest.hasNext()) {
      var next = rest.next();
      heads.add(new Head<>(next, row.applyAsLong(next), rest));
    }
  }

  @Override
  public boolean hasNext() {
    return !heads.isEmpty();
  }

  @Override
  public T next() {
    var head = heads.remove();
    add(head.rest());
    while (!heads.isEmpty() && heads.element().row() == head.row()) {
      add(heads.remove().rest());
    }
    return head.element();
  }
}
