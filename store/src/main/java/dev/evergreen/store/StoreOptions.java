package dev.evergreen.store;

/**
 * The limits of a store.
 *
 * @param limit the bytes of memory for items, all overhead but that of the index included; at least
 *     {@value #LEAST_LIMIT}
 * @param itemLimit the bytes of the largest item, counted as memcached does: key, value and 59
 *     more, 63 with client flags; at most half of the limit and 1 GiB
 * @param evicts whether old items make room for new ones; otherwise a store that is full refuses
 * @param numbers whether items have CAS numbers; otherwise all have 0, which none can ask for
 */
public record StoreOptions(long limit, int itemLimit, boolean evicts, boolean numbers) {
  static final int LEAST_LIMIT = 1 << 20;

  /** The largest possible {@link #itemLimit}. */
  public static final int MOST_ITEM_LIMIT = 1 << 30;

  private static final int OVERHEAD = 59;

  /**
   * Checks the limits.
   *
   * @throws IllegalArgumentException if one is out of its range
   */
  public StoreOptions {
    if (limit < LEAST_LIMIT) {
      throw new IllegalArgumentException(
          "the memory limit is " + limit + " bytes; give at least " + LEAST_LIMIT);
    }
    if (itemLimit < 1 || itemLimit > Math.min(limit / 2, MOST_ITEM_LIMIT)) {
      throw new IllegalArgumentException(
          "the item limit is %d bytes; give at most %d, half of the memory limit"
              .formatted(itemLimit, Math.min(limit / 2, MOST_ITEM_LIMIT)));
    }
  }

  /** A store whose items have CAS numbers. */
  public StoreOptions(long limit, int itemLimit, boolean evicts) {
    this(limit, itemLimit, evicts, true);
  }

  /** A store that evicts, with items of up to 1 MiB, or half of the limit if that is less. */
  public static StoreOptions of(long limit) {
    return new StoreOptions(limit, (int) Math.min(limit / 2, 1 << 20), true);
  }

  boolean takes(int keyLength, long valueLength, int flags) {
    return valueLength + (flags == 0 ? 0 : 4) <= maxValueLength(keyLength);
  }

  int maxValueLength(int keyLength) {
    return Math.max(0, itemLimit - keyLength - OVERHEAD);
  }
}
