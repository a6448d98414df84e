package dev.evergreen.memcached;

import dev.evergreen.memcached.store.Outcome;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/** What the server counts; the store counts the rest. */
final class Statistics {
  final AtomicInteger connections = new AtomicInteger();
  final LongAdder totalConnections = new LongAdder();
  final LongAdder rejectedConnections = new LongAdder();
  final LongAdder idleKicks = new LongAdder();
  final LongAdder yields = new LongAdder();
  final LongAdder getHits = new LongAdder();
  final LongAdder getMisses = new LongAdder();
  final LongAdder sets = new LongAdder();
  final LongAdder flushes = new LongAdder();
  final LongAdder metas = new LongAdder();
  final LongAdder deleteHits = new LongAdder();
  final LongAdder deleteMisses = new LongAdder();
  final LongAdder incrementHits = new LongAdder();
  final LongAdder incrementMisses = new LongAdder();
  final LongAdder decrementHits = new LongAdder();
  final LongAdder decrementMisses = new LongAdder();
  final LongAdder casHits = new LongAdder();
  final LongAdder casMisses = new LongAdder();
  final LongAdder casBadValues = new LongAdder();
  final LongAdder touchHits = new LongAdder();
  final LongAdder touchMisses = new LongAdder();
  final LongAdder tooLarge = new LongAdder();
  final LongAdder noMemory = new LongAdder();
  final LongAdder authentications = new LongAdder();
  final LongAdder authenticationErrors = new LongAdder();
  final LongAdder read = new LongAdder();
  final LongAdder written = new LongAdder();

  void countCas(Outcome outcome) {
    switch (outcome) {
      case STORED -> casHits.increment();
      case EXISTS -> casBadValues.increment();
      default -> casMisses.increment();
    }
  }

  void countArithmetic(boolean increments, Outcome outcome) {
    if (outcome == Outcome.STORED) {
      (increments ? incrementHits : decrementHits).increment();
    } else if (outcome == Outcome.NOT_FOUND) {
      (increments ? incrementMisses : decrementMisses).increment();
    }
  }
}
