package dev.evergreen.memcached;

import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Supplier;

/**
 * What it takes to answer commands, lent to connections while they have some: so a connection at
 * rest does without, and those that run one after the other use the same memory. A fiber looks in
 * one place, given by its number; if another one of that place is at work it gets a new one.
 */
final class Workers {
  private static final int PLACES_PER_PROCESSOR = 4;

  private final Supplier<Protocol> maker;
  private final AtomicReferenceArray<Protocol> idle;

  Workers(int processors, Supplier<Protocol> maker) {
    this.maker = maker;
    int places = Integer.highestOneBit(processors * PLACES_PER_PROCESSOR);
    idle = new AtomicReferenceArray<>(places);
  }

  private int place() {
    return (int) Thread.currentThread().threadId() & (idle.length() - 1);
  }

  Protocol borrow() {
    var worker = idle.getAndSet(place(), null);
    return worker == null ? maker.get() : worker;
  }

  void giveBack(Protocol worker) {
    idle.setRelease(place(), worker);
  }
}
