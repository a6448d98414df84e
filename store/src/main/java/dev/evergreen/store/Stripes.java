package dev.evergreen.store;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Memory for {@link Counter counters} to which threads add without meeting: each counter has a
 * place in each of some stripes, and a thread adds to the stripe that its number gives. All of it
 * is made at once.
 */
final class Stripes {
  /** The most counters. */
  private static final int PLACES = 32;

  /**
   * In numbers: the places, and behind them what keeps a stripe out of another one's cache line.
   */
  private static final int STRIDE = PLACES + 16;

  /** Keeps the first stripe out of the cache line of the array's length, which all read. */
  private static final int FIRST = 16;

  /** Many more than threads that run at a time, so that few of those have the same one. */
  private static final int STRIPES_PER_PROCESSOR = 16;

  private static final int MOST_STRIPES = 128;

  private final AtomicInteger taken = new AtomicInteger();
  private final AtomicLongArray numbers;
  private final int mask;

  Stripes() {
    int processors = Runtime.getRuntime().availableProcessors();
    int count = Math.min(MOST_STRIPES, Integer.highestOneBit(processors) * STRIPES_PER_PROCESSOR);
    mask = count - 1;
    numbers = new AtomicLongArray(FIRST + count * STRIDE);
  }

  /** A place for one more counter. */
  int take() {
    int place = taken.getAndIncrement();
    if (place >= PLACES) {
      throw new IllegalStateException("there is room for " + PLACES + " counters only");
    }
    return place;
  }

  void add(int place, long number) {
    int stripe = (int) Thread.currentThread().threadId() & mask;
    numbers.getAndAdd(FIRST + stripe * STRIDE + place, number);
  }

  long sum(int place) {
    long sum = 0;
    for (int at = FIRST + place; at < numbers.length(); at += STRIDE) {
      sum += numbers.get(at);
    }
    return sum;
  }

  void reset(int place) {
    for (int at = FIRST + place; at < numbers.length(); at += STRIDE) {
      numbers.set(at, 0);
    }
  }
}
