package dev.evergreen.memcached;

import dev.evergreen.store.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/** What the server counts; the store counts the rest. */
final class Statistics {
  private final List<LongAdder> resettable = new ArrayList<>();

  final LongAdder totalConnections = counter();
  final LongAdder rejectedConnections = counter();
  final LongAdder idleKicks = counter();
  final LongAdder yields = counter();
  final LongAdder getHits = counter();
  final LongAdder getMisses = counter();
  final LongAdder sets = counter();
  final LongAdder flushes = counter();
  final LongAdder metas = counter();
  final LongAdder deleteHits = counter();
  final LongAdder deleteMisses = counter();
  final LongAdder incrementHits = counter();
  final LongAdder incrementMisses = counter();
  final LongAdder decrementHits = counter();
  final LongAdder decrementMisses = counter();
  final LongAdder casHits = counter();
  final LongAdder casMisses = counter();
  final LongAdder casBadValues = counter();
  final LongAdder touchHits = counter();
  final LongAdder touchMisses = counter();
  final LongAdder tooLarge = counter();
  final LongAdder noMemory = counter();
  final LongAdder authentications = counter();
  final LongAdder authenticationErrors = counter();
  final LongAdder handshakeErrors = counter();
  final LongAdder read = counter();
  final LongAdder written = counter();

  private LongAdder counter() {
    var counter = new LongAdder();
    resettable.add(counter);
    return counter;
  }

  void reset() {
    resettable.forEach(LongAdder::reset);
  }

  /** A get that touches is a touch, and no get. */
  void countGet(boolean hit, boolean touches) {
    if (touches) {
      (hit ? touchHits : touchMisses).increment();
    } else {
      (hit ? getHits : getMisses).increment();
    }
  }

  /** Of the text protocol: what was not stored for want of room. */
  void countRefusal(Outcome outcome) {
    if (outcome == Outcome.TOO_LARGE) {
      tooLarge.increment();
    } else if (outcome == Outcome.OUT_OF_MEMORY) {
      noMemory.increment();
    }
  }

  void countCas(Outcome outcome) {
    switch (outcome) {
      case STORED -> casHits.increment();
      case EXISTS -> casBadValues.increment();
      case NOT_FOUND -> casMisses.increment();
      default -> {
        // It was refused before its number was looked at.
      }
    }
  }

  /** What made its item is neither a hit nor a miss. */
  void countArithmetic(boolean increments, Outcome outcome, boolean isNew) {
    if (outcome == Outcome.STORED && !isNew) {
      (increments ? incrementHits : decrementHits).increment();
    } else if (outcome == Outcome.NOT_FOUND) {
      (increments ? incrementMisses : decrementMisses).increment();
    }
  }
}
