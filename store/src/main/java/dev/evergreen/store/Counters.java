package dev.evergreen.store;

import java.util.ArrayList;
import java.util.List;

/** What is counted: what is held, and what was done. */
final class Counters {
  private final Stripes stripes = new Stripes();

  // Of what is held; all others are of what was done.
  final Counter bytes = new Counter(stripes);
  final Counter provenItems = new Counter(stripes);

  private final List<Counter> done = new ArrayList<>();

  final Counter totalItems = counter();
  final Counter evictions = counter();
  final Counter evictedUnfetched = counter();
  final Counter expiredUnfetched = counter();
  final Counter reclaimed = counter();
  final Counter missesExpired = counter();
  final Counter missesFlushed = counter();
  final Counter movedBytes = counter();
  final Counter rounds = counter();
  final Counter sweeps = counter();
  final Counter sweptItems = counter();
  final Counter sweptReclaimed = counter();
  final Counter compactions = counter();
  final Counter compactedItems = counter();
  final Counter proven = counter();
  final Counter provenAgain = counter();
  final Counter directReclaims = counter();
  final Counter evictedActive = counter();
  final Counter evictedExpiring = counter();
  final Counter newHits = counter();
  final Counter provenHits = counter();

  /** For how many seconds what was evicted last had not been read. */
  volatile int evictedIdle;

  private Counter counter() {
    var counter = new Counter(stripes);
    done.add(counter);
    return counter;
  }

  void reset() {
    done.forEach(Counter::reset);
    evictedIdle = 0;
  }
}
