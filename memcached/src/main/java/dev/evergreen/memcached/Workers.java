package dev.evergreen.memcached;

import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * What it takes to answer commands, lent to connections while they have some: so a connection at
 * rest does without, and those that run one after the other use the same memory. A fiber looks in
 * one place, given by its number; if another one of that place is at work it gets a new one.
 */
final class Workers {
  private static final int PLACES_PER_PROCESSOR = 4;

  private final MemcachedServer server;
  private final AtomicReferenceArray<TextProtocol> idle;

  Workers(MemcachedServer server) {
    this.server = server;
    int places = Integer.highestOneBit(server.settings.processors * PLACES_PER_PROCESSOR);
    idle = new AtomicReferenceArray<>(places);
  }

  private int place() {
    return (int) Thread.currentThread().threadId() & (idle.length() - 1);
  }

  TextProtocol borrow() {
    var worker = idle.getAndSet(place(), null);
    return worker == null ? new TextProtocol(server) : worker;
  }

  void giveBack(TextProtocol worker) {
    idle.setRelease(place(), worker);
  }
}
