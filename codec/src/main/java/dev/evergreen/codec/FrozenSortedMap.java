package dev.evergreen.codec;

import java.util.AbstractMap;
import java.util.Comparator;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Set;
import java.util.SortedMap;
import org.jspecify.annotations.Nullable;

/** An unmodifiable view of a map that is known to be frozen. */
final class FrozenSortedMap extends AbstractMap<@Nullable Object, @Nullable Object>
    implements NavigableMap<@Nullable Object, @Nullable Object> {
  private final NavigableMap<@Nullable Object, @Nullable Object> map;
  private final Stamp stamp;

  FrozenSortedMap(NavigableMap<@Nullable Object, @Nullable Object> map, Stamp stamp) {
    this.map = map;
    this.stamp = stamp;
  }

  Stamp stamp() {
    return stamp;
  }

  @Override
  public @Nullable Entry<@Nullable Object, @Nullable Object> lowerEntry(@Nullable Object key) {
    return map.lowerEntry(key);
  }

  @Override
  public @Nullable Object lowerKey(@Nullable Object key) {
    return map.lowerKey(key);
  }

  @Override
  public @Nullable Entry<@Nullable Object, @Nullable Object> floorEntry(@Nullable Object key) {
    return map.floorEntry(key);
  }

  @Override
  public @Nullable Object floorKey(@Nullable Object key) {
    return map.floorKey(key);
  }

  @Override
  public @Nullable Entry<@Nullable Object, @Nullable Object> ceilingEntry(@Nullable Object key) {
    return map.ceilingEntry(key);
  }

  @Override
  public @Nullable Object ceilingKey(@Nullable Object key) {
    return map.ceilingKey(key);
  }

  @Override
  public @Nullable Entry<@Nullable Object, @Nullable Object> higherEntry(@Nullable Object key) {
    return map.higherEntry(key);
  }

  @Override
  public @Nullable Object higherKey(@Nullable Object key) {
    return map.higherKey(key);
  }

  @Override
  public @Nullable Entry<@Nullable Object, @Nullable Object> firstEntry() {
    return map.firstEntry();
  }

  @Override
  public @Nullable Entry<@Nullable Object, @Nullable Object> lastEntry() {
    return map.lastEntry();
  }

  @Override
  public @Nullable Entry<@Nullable Object, @Nullable Object> pollFirstEntry() {
    return map.pollFirstEntry();
  }

  @Override
  public @Nullable Entry<@Nullable Object, @Nullable Object> pollLastEntry() {
    return map.pollLastEntry();
  }

  @Override
  public @Nullable Object firstKey() {
    return map.firstKey();
  }

  @Override
  public @Nullable Object lastKey() {
    return map.lastKey();
  }

  @Override
  public @Nullable Comparator<? super @Nullable Object> comparator() {
    return map.comparator();
  }

  @Override
  public NavigableMap<@Nullable Object, @Nullable Object> descendingMap() {
    return map.descendingMap();
  }

  @Override
  public NavigableSet<@Nullable Object> navigableKeySet() {
    return map.navigableKeySet();
  }

  @Override
  public NavigableSet<@Nullable Object> descendingKeySet() {
    return map.descendingKeySet();
  }

  @Override
  public NavigableMap<@Nullable Object, @Nullable Object> subMap(
      @Nullable Object from, boolean fromInclusive, @Nullable Object to, boolean toInclusive) {
    return map.subMap(from, fromInclusive, to, toInclusive);
  }

  @Override
  public NavigableMap<@Nullable Object, @Nullable Object> headMap(
      @Nullable Object to, boolean inclusive) {
    return map.headMap(to, inclusive);
  }

  @Override
  public NavigableMap<@Nullable Object, @Nullable Object> tailMap(
      @Nullable Object from, boolean inclusive) {
    return map.tailMap(from, inclusive);
  }

  @Override
  public SortedMap<@Nullable Object, @Nullable Object> subMap(
      @Nullable Object from, @Nullable Object to) {
    return map.subMap(from, to);
  }

  @Override
  public SortedMap<@Nullable Object, @Nullable Object> headMap(@Nullable Object to) {
    return map.headMap(to);
  }

  @Override
  public SortedMap<@Nullable Object, @Nullable Object> tailMap(@Nullable Object from) {
    return map.tailMap(from);
  }

  @Override
  public Set<Entry<@Nullable Object, @Nullable Object>> entrySet() {
    return map.entrySet();
  }

  @Override
  public int size() {
    return map.size();
  }

  @Override
  public boolean containsKey(@Nullable Object key) {
    return map.containsKey(key);
  }

  @Override
  public @Nullable Object get(@Nullable Object key) {
    return map.get(key);
  }

  @Override
  public @Nullable Object remove(@Nullable Object key) {
    return map.remove(key);
  }
}
