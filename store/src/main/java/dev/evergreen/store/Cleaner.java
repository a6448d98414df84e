package dev.evergreen.store;

import java.lang.foreign.MemorySegment;

/**
 * Makes free segments: by compaction, by taking back what has expired, and only then by eviction.
 *
 * <p><b>Compaction.</b> The segment with the most dead bytes is emptied into another one, as long
 * as an eighth of a segment is dead somewhere; so nothing is evicted while an eighth of the memory
 * is dead. Where nothing may be evicted it goes on down to a 64th.
 *
 * <p><b>Expiry.</b> A segment knows the earliest second at which something in it may expire. It is
 * walked when that has come, at most every {@value #SWEEP_PAUSE} seconds.
 *
 * <p><b>Eviction</b> is S3-FIFO (Yang et al., SOSP 2023) over segments in place of items, so that a
 * hit moves nothing. Items are new first. When the segments of new ones are more than a tenth of
 * all, the oldest of them is emptied: what was read meanwhile is proven, the rest is evicted and
 * leaves a ghost, by which it is proven at once if it returns. Otherwise the oldest segment of
 * proven items is emptied; what was read since stays, for one read less.
 *
 * <p>One thread at a time cleans. Others that need room wait for it; readers and those who have
 * room do not.
 */
final class Cleaner {
  static final int SWEEP_PAUSE = 10;

  /**
   * When so many bytes were kept and nothing came free, a segment goes whatever is in it: a writer
   * waits for this.
   */
  private static final int PATIENCE_BYTES = 4 << 20;

  /** So many take a fraction of a millisecond. */
  private static final int BUCKETS_PER_STEP = 1024;

  private static final int MOST_COMPACTIONS = 12;
  private static final int MOST_FURTHER_COMPACTIONS = 80;

  private enum Purpose {
    COMPACT,
    EVICT,
    EVICT_ALL
  }

  private final Items items;
  private final Records records;
  private final Segments segments;
  private final Index index;
  private final boolean evicts;
  private short sweptEpoch;
  private long futileLiveBytes = Long.MAX_VALUE;

  Cleaner(Items items, boolean evicts) {
    this.items = items;
    this.records = items.records;
    this.segments = items.segments;
    this.index = items.index;
    this.evicts = evicts;
  }

  /** Makes at least one segment free for records; false if that is not possible. */
  synchronized boolean makeRoom() {
    items.counters.directReclaims.increment();
    return makeFree(Segments.RESERVE + 1);
  }

  private boolean makeFree(int wanted) {
    int compactions = 0;
    int evictions = 0;
    // What is pinned, or packs badly, may defeat a round; after so many of them nothing helps.
    for (int i = 4 * segments.count() + 64; segments.free() < wanted; i--) {
      int now = now();
      boolean found =
          (compactions++ < MOST_COMPACTIONS && compactOne(8))
              || sweepOne(now)
              || (evicts ? evictOne(purpose(evictions++)) : compactFurther(compactions));
      if (!found || i == 0) {
        return false;
      }
    }
    return true;
  }

  /**
   * Compacts what is hardly worth it, as the last resort where nothing may be evicted. When it was
   * no help, it is not tried again before a segment's bytes have died, so that a store that refuses
   * does so quickly.
   */
  private boolean compactFurther(int compactions) {
    boolean hopeless = segments.liveBytes() > futileLiveBytes - segments.size;
    if (!hopeless && compactions < MOST_FURTHER_COMPACTIONS && compactOne(64)) {
      return true;
    }
    if (!hopeless) {
      futileLiveBytes = segments.liveBytes();
    }
    return false;
  }

  private Purpose purpose(int evictions) {
    long bytes = (long) evictions * segments.size;
    return bytes < PATIENCE_BYTES ? Purpose.EVICT : Purpose.EVICT_ALL;
  }

  /** The time; after a flush, all segments are to be swept. */
  private int now() {
    int now = items.life.now();
    short epoch = items.life.epoch();
    if (epoch != sweptEpoch) {
      sweptEpoch = epoch;
      for (int i = 0; i < segments.everUsed(); i++) {
        segments.noteExpiry(i, Integer.MIN_VALUE);
      }
    }
    return now;
  }

  /**
   * Compacts the segment with the most dead bytes, if they are more than a part of it; of several
   * the oldest, as who may not hold a value reads it until its memory is used again.
   */
  private boolean compactOne(int part) {
    int best = -1;
    int most = segments.size / part;
    for (int i = 0; i < segments.everUsed(); i++) {
      if (segments.isWalkable(i)) {
        int dead = segments.size - segments.liveBytes(i);
        if (dead > most || (dead == most && best >= 0 && segments.age(i) < segments.age(best))) {
          most = dead;
          best = i;
        }
      }
    }
    if (best >= 0) {
      items.counters.compactions.increment();
      empty(best, Purpose.COMPACT);
    }
    return best >= 0;
  }

  private boolean evictOne(Purpose purpose) {
    boolean fromNew = segments.newOnes() > segments.used() * Store.SHARE_OF_NEW;
    int victim = oldest(fromNew ? Segments.NEW : Segments.PROVEN);
    if (victim < 0) {
      victim = oldest(fromNew ? Segments.PROVEN : Segments.NEW);
    }
    if (victim >= 0) {
      empty(victim, purpose);
    }
    return victim >= 0;
  }

  private int oldest(int queue) {
    int oldest = -1;
    for (int i = 0; i < segments.everUsed(); i++) {
      if (segments.isWalkable(i)
          && segments.queue(i) == queue
          && (oldest < 0 || segments.age(i) < segments.age(oldest))) {
        oldest = i;
      }
    }
    return oldest;
  }

  /** Moves or evicts what lives in the segment, until all is done or somebody pins it. */
  private void empty(int segment, Purpose purpose) {
    int now = now();
    boolean compacts = purpose == Purpose.COMPACT;
    int output = compacts ? Segments.COMPACTED + segments.queue(segment) : Segments.KEPT;
    long place = segments.begin(segment) + Segments.FIRST;
    long end = segments.begin(segment) + segments.usedBytes(segment);
    boolean going = true;
    while (going && place < end && segments.liveBytes(segment) > 0) {
      int size = records.size(place);
      boolean room = segments.ensureRoom(output, size);
      if (compacts) {
        if (!room) {
          break;
        }
        segments.inherit(output, segment);
      }
      going = emptyOne(place, size, room ? purpose : Purpose.EVICT_ALL, output, now);
      place += size;
    }
    segments.release(segment);
  }

  private boolean emptyOne(long place, int size, Purpose purpose, int output, int now) {
    boolean fragment = records.isFragment(place);
    long hash = hashAt(place, fragment);
    long bucket = index.lock(hash);
    long slot = slotOf(place, fragment, bucket, hash);
    if (slot == 0) {
      index.unlock(bucket);
      return true;
    }
    long item = index.place(slot);
    boolean alive = items.isAlive(item, now);
    boolean evicted = alive && !isKept(item, purpose);
    // A reader may have pinned the item since; its fragments must then stay where it expects them.
    if (segments.isPinned(segments.of(place)) || (evicted && !evicts)) {
      index.unlock(bucket);
      return false;
    }
    if (!alive) {
      items.reclaim(slot);
    } else if (evicted) {
      items.evict(slot, hash);
    } else {
      if (!fragment || purpose == Purpose.COMPACT) {
        countMove(purpose, segments.queueOf(place));
      }
      if (purpose == Purpose.EVICT && isLast(item, place, fragment)) {
        records.bits(item, records.bits(item) - 1);
      }
      move(place, size, slot, fragment, output);
    }
    index.unlockChanged(bucket);
    items.tellEvicted();
    return true;
  }

  private void countMove(Purpose purpose, int queue) {
    var counters = items.counters;
    if (purpose == Purpose.COMPACT) {
      counters.compactedItems.increment();
    } else {
      (queue == Segments.NEW ? counters.proven : counters.provenAgain).increment();
    }
  }

  private long hashAt(long place, boolean fragment) {
    return fragment
        ? records.fragmentHash(place)
        : items.hash.of(records.memory, Records.keyAt(place), records.keyLength(place));
  }

  /** The slot of the item that the record is of; 0 if the record is dead. */
  private long slotOf(long place, boolean fragment, long bucket, long hash) {
    return fragment
        ? index.findOwner(bucket, hash, place, records.fragmentNumber(place))
        : index.findPlace(bucket, hash, place);
  }

  /**
   * Whether the item stays. If that is because it was read, one read is used up with its last
   * record: all of the others stay by the same one.
   */
  private boolean isKept(long item, Purpose purpose) {
    return switch (purpose) {
      case COMPACT -> true;
      case EVICT -> (records.bits(item) & Records.FREQUENCY) != 0;
      case EVICT_ALL -> false;
    };
  }

  /**
   * Whether a record is the last one of its item that is met in a round: they were made in their
   * order, and mostly lie so.
   */
  private boolean isLast(long item, long place, boolean fragment) {
    return fragment
        ? records.fragmentNumber(place) == records.fragments(records.valueLength(item)) - 1
        : !records.isLarge(item);
  }

  private void move(long place, int size, long slot, boolean fragment, int output) {
    long target = segments.allocate(output, size);
    MemorySegment.copy(records.memory, place, records.memory, target, size);
    if (fragment) {
      records.fragment(index.place(slot), records.fragmentNumber(place), target);
    } else {
      index.replace(slot, target);
      if (segments.queueOf(place) != segments.queueOf(target)) {
        items.counters.provenItems.increment(); // nothing that is proven becomes new
      }
      segments.noteExpiry(segments.of(target), records.expiry(target));
      records.cas(
          place, ~records.cas(place)); // Who has seen it here must not read it here any more.
    }
    segments.unpin(target);
    segments.kill(place, size);
    items.counters.movedBytes.add(size);
  }

  /** Walks one segment in which something may have expired; false if there is none. */
  private boolean sweepOne(int now) {
    for (int i = 0; i < segments.everUsed(); i++) {
      if (segments.expiry(i) <= now && segments.isWalkable(i)) {
        sweep(i, now);
        return true;
      }
    }
    return false;
  }

  private void sweep(int segment, int now) {
    items.counters.sweeps.increment();
    segments.expiry(segment, Segments.NEVER);
    long end = segments.begin(segment) + segments.usedBytes(segment);
    int next = Segments.NEVER;
    long place = segments.begin(segment) + Segments.FIRST;
    for (; place < end; place += records.size(place)) {
      if (!records.isFragment(place)) {
        items.counters.sweptItems.increment();
        if (!items.isAlive(place, now)) {
          reclaim(place, now);
        } else if (records.expiry(place) != 0) {
          next = Math.min(next, records.expiry(place));
        }
      }
    }
    if (next != Segments.NEVER) {
      segments.noteExpiry(segment, Math.max(next, now + SWEEP_PAUSE));
    }
    segments.release(segment);
  }

  private void reclaim(long place, int now) {
    long hash = hashAt(place, false);
    long bucket = index.lock(hash);
    long slot = index.findPlace(bucket, hash, place);
    if (slot != 0 && !items.isAlive(place, now)) {
      items.reclaim(slot);
      items.counters.sweptReclaimed.increment();
      index.unlockChanged(bucket);
    } else {
      index.unlock(bucket);
    }
  }

  /** Takes back expired memory, and makes some segments free before writers need them. */
  synchronized void maintain(long bytes, int ready) {
    items.counters.rounds.increment();
    int now = now();
    for (long done = 0; done < bytes && sweepOne(now); done += segments.size) {}
    if (segments.free() < Segments.RESERVE + ready) {
      boolean unused = makeFree(Segments.RESERVE + ready);
    }
  }

  /**
   * Looks at every item and takes back what has expired, whatever that costs. It is no cleaning
   * that others wait for: it holds nothing but one bucket's lock for a moment, and in between lets
   * others run.
   *
   * <p>What is there when it begins is met: an item leaves its bucket only for one behind the last,
   * to which this comes as well.
   */
  // Not relied on: others need not wait for this.
  @SuppressWarnings("ThreadPriorityCheck")
  void purge() {
    for (long bucket = 0; bucket < index.buckets() * Index.BUCKET; bucket += Index.BUCKET) {
      if (bucket % (BUCKETS_PER_STEP * Index.BUCKET) == 0) {
        Thread.yield();
      }
      int now = items.life.now();
      index.lockBucket(bucket);
      for (long slot = index.nextSlot(bucket); slot != 0; slot = index.nextSlot(slot)) {
        long place = index.place(slot);
        if (place != 0 && !items.isAlive(place, now)) {
          items.reclaim(slot);
        }
      }
      index.unlockChanged(bucket);
    }
  }

  /** Whether what lives would have room within a limit, in segments, if nothing may be evicted. */
  boolean mayResize(int allowed) {
    return evicts || segments.liveBytes() <= (long) allowed * segments.size;
  }

  /**
   * Lowers or raises the limit, in segments; leaves it as it was and answers false if too much is
   * held, or may not be evicted, to lower it so far.
   */
  synchronized boolean resize(int allowed) {
    int before = segments.allowed();
    segments.allowed(allowed);
    futileLiveBytes = Long.MAX_VALUE;
    boolean done = makeFree(Segments.RESERVE);
    if (!done) {
      segments.allowed(before);
    }
    return done;
  }
}
