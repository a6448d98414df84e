package dev.evergreen.memcached.store;

import java.util.concurrent.atomic.LongAdder;

/** Counts that threads add to without meeting. */
final class Counters {
  final LongAdder totalItems = new LongAdder();
  final LongAdder bytes = new LongAdder();
  final LongAdder evictions = new LongAdder();
  final LongAdder evictedUnfetched = new LongAdder();
  final LongAdder expiredUnfetched = new LongAdder();
  final LongAdder reclaimed = new LongAdder();
  final LongAdder missesExpired = new LongAdder();
  final LongAdder missesFlushed = new LongAdder();
  final LongAdder movedBytes = new LongAdder();
}
