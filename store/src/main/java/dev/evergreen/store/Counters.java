package dev.evergreen.store;

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
  final LongAdder rounds = new LongAdder();
  final LongAdder sweeps = new LongAdder();
  final LongAdder sweptItems = new LongAdder();
  final LongAdder sweptReclaimed = new LongAdder();
  final LongAdder compactions = new LongAdder();
  final LongAdder compactedItems = new LongAdder();
  final LongAdder proven = new LongAdder();
  final LongAdder provenAgain = new LongAdder();
  final LongAdder directReclaims = new LongAdder();
  final LongAdder evictedActive = new LongAdder();
}
