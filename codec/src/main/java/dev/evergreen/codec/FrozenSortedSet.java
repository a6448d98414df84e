package dev.evergreen.codec;

import java.util.AbstractSet;
import java.util.Comparator;
import java.util.Iterator;
import java.util.NavigableSet;
import java.util.SortedSet;
import org.jspecify.annotations.Nullable;

/** An unmodifiable view of a set that is known to be frozen. */
final class FrozenSortedSet extends AbstractSet<@Nullable Object>
    implements NavigableSet<@Nullable Object> {
  private final NavigableSet<@Nullable Object> set;
  private final Stamp stamp;

  FrozenSortedSet(NavigableSet<@Nullable Object> set, Stamp stamp) {
    this.set = set;
    this.stamp = stamp;
  }

  Stamp stamp() {
    return stamp;
  }

  @Override
  public @Nullable Object lower(@Nullable Object e) {
    return set.lower(e);
  }

  @Override
  public @Nullable Object floor(@Nullable Object e) {
    return set.floor(e);
  }

  @Override
  public @Nullable Object ceiling(@Nullable Object e) {
    return set.ceiling(e);
  }

  @Override
  public @Nullable Object higher(@Nullable Object e) {
    return set.higher(e);
  }

  @Override
  public @Nullable Object first() {
    return set.first();
  }

  @Override
  public @Nullable Object last() {
    return set.last();
  }

  @Override
  public @Nullable Comparator<? super @Nullable Object> comparator() {
    return set.comparator();
  }

  @Override
  public NavigableSet<@Nullable Object> descendingSet() {
    return set.descendingSet();
  }

  @Override
  public Iterator<@Nullable Object> iterator() {
    return set.iterator();
  }

  @Override
  public Iterator<@Nullable Object> descendingIterator() {
    return set.descendingIterator();
  }

  @Override
  public NavigableSet<@Nullable Object> subSet(
      @Nullable Object from, boolean fromInclusive, @Nullable Object to, boolean toInclusive) {
    return set.subSet(from, fromInclusive, to, toInclusive);
  }

  @Override
  public NavigableSet<@Nullable Object> headSet(@Nullable Object to, boolean inclusive) {
    return set.headSet(to, inclusive);
  }

  @Override
  public NavigableSet<@Nullable Object> tailSet(@Nullable Object from, boolean inclusive) {
    return set.tailSet(from, inclusive);
  }

  @Override
  public SortedSet<@Nullable Object> subSet(@Nullable Object from, @Nullable Object to) {
    return set.subSet(from, to);
  }

  @Override
  public SortedSet<@Nullable Object> headSet(@Nullable Object to) {
    return set.headSet(to);
  }

  @Override
  public SortedSet<@Nullable Object> tailSet(@Nullable Object from) {
    return set.tailSet(from);
  }

  @Override
  public int size() {
    return set.size();
  }

  @Override
  public boolean contains(@Nullable Object e) {
    return set.contains(e);
  }

  @Override
  public @Nullable Object pollFirst() {
    return set.pollFirst();
  }

  @Override
  public @Nullable Object pollLast() {
    return set.pollLast();
  }
}
