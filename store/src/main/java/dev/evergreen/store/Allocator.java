package dev.evergreen.store;

/**
 * Makes records that are not linked yet, and with the {@link Cleaner} the room for them. Holds no
 * lock when called.
 */
final class Allocator {
  private final Items items;
  private final Records records;
  private final Segments segments;
  private final Cleaner cleaner;

  Allocator(Items items, Cleaner cleaner) {
    this.items = items;
    this.records = items.records;
    this.segments = items.segments;
    this.cleaner = cleaner;
  }

  /**
   * Makes a pinned record with the key, and room for a value. It must be {@link #publish}ed after
   * it was linked, or {@link #abandon}ed.
   *
   * @return its place, or -1 if there is no memory
   */
  long create(Key key, int valueLength, int queue) {
    long place = allocate(queue, records.headSize(key.length, valueLength));
    if (place < 0) {
      return -1;
    }
    records.writeItem(place, key, valueLength);
    return !records.isLarge(place) || addFragments(place, key.hash, valueLength, queue)
        ? place
        : -1;
  }

  private boolean addFragments(long place, long hash, int valueLength, int queue) {
    for (int i = 0; i < records.fragments(valueLength); i++) {
      int size = records.fragmentSize(valueLength, i);
      long fragment = allocate(queue, size);
      if (fragment < 0) {
        drop(place, valueLength, i);
        return false;
      }
      records.writeFragment(fragment, size, hash, i);
      records.fragment(place, i, fragment);
    }
    return true;
  }

  private long allocate(int queue, int bytes) {
    while (true) {
      long place = segments.allocate(queue, bytes);
      if (place >= 0 || !cleaner.makeRoom()) {
        return place;
      }
    }
  }

  /** Lets the record be moved, after it was linked. */
  void publish(long place) {
    items.unpin(place);
  }

  void abandon(long place) {
    int length = records.valueLength(place);
    drop(place, length, records.isLarge(place) ? records.fragments(length) : 0);
  }

  private void drop(long place, int valueLength, int fragments) {
    for (int i = 0; i < fragments; i++) {
      long fragment = records.fragment(place, i);
      segments.kill(fragment, records.fragmentSize(valueLength, i));
      segments.unpin(fragment);
    }
    segments.kill(place, records.size(place));
    segments.unpin(place);
  }
}
