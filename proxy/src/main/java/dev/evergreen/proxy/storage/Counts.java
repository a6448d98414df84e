package dev.evergreen.proxy.storage;

import java.util.concurrent.atomic.LongAdder;

/** Counts that threads add to without meeting. */
final class Counts {
  final LongAdder memoryHits = new LongAdder();
  final LongAdder diskHits = new LongAdder();
  final LongAdder misses = new LongAdder();
  final LongAdder stored = new LongAdder();
  final LongAdder unstored = new LongAdder();
  final LongAdder abandoned = new LongAdder();
  final LongAdder evictedDisk = new LongAdder();
  final LongAdder keptDisk = new LongAdder();
  final LongAdder diskWrites = new LongAdder();
  final LongAdder diskErrors = new LongAdder();
  final LongAdder corrupt = new LongAdder();
  final LongAdder purges = new LongAdder();
}
