package dev.evergreen.store;

import java.lang.foreign.MemorySegment;

/** Finds items: without a lock where nothing changes, else under their buckets' locks. */
final class Reader {
  /** After so many attempts that writers defeated, a reader takes the lock. */
  private static final int PATIENCE = 16;

  private static final Fetch GET = Fetch.get(true);
  private static final Fetch PEEK = Fetch.get(false);
  private static final Fetch HOLD = Fetch.hold(true);
  private static final Fetch HOLD_UNNOTICED = Fetch.hold(false);

  private final Items items;
  private final Index index;
  private final Allocator allocator;

  Reader(Items items, Allocator allocator) {
    this.items = items;
    this.index = items.index;
    this.allocator = allocator;
  }

  Outcome get(Key key, Item item, boolean noticed) {
    return fetch(key, noticed ? GET : PEEK, item);
  }

  /** Pins the value under the lock, since a pin counts only while its item is linked. */
  Outcome hold(Key key, Item item, boolean noticed) {
    item.release();
    key.hash = items.hash(key);
    return fetchLocked(key, noticed ? HOLD : HOLD_UNNOTICED, item);
  }

  Outcome fetch(Key key, Fetch fetch, Item item) {
    item.release();
    key.hash = items.hash(key);
    int now = items.life.now();
    for (int i = fetch.onlyReads() ? item.torn : PATIENCE; i < PATIENCE; i++) {
      long bucket = index.bucketOf(key.hash);
      long header = index.header(bucket);
      if (index.bucketOf(key.hash) == bucket) {
        long slot = index.find(bucket, key);
        long place = slot == 0 ? 0 : index.place(slot);
        if (place != 0) {
          item.load(items, place);
        }
        if (index.isUnchanged(bucket, header)) {
          if (place == 0 && !fetch.vivifies) {
            return Outcome.NOT_FOUND;
          }
          if (place == 0 || needsLock(fetch, item, now)) {
            break;
          }
          item.validWhile(bucket, header);
          if (!fetch.unnoticed) {
            items.countHit(place);
            if (!Items.isNoted(item.bits, item.lastAccess, now)) {
              notice(bucket, header, place, now);
            }
          }
          return Outcome.FOUND;
        }
      }
    }
    return fetchLocked(key, fetch, item);
  }

  /** Whether the item is to be removed, to be pinned or to be won. */
  private boolean needsLock(Fetch fetch, Item item, int now) {
    return !items.life.isAlive(item.epoch, item.expiry, now)
        || (item.bits & Records.LARGE) != 0
        || (item.isStale() && !fetch.isGet);
  }

  /**
   * Notes the access, unless somebody has the lock or something changed: then it is not worth
   * waiting for.
   */
  private void notice(long bucket, long header, long place, int now) {
    if (index.tryLock(bucket, header)) {
      items.access(place, now);
      index.unlock(bucket);
    }
  }

  private void countMiss(int expiry, int now) {
    (Life.hasExpired(expiry, now) ? items.counters.missesExpired : items.counters.missesFlushed)
        .increment();
  }

  private Outcome fetchLocked(Key key, Fetch fetch, Item item) {
    item.torn = 0;
    int now = items.life.now();
    long bucket = index.lock(key.hash);
    long slot = index.find(bucket, key);
    if (slot != 0 && items.isAlive(index.place(slot), now)) {
      // Copying a value takes heap, of which there may be none.
      try {
        return hit(index.place(slot), fetch, item, now);
      } finally {
        index.unlock(bucket);
      }
    }
    if (slot != 0) {
      countMiss(items.records.expiry(index.place(slot)), now);
      items.reclaim(slot);
    }
    index.unlockChanged(bucket);
    return fetch.vivifies ? vivify(key, fetch, item) : Outcome.NOT_FOUND;
  }

  boolean copyPart(Key key, Item item, int offset, MemorySegment target, int length) {
    key.hash = items.hash(key);
    int now = items.life.now();
    var records = items.records;
    long bucket = index.lock(key.hash);
    long place;
    try {
      long slot = index.find(bucket, key);
      place = slot == 0 ? 0 : index.place(slot);
      if (place != 0
          && records.cas(place) == item.cas
          && records.valueLength(place) == item.valueLength) {
        item.loadWithoutValue(items, place);
        records.read(place, offset, target, 0, length);
        items.access(place, now);
        return true;
      }
    } finally {
      index.unlock(bucket);
    }
    return (item.bits & Records.LARGE) != 0
        && place != item.place
        && items.readUnlinked(item, offset, target, length);
  }

  private Outcome hit(long place, Fetch fetch, Item item, int now) {
    item.loadWithoutValue(items, place);
    if (!fetch.valueless && !(fetch.holds ? item.holdValue() : item.keepValue())) {
      return Outcome.BUSY;
    }
    if (fetch.touches) {
      item.expiry = fetch.expiry;
      items.expiry(place, fetch.expiry);
    }
    int judged = fetch.recachesUntouched ? item.previousExpiry : item.expiry;
    boolean due = fetch.recaches && judged != 0 && judged < fetch.recacheBefore;
    if ((due || item.isStale()) && !item.wonBefore && !fetch.isGet) {
      win(place, item);
    }
    if (!fetch.unnoticed) {
      items.access(place, now);
      items.countHit(place);
    }
    return Outcome.FOUND;
  }

  private void win(long place, Item item) {
    items.records.bits(place, items.records.bits(place) | Records.WON);
    item.won = true;
  }

  private Outcome vivify(Key key, Fetch fetch, Item item) {
    long place = allocator.create(key, 0, items.queueFor(key.hash));
    if (place < 0) {
      return Outcome.OUT_OF_MEMORY;
    }
    int now = items.life.now();
    long bucket = index.lock(key.hash);
    long slot = index.find(bucket, key);
    if (slot != 0 && items.isAlive(index.place(slot), now)) {
      try {
        return hit(index.place(slot), fetch, item, now);
      } finally {
        index.unlock(bucket);
        allocator.abandon(place);
      }
    }
    long cas = fetch.setsCas ? items.life.chosenCas(fetch.vivifiedCas) : items.life.nextCas(0);
    int bits = fetch.binaryKey ? Records.BINARY : 0;
    items.stamp(place, 0, 0, fetch.vivifiedExpiry, bits, cas, now);
    if (!items.link(bucket, slot, key.hash, place)) {
      index.unlock(bucket);
      allocator.abandon(place);
      return Outcome.OUT_OF_MEMORY;
    }
    item.loadWithoutValue(items, place);
    boolean kept = item.keepValue();
    assert kept : "a value of no bytes needs no memory";
    win(place, item);
    if (!fetch.unnoticed) {
      items.access(place, now);
    }
    item.isNew = true;
    item.previousExpiry = 0;
    index.unlockChanged(bucket);
    allocator.publish(place);
    index.grow();
    return Outcome.FOUND;
  }
}
