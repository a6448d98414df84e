package dev.evergreen.store;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.IntSupplier;

/**
 * The store's memory as segments of equal size, each written from its beginning to its end.
 *
 * <p>The state of a segment is one word: how much is <em>used</em>, how much of that is
 * <em>live</em> (not killed), how many <em>pins</em> it has, and its phase. Allocating is one
 * exchange of that word; it adds a pin, since the record is not yet linked. So writers meet only at
 * that word.
 *
 * <p>Invariants:
 *
 * <ul>
 *   <li>A segment that is sealed and has no pins consists of whole records from {@link #FIRST} to
 *       its used end.
 *   <li>A segment becomes free only with nothing live and no pins; what is linked or pinned thus
 *       stays where it is.
 *   <li>The segments in use never exceed {@link #allowed}.
 *   <li>{@link #RESERVE} free segments are left to the {@link Cleaner}, which needs memory to make
 *       memory.
 * </ul>
 */
final class Segments {
  /** Where new items go, and those that were used again; each has segments of its own. */
  static final int NEW = 0;

  static final int PROVEN = 1;

  /** The cleaner's outputs: what it compacts of either queue, and what it kept when it evicted. */
  static final int COMPACTED = 2;

  static final int KEPT = 4;
  private static final int OUTPUTS = 5;

  /** Where the first record begins, so that no record is at place 0. */
  static final int FIRST = 8;

  static final int RESERVE = 4;
  static final int NEVER = Integer.MAX_VALUE;

  private static final int FREE = 0;
  private static final int OPEN = 1;
  private static final int SEALED = 2;

  private static final int FIELD = 21;
  private static final long USED = 1;
  private static final long LIVE = USED << FIELD;
  private static final long PIN = LIVE << FIELD;
  private static final int PHASE = 61;
  private static final long PINS = (1L << PHASE) - PIN;
  private static final int FIELD_MASK = (1 << FIELD) - 1;

  /** The bytes of a segment, a power of two. */
  final int size;

  private final int shift;
  private final AtomicLongArray states;
  private final AtomicIntegerArray expiries;
  private final AtomicIntegerArray open = new AtomicIntegerArray(OUTPUTS);

  private final IntSupplier clock;

  // Guarded by this.
  private final long[] ages;
  private final int[] beginnings;
  private final byte[] queues;
  private final int[] free;
  private final long[] ends;
  private int freed;
  private long begun;

  /** So often a segment came free; written under the monitor only. */
  private volatile long ended;

  /** So many segments, the first ones, have ever been in use; written under the monitor only. */
  private volatile int fresh;

  private volatile int used;
  private volatile int allowed;
  private volatile int newOnes;

  /**
   * Segments of a size that suits the limit, which may later be raised to the capacity.
   *
   * @param clock tells the second
   */
  Segments(long limit, long capacity, IntSupplier clock) {
    this.clock = clock;
    size = sizeFor(limit);
    shift = Integer.numberOfTrailingZeros(size);
    int count = Math.toIntExact(capacity / size);
    states = new AtomicLongArray(count);
    expiries = new AtomicIntegerArray(count);
    ages = new long[count];
    beginnings = new int[count];
    queues = new byte[count];
    free = new int[count];
    ends = new long[count];
    allowed = (int) (limit / size);
    for (int i = 0; i < OUTPUTS; i++) {
      open.set(i, -1);
    }
  }

  /**
   * Hundreds of segments, so that one is a small part of the memory, but none longer than is
   * cleaned in a moment, and none shorter than the head of an item of a thousand fragments.
   */
  static int sizeFor(long limit) {
    return Math.clamp(Long.highestOneBit(limit / 512), 1 << 14, 1 << 19);
  }

  int count() {
    return states.length();
  }

  /**
   * Behind so many segments no other one has ever been in use: with room to raise the limit that is
   * a part of all.
   */
  int everUsed() {
    return fresh;
  }

  /**
   * In so many segments there is always room for an item of so many bytes if all else may be
   * evicted: fifteen sixteenths of those that it lies in are used at least, and others are open or
   * reserved.
   */
  int least(int itemBytes) {
    return Math.ceilDiv(itemBytes, size / 16 * 15) + RESERVE + OUTPUTS;
  }

  int allowed() {
    return allowed;
  }

  synchronized void allowed(int segments) {
    allowed = segments;
  }

  /** How many more segments may be taken into use; negative after the limit was lowered. */
  int free() {
    return allowed - used;
  }

  int used() {
    return used;
  }

  /** The segments in use that hold what was stored lately. */
  int newOnes() {
    return newOnes;
  }

  int of(long place) {
    return (int) (place >>> shift);
  }

  long begin(int segment) {
    return (long) segment << shift;
  }

  /** The queue of the segment that the record is in: {@link #NEW} or {@link #PROVEN}. */
  int queueOf(long place) {
    return queues[of(place)];
  }

  byte queue(int segment) {
    return queues[segment];
  }

  long age(int segment) {
    return ages[segment];
  }

  /**
   * For how many seconds the oldest segment of a queue has been there that holds something; 0 if
   * none does. A moment ago is good enough.
   */
  int oldestSeconds(int queue, int now) {
    int oldest = now;
    for (int i = 0; i < fresh; i++) {
      if (queues[i] == queue && liveBytes(i) > 0) {
        oldest = Math.min(oldest, beginnings[i]);
      }
    }
    return now - oldest;
  }

  int usedBytes(int segment) {
    return (int) states.get(segment) & FIELD_MASK;
  }

  int liveBytes(int segment) {
    return live(states.get(segment));
  }

  private static int live(long state) {
    return (int) (state >>> FIELD) & FIELD_MASK;
  }

  boolean isPinned(int segment) {
    return (states.get(segment) & PINS) != 0;
  }

  /** Whether the segment is full and holds still, so that its records may be walked. */
  boolean isWalkable(int segment) {
    long state = states.get(segment);
    return state >>> PHASE == SEALED && (state & PINS) == 0;
  }

  /**
   * Takes room for a record and pins it.
   *
   * @return its place, or -1 if there is no free segment for it
   */
  long allocate(int queue, int bytes) {
    while (true) {
      int segment = open.get(queue);
      long place = segment < 0 ? -1 : allocateIn(segment, bytes);
      if (place >= 0) {
        return place;
      }
      if (!open(queue, segment, RESERVE)) {
        return -1;
      }
    }
  }

  private long allocateIn(int segment, int bytes) {
    while (true) {
      long state = states.get(segment);
      int used = (int) state & FIELD_MASK;
      if (state >>> PHASE != OPEN || used + bytes > size) {
        return -1;
      }
      if (states.compareAndSet(segment, state, state + bytes * (USED + LIVE) + PIN)) {
        return begin(segment) + used;
      }
    }
  }

  /**
   * Whether the output has room for a record, as it does after this if there is any free segment.
   */
  boolean ensureRoom(int output, int bytes) {
    int segment = open.get(output);
    return (segment >= 0 && usedBytes(segment) + bytes <= size) || open(output, segment, 0);
  }

  /**
   * Seals the full segment and opens another one, unless somebody else did; false if not enough are
   * free.
   */
  private synchronized boolean open(int output, int full, int reserve) {
    if (open.get(output) != full) {
      return true;
    }
    if (free() <= reserve) {
      return false;
    }
    if (full >= 0) {
      seal(full);
    }
    int segment = freed > 0 ? free[--freed] : fresh;
    int queue = output == KEPT ? PROVEN : output % COMPACTED;
    queues[segment] = (byte) queue;
    newOnes += queue == NEW ? 1 : 0;
    ages[segment] = ++begun;
    beginnings[segment] = clock.getAsInt();
    expiries.set(segment, NEVER);
    used++;
    states.set(segment, ((long) OPEN << PHASE) | FIRST);
    fresh = Math.max(fresh, segment + 1);
    open.set(output, segment);
    return true;
  }

  /** Gives the cleaner's output the age of what is moved to it, if that is its first. */
  void inherit(int output, int source) {
    int segment = open.get(output);
    if (usedBytes(segment) == FIRST) {
      synchronized (this) {
        ages[segment] = ages[source];
        beginnings[segment] = beginnings[source];
      }
    }
  }

  /**
   * Gives the pages of one of the free segments back to the system; false if there are not so many.
   */
  synchronized boolean giveBackFree(MemorySegment memory, int index) {
    if (index >= freed) {
      return false;
    }
    Memory.giveBack(memory.asSlice(begin(free[index]), size));
    return true;
  }

  private void seal(int segment) {
    states.getAndAdd(segment, (long) (SEALED - OPEN) << PHASE);
  }

  /**
   * Keeps the record's bytes as they are, even when it is killed. Only for a record that is live.
   */
  void pin(long place) {
    states.getAndAdd(of(place), PIN);
  }

  void unpin(long place) {
    states.getAndAdd(of(place), -PIN);
  }

  /** Says that the record is not needed any more. */
  void kill(long place, int bytes) {
    states.getAndAdd(of(place), -bytes * LIVE);
  }

  /** Frees the segment if nothing of it is needed. */
  synchronized boolean release(int segment) {
    long state = states.get(segment);
    if (state >>> PHASE != SEALED || live(state) != 0 || (state & PINS) != 0) {
      return false;
    }
    // Nothing is live, so nobody can pin it any more: the state is final.
    ends[segment] = ++ended;
    states.set(segment, (long) FREE << PHASE);
    newOnes -= queues[segment] == NEW ? 1 : 0;
    used--;
    free[freed++] = segment;
    return true;
  }

  /** This moment, for {@link #isSince}. */
  long moment() {
    return ended;
  }

  /**
   * Whether the segment of a record that was there at the moment has not come free since, so that
   * its bytes are still there, dead or alive. They stay for as long as the monitor is held.
   */
  boolean isSince(long moment, long place) {
    assert Thread.holdsLock(this);
    return ends[of(place)] <= moment;
  }

  /** The earliest second at which something in the segment may expire. */
  int expiry(int segment) {
    return expiries.get(segment);
  }

  void expiry(int segment, int second) {
    expiries.set(segment, second);
  }

  /** Notes that a record in the segment expires at the second; 0 is never. */
  void noteExpiry(int segment, int second) {
    while (second != 0) {
      int earliest = expiries.get(segment);
      if (earliest <= second || expiries.compareAndSet(segment, earliest, second)) {
        return;
      }
    }
  }

  /** All bytes of records that were allocated and not killed. */
  long liveBytes() {
    long sum = 0;
    for (int i = 0; i < fresh; i++) {
      sum += liveBytes(i);
    }
    return sum;
  }

  /** All pins. */
  long pins() {
    long sum = 0;
    for (int i = 0; i < fresh; i++) {
      sum += (states.get(i) & PINS) / PIN;
    }
    return sum;
  }
}
