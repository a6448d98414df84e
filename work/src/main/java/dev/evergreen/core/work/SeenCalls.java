package dev.evergreen.core.work;

import java.util.BitSet;
import java.util.TreeMap;

/**
 * The calls of one node that were seen, so that none is executed twice: a bit for each, in pages,
 * since millions may follow upon one that stays open for long. Not thread-safe.
 */
public final class SeenCalls {
  private static final int PAGE_BITS = 10;
  private static final int IN_PAGE = (1 << PAGE_BITS) - 1;

  /** More are not kept, so that no node can fill the memory of another; the lowest go first. */
  static final int MAX_PAGES = 1 << 16;

  private final TreeMap<Long, BitSet> pages = new TreeMap<>();
  private long oldest;

  /** About how many calls there is room for. */
  public int size() {
    return pages.size() << PAGE_BITS;
  }

  /** Whether it was not seen before; the other node has forgotten all below the oldest open. */
  public boolean add(long id, long oldestOpen) {
    if (oldestOpen > oldest) {
      oldest = oldestOpen;
      pages.headMap(oldest >> PAGE_BITS).clear();
    }
    if (id < oldest) {
      return false;
    }
    var page = pages.computeIfAbsent(id >> PAGE_BITS, number -> new BitSet(IN_PAGE + 1));
    int bit = (int) id & IN_PAGE;
    boolean fresh = !page.get(bit);
    page.set(bit);
    if (pages.size() > MAX_PAGES) {
      pages.pollFirstEntry();
      oldest = pages.firstKey() << PAGE_BITS;
    }
    return fresh;
  }
}
