package dev.evergreen.proxy.storage;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.evergreen.store.Memory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Where objects are on disk, outside the heap: hash tables with open addressing, of 12 bytes a
 * slot, made to be three quarters full with the expected number of objects, which makes 16 bytes an
 * object.
 *
 * <p>Of an object's hash 6 bits choose a table and 40 are kept, from which the first slot to look
 * at follows. Two objects that agree in them displace one another; a reader sees by the key which
 * one it has. In a table of 10 million objects that befalls one in a million.
 *
 * <p>Each table has a lock that is held for a few comparisons.
 */
final class Directory implements AutoCloseable {
  private static final int TABLES = 64;
  private static final int KEPT_BITS = 40;
  private static final double FILL = 0.75;
  private static final double FULL = 0.9;
  private static final double ROOMY = 0.8;

  private final Arena arena = Arena.ofShared();
  private final Table[] tables = new Table[TABLES];

  Directory(long objects) {
    int slots = Math.toIntExact(Math.max(64, (long) (objects / FILL) / TABLES + 1));
    for (int i = 0; i < TABLES; i++) {
      tables[i] = new Table(slots, arena);
    }
  }

  private Table table(long hash) {
    return tables[(int) hash & (TABLES - 1)];
  }

  private static long kept(long hash) {
    return hash >>> (64 - KEPT_BITS);
  }

  /** The place of the object, 0 if it is not there. */
  long get(long hash) {
    return table(hash).get(kept(hash));
  }

  /** The place of the object, 0 if it is not there; counts as a hit. */
  long hit(long hash) {
    return table(hash).hit(kept(hash));
  }

  /** Sets the place of the object; false if the directory is full. */
  boolean put(long hash, long place) {
    return table(hash).put(kept(hash), place);
  }

  /** Whether there is room for what may as well be left out, and then enough for what is not. */
  boolean isRoomy(long hash) {
    var table = table(hash);
    return table.used < ROOMY * table.slots;
  }

  /** Removes the object; returns whether it was there. */
  boolean remove(long hash) {
    return table(hash).replace(kept(hash), 0, 0);
  }

  /** Removes the object if it is at the place. */
  boolean remove(long hash, long place) {
    return table(hash).replace(kept(hash), place, 0);
  }

  /** Sets the place of the object if it is at another one. */
  boolean replace(long hash, long former, long place) {
    return table(hash).replace(kept(hash), former, place);
  }

  /** Removes all objects that are in a segment; returns how many those were. */
  int removeAll(int segment) {
    int removed = 0;
    for (var table : tables) {
      removed += table.removeAll(segment);
    }
    return removed;
  }

  long objects() {
    long sum = 0;
    for (var table : tables) {
      sum += table.used;
    }
    return sum;
  }

  long bytes() {
    return (long) TABLES * tables[0].slots * Table.SLOT;
  }

  @Override
  public void close() {
    arena.close();
  }

  /** A slot is 56 bits of place and 40 of the hash; all zeros is an empty one. */
  private static final class Table {
    static final int SLOT = 12;

    final int slots;
    private final MemorySegment places;
    private final MemorySegment tags;
    private volatile int used;

    Table(int slots, Arena arena) {
      this.slots = slots;
      places = Memory.reserve(8L * slots, arena);
      tags = Memory.reserve(4L * slots, arena);
    }

    private int home(long kept) {
      return (int) ((kept * slots) >>> KEPT_BITS);
    }

    private int next(int slot) {
      return slot + 1 == slots ? 0 : slot + 1;
    }

    private long content(int slot) {
      return places.getAtIndex(JAVA_LONG, slot);
    }

    private long keptAt(int slot) {
      return ((content(slot) >>> 56) << 32) | (tags.getAtIndex(JAVA_INT, slot) & 0xffffffffL);
    }

    private void set(int slot, long kept, long place) {
      places.setAtIndex(JAVA_LONG, slot, ((kept >>> 32) << 56) | (place & Place.MASK));
      tags.setAtIndex(JAVA_INT, slot, (int) kept);
    }

    /** The slot of the object, or the empty one where it would go. */
    private int find(long kept) {
      int slot = home(kept);
      while (content(slot) != 0 && keptAt(slot) != kept) {
        slot = next(slot);
      }
      return slot;
    }

    synchronized long get(long kept) {
      return content(find(kept)) & Place.MASK;
    }

    synchronized long hit(long kept) {
      int slot = find(kept);
      long place = content(slot) & Place.MASK;
      if (place != 0) {
        set(slot, kept, Place.hit(place));
      }
      return place;
    }

    // Only one thread at a time changes the count.
    @SuppressWarnings("NonAtomicVolatileUpdate")
    synchronized boolean put(long kept, long place) {
      int slot = find(kept);
      if (content(slot) == 0) {
        if (used >= slots * FULL) {
          return false;
        }
        used++;
      }
      set(slot, kept, place);
      return true;
    }

    /**
     * Replaces a place, by none if the new one is 0; whatever place it is if the former one is 0.
     */
    synchronized boolean replace(long kept, long former, long place) {
      int slot = find(kept);
      long there = content(slot) & Place.MASK;
      if (there == 0 || (former != 0 && !Place.isSame(there, former))) {
        return false;
      }
      if (place != 0) {
        set(slot, kept, place);
      } else {
        empty(slot);
      }
      return true;
    }

    synchronized int removeAll(int segment) {
      int before = used;
      for (int slot = 0; slot < slots; slot++) {
        // What is moved into the hole is looked at too.
        while (content(slot) != 0 && Place.segment(content(slot) & Place.MASK) == segment) {
          empty(slot);
        }
      }
      return before - used;
    }

    /** Empties the slot, and moves those behind it that could then not be found any more. */
    @SuppressWarnings("NonAtomicVolatileUpdate")
    private void empty(int slot) {
      used--;
      int hole = slot;
      for (int at = next(hole); content(at) != 0; at = next(at)) {
        long kept = keptAt(at);
        int home = home(kept);
        boolean reachable = hole <= at ? hole < home && home <= at : hole < home || home <= at;
        if (!reachable) {
          set(hole, kept, content(at));
          hole = at;
        }
      }
      places.setAtIndex(JAVA_LONG, hole, 0);
      tags.setAtIndex(JAVA_INT, hole, 0);
    }
  }
}
