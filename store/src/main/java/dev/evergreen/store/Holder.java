package dev.evergreen.store;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Who {@linkplain Store#hold holds} values, perhaps many at a time. What one holds counts four
 * times when it wants to hold more: so it gets about a quarter of what others leave.
 */
public final class Holder {
  /** So often what one holds counts beside being held. */
  public static final int COUNTS_AGAIN = 3;

  private final AtomicLong bytes = new AtomicLong();

  /** One that holds nothing yet. */
  public Holder() {}

  long bytes() {
    return bytes.get();
  }

  void add(long more) {
    bytes.getAndAdd(more);
  }
}
