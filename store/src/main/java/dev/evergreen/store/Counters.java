package dev.evergreen.store;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/** Counts that threads add to without meeting. */
final class Counters {
  // Of what is held; all others are of what was done.
  final LongAdder bytes = new LongAdder();
  final LongAdder provenItems = new LongAdder();

  private final List<LongAdder> done = new ArrayList<>();

  final LongAdder totalItems = counter();
  final LongAdder evictions = counter();
  final LongAdder evictedUnfetched = counter();
  final LongAdder expiredUnfetched = counter();
  final LongAdder reclaimed = counter();
  final LongAdder missesExpired = counter();
  final LongAdder missesFlushed = counter();
  final LongAdder movedBytes = counter();
  final LongAdder rounds = counter();
  final LongAdder sweeps = counter();
  final LongAdder sweptItems = counter();
  final LongAdder sweptReclaimed = counter();
  final LongAdder compactions = counter();
  final LongAdder compactedItems = counter();
  final LongAdder proven = counter();
  final LongAdder provenAgain = counter();
  final LongAdder directReclaims = counter();
  final LongAdder evictedActive = counter();
  final LongAdder evictedExpiring = counter();
  final LongAdder newHits = counter();
  final LongAdder provenHits = counter();

  /** For how many seconds what was evicted last had not been read. */
  volatile int evictedIdle;

  private LongAdder counter() {
    var counter = new LongAdder();
    done.add(counter);
    return counter;
  }

  void reset() {
    done.forEach(LongAdder::reset);
    evictedIdle = 0;
  }
}
