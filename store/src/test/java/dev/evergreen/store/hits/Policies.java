package dev.evergreen.store.hits;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;

/** The policies that are compared. */
final class Policies {
  /** What index and ghosts take in our store for an item. */
  static final int INDEX_BYTES = 18;

  private Policies() {}

  /**
   * What an item takes in memcached: header, CAS, the ends of key and value, rounded up to its size
   * class, and a pointer of the index.
   */
  static int memcachedBytes(Request request) {
    int bytes = 48 + 8 + request.keyLength() + 1 + request.valueLength() + 2;
    double chunk = 96;
    while (chunk < bytes) {
      chunk = Math.ceil(chunk * 1.25 / 8) * 8;
    }
    return (int) chunk + 8;
  }

  /** What an item takes in our store: header, rounding, a share of a bucket, a ghost. */
  static int ourBytes(Request request) {
    return (32 + request.keyLength() + request.valueLength() + 7) / 8 * 8 + INDEX_BYTES;
  }

  /** Least recently used, with memcached's sizes. */
  static final class Lru extends Queues {
    Lru(int keys, long limit) {
      super(keys, 2, limit);
    }

    @Override
    public String name() {
      return "LRU";
    }

    @Override
    int charge(Request request) {
      return memcachedBytes(request);
    }

    @Override
    void hit(int key) {
      move(key, 1);
    }

    @Override
    void insert(int key) {
      push(key, 1);
    }

    @Override
    void evict() {
      while (total() > limit) {
        remove(tail(1));
      }
    }
  }

  /**
   * Memcached's segmented LRU as its document new_lru.txt describes it: HOT 20 %, WARM 40 %, the
   * rest COLD. One for all sizes, as if its slabs were always divided in the best way.
   */
  static final class SegmentedLru extends Queues {
    private static final int HOT = 1;
    private static final int WARM = 2;
    private static final int COLD = 3;

    SegmentedLru(int keys, long limit) {
      super(keys, 4, limit);
    }

    @Override
    public String name() {
      return "memcached's segmented LRU";
    }

    @Override
    int charge(Request request) {
      return memcachedBytes(request);
    }

    @Override
    void hit(int key) {
      reads[key] = (byte) Math.min(2, reads[key] + 1);
      if (reads[key] == 2 && queue[key] == COLD) {
        reads[key] = 1;
        move(key, WARM);
      }
    }

    @Override
    void insert(int key) {
      push(key, HOT);
      shrink(HOT, limit / 5);
    }

    private void shrink(int from, long most) {
      while (bytes[from] > most) {
        int key = tail(from);
        boolean active = reads[key] == 2;
        reads[key] = (byte) Math.min(1, reads[key]);
        move(key, active ? WARM : COLD);
      }
    }

    @Override
    void evict() {
      shrink(HOT, limit / 5);
      shrink(WARM, limit * 2 / 5);
      while (total() > limit) {
        remove(tail(bytes[COLD] > 0 ? COLD : WARM));
      }
    }
  }

  /** S3-FIFO by items, as published: new ones 10 %, ghosts of as many items as there are. */
  static final class S3Fifo extends Queues {
    private static final int SMALL = 1;
    private static final int MAIN = 2;
    private final boolean[] ghost;
    private final ArrayDeque<Integer> ghosts = new ArrayDeque<>();
    private final int threshold;
    private long items;

    S3Fifo(int keys, long limit, int threshold) {
      super(keys, 3, limit);
      ghost = new boolean[keys];
      this.threshold = threshold;
    }

    @Override
    public String name() {
      return "S3-FIFO by items, proven by " + threshold;
    }

    @Override
    int charge(Request request) {
      return ourBytes(request);
    }

    @Override
    void hit(int key) {
      reads[key] = (byte) Math.min(3, reads[key] + 1);
    }

    @Override
    void insert(int key) {
      push(key, ghost[key] ? MAIN : SMALL);
      ghost[key] = false;
      items++;
    }

    @Override
    void evict() {
      while (total() > limit) {
        if (bytes[SMALL] > limit / 10) {
          int key = tail(SMALL);
          if (reads[key] >= threshold) {
            reads[key] = 0;
            move(key, MAIN);
          } else {
            remove(key);
            items--;
            haunt(key);
          }
        } else {
          int key = tail(MAIN);
          if (reads[key] > 0) {
            reads[key]--;
            move(key, MAIN);
          } else {
            remove(key);
            items--;
          }
        }
      }
    }

    private void haunt(int key) {
      ghost[key] = true;
      ghosts.add(key);
      while (ghosts.size() > items) {
        ghost[ghosts.remove()] = false;
      }
    }
  }

  /**
   * Segcache's merging: the four oldest segments become one, of what was read most for its size.
   */
  static final class Merging extends Queues {
    private static final int SEGMENT = 128 << 10;
    private static final int MERGED = 4;
    private final ArrayDeque<ArrayList<Integer>> segments = new ArrayDeque<>();
    private ArrayList<Integer> open = new ArrayList<>();
    private long openBytes;

    Merging(int keys, long limit) {
      super(keys, 2, limit);
    }

    @Override
    public String name() {
      return "merging of segments (Segcache)";
    }

    @Override
    int charge(Request request) {
      return (5 + request.keyLength() + request.valueLength() + 7) / 8 * 8 + 10;
    }

    @Override
    void hit(int key) {
      reads[key] = (byte) Math.min(127, reads[key] + 1);
    }

    @Override
    void insert(int key) {
      push(key, 1);
      open.add(key);
      openBytes += size[key];
      if (openBytes > SEGMENT) {
        segments.add(open);
        open = new ArrayList<>();
        openBytes = 0;
      }
    }

    @Override
    void evict() {
      var all = new ArrayList<Integer>();
      for (int i = 0; i < MERGED && !segments.isEmpty(); i++) {
        all.addAll(segments.remove());
      }
      var live = new ArrayList<>(all.stream().distinct().filter(key -> queue[key] != 0).toList());
      live.sort(Comparator.comparingDouble(key -> -(reads[key] + 0.01) / size[key]));
      var kept = new ArrayList<Integer>();
      long keptBytes = 0;
      for (int key : live) {
        if (keptBytes + size[key] <= SEGMENT && reads[key] > 0) {
          keptBytes += size[key];
          reads[key] = (byte) (reads[key] / 2);
          kept.add(key);
        } else {
          remove(key);
        }
      }
      segments.add(kept);
    }
  }
}
