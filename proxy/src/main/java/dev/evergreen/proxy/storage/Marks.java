package dev.evergreen.proxy.storage;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.evergreen.store.Hash;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * What was purged, and when: a mark for each URI, tag and prefix, with the stamp of its latest
 * purge. An object is gone if a mark for it is younger than its stamp. So purging is writing down
 * one mark, whatever it meets, and meets also what is stored later but was asked for before.
 *
 * <p>Marks are needed as long as something older may be there. The <em>floor</em> bounds that: what
 * is older than the floor is gone without a mark, so marks below it are forgotten.
 *
 * <p>Readers take no lock. A table of marks only grows; it is replaced by another one when it is
 * full or the floor rises.
 */
final class Marks {
  /** What the marks say of an object. */
  enum State {
    LIVE,
    STALE,
    GONE
  }

  static final int URI = 0;
  static final int TAG = 1;
  static final int PREFIX = 2;

  /** Beyond so many the floor rises over the older half of them. */
  static final int MOST = 1 << 20;

  private static final long MIX = 0x9E3779B97F4A7C15L;

  private final Hash hash;
  private final AtomicLong clock = new AtomicLong();
  private final int most;
  private volatile Table table = new Table(1 << 10);
  private volatile int[] prefixLengths = {};
  private volatile long newest;
  private volatile long floor;

  Marks(Hash hash, int most) {
    this.hash = hash;
    this.most = most;
  }

  /** The number of this moment. */
  long stamp() {
    return clock.incrementAndGet();
  }

  /** Whether a number can be a stamp: no clock comes so far. */
  static boolean isStamp(long number) {
    return number > 0 && number < 1L << 62;
  }

  /** There was such a stamp in former times. */
  void seen(long stamp) {
    clock.accumulateAndGet(stamp, Math::max);
  }

  /**
   * One purge.
   *
   * @param length of the prefix, 0 for other kinds
   */
  record Mark(long stamp, int kind, boolean soft, long hash, int length) {}

  /** Makes a mark of this moment. */
  Mark mark(Purge purge) {
    long of = hash.of(purge.bytes(), 0, Math.toIntExact(purge.bytes().byteSize()));
    int kind =
        switch (purge.kind()) {
          case URI -> URI;
          case TAG -> TAG;
          case PREFIX -> PREFIX;
        };
    int length = kind == PREFIX ? (int) purge.bytes().byteSize() : 0;
    synchronized (this) {
      var mark = new Mark(stamp(), kind, purge.soft(), of, length);
      add(mark);
      return mark;
    }
  }

  /**
   * The number of this moment, for what is older and was not asked for anew. Of each mark it is
   * either younger, and then the mark is to be seen, or older.
   */
  synchronized long stampBetweenMarks() {
    return stamp();
  }

  synchronized void add(Mark mark) {
    long key = key(mark.kind, mark.soft, mark.hash);
    if (table.isFull()) {
      table = table.copy(0);
    }
    table.put(key, mark.stamp);
    if (mark.kind == PREFIX) {
      var lengths = prefixLengths;
      if (Arrays.binarySearch(lengths, mark.length) < 0) {
        lengths = Arrays.copyOf(lengths, lengths.length + 1);
        lengths[lengths.length - 1] = mark.length;
        Arrays.sort(lengths);
        prefixLengths = lengths;
      }
    }
    newest = Math.max(newest, mark.stamp);
    if (table.count > most) {
      raiseFloor(table.median());
    }
  }

  /** Says that nothing is older than the stamp; what is, is gone. Forgets the marks up to it. */
  synchronized void raiseFloor(long stamp) {
    if (stamp > floor) {
      floor = stamp;
      table = table.copy(stamp);
    }
  }

  /** Whether there is a mark that a floor at the stamp makes needless. */
  boolean hasBelow(long stamp) {
    return table.hasBelow(stamp);
  }

  long floor() {
    return floor;
  }

  int count() {
    return table.count;
  }

  long bytes() {
    return table.bytes();
  }

  /** What became of an object with this stamp. */
  State state(long stamp, Image image) {
    // The table before the floor: whoever raises the floor takes marks away after that.
    var marks = table;
    if (stamp < floor) {
      return State.GONE;
    }
    if (stamp > newest) {
      return State.LIVE;
    }
    var key = keyOf(image);
    if (isMarked(marks, false, stamp, image, key)) {
      return State.GONE;
    }
    return isMarked(marks, true, stamp, image, key) ? State.STALE : State.LIVE;
  }

  private static MemorySegment keyOf(Image image) {
    var bytes = image.bytes.from(image.keyAt());
    return bytes.byteSize() >= image.keyLength
        ? bytes
        : MemorySegment.ofArray(image.bytes.copy(image.keyAt(), image.keyLength));
  }

  private boolean isMarked(Table marks, boolean soft, long stamp, Image image, MemorySegment key) {
    if (marks.get(key(URI, soft, hash.of(key, 0, image.keyLength))) > stamp) {
      return true;
    }
    for (int i = 0; i < image.tags; i++) {
      if (marks.get(key(TAG, soft, image.tag(i))) > stamp) {
        return true;
      }
    }
    for (int length : prefixLengths) {
      if (length > image.keyLength) {
        return false;
      }
      if (marks.get(key(PREFIX, soft, hash.of(key, 0, length))) > stamp) {
        return true;
      }
    }
    return false;
  }

  private static long key(int kind, boolean soft, long hash) {
    long key = (hash ^ (hash >>> 29)) * MIX + 2L * kind + (soft ? 1 : 0);
    return key == 0 ? 1 : key;
  }

  /** Keys and stamps in turn, by open addressing; entries are never removed. */
  private static final class Table {
    private final AtomicLongArray slots;
    private final int mask;
    private volatile int count;

    Table(int entries) {
      slots = new AtomicLongArray(2 * entries);
      mask = entries - 1;
    }

    boolean isFull() {
      return count > mask / 2;
    }

    long bytes() {
      return 8L * slots.length();
    }

    /** The stamp of the key's mark, 0 if there is none. */
    long get(long key) {
      for (int i = slot(key); ; i = (i + 1) & mask) {
        long there = slots.get(2 * i);
        if (there == key) {
          return slots.get(2 * i + 1);
        }
        if (there == 0) {
          return 0;
        }
      }
    }

    /** By one thread at a time. The stamp goes first, so that a key that is seen has one. */
    @SuppressWarnings("NonAtomicVolatileUpdate") // One thread at a time changes the count.
    void put(long key, long stamp) {
      int i = slot(key);
      while (slots.get(2 * i) != 0 && slots.get(2 * i) != key) {
        i = (i + 1) & mask;
      }
      slots.set(2 * i + 1, Math.max(stamp, slots.get(2 * i + 1)));
      if (slots.get(2 * i) == 0) {
        slots.set(2 * i, key);
        count = count + 1;
      }
    }

    private int slot(long key) {
      return (int) (key >>> 32) & mask;
    }

    /** One with room for as many again, without the marks below the floor. */
    Table copy(long floor) {
      int kept = 0;
      for (int i = 0; i <= mask; i++) {
        kept += slots.get(2 * i) != 0 && slots.get(2 * i + 1) > floor ? 1 : 0;
      }
      var copy = new Table(Math.max(1 << 10, Integer.highestOneBit(Math.max(1, kept)) * 4));
      for (int i = 0; i <= mask; i++) {
        if (slots.get(2 * i) != 0 && slots.get(2 * i + 1) > floor) {
          copy.put(slots.get(2 * i), slots.get(2 * i + 1));
        }
      }
      return copy;
    }

    boolean hasBelow(long stamp) {
      for (int i = 0; i <= mask; i++) {
        if (slots.get(2 * i) != 0 && slots.get(2 * i + 1) <= stamp) {
          return true;
        }
      }
      return false;
    }

    long median() {
      var stamps = new long[count];
      int n = 0;
      for (int i = 0; i <= mask && n < stamps.length; i++) {
        if (slots.get(2 * i) != 0) {
          stamps[n++] = slots.get(2 * i + 1);
        }
      }
      Arrays.sort(stamps);
      return stamps[n / 2];
    }
  }

  /** The hash of a tag. */
  static long tag(Hash hash, String tag) {
    var bytes = tag.getBytes(UTF_8);
    return hash.of(MemorySegment.ofArray(bytes), 0, bytes.length);
  }
}
