package dev.evergreen.web;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** What the server has done since its start. */
final class Counters {

  private static final Set<String> MALFORMED = Set.of("malformed", "bad-params", "too-large");

  final LongAdder requests = new LongAdder();
  final LongAdder sent = new LongAdder();
  final LongAdder skipped = new LongAdder();
  final LongAdder unchanged = new LongAdder();
  final LongAdder malformed = new LongAdder();
  private final Map<String, LongAdder> cut = new ConcurrentHashMap<>();
  private final Map<String, LongAdder> refused = new ConcurrentHashMap<>();

  void cut(String reason) {
    cut.computeIfAbsent(reason, r -> new LongAdder()).increment();
  }

  /**
   * The reasons are the application's and our own error types: a few, never what a client chose.
   */
  void refused(String reason) {
    refused.computeIfAbsent(reason, r -> new LongAdder()).increment();
    if (MALFORMED.contains(reason)) {
      malformed.increment();
    }
  }

  Map<String, Long> cut() {
    return snapshot(cut);
  }

  Map<String, Long> refused() {
    return snapshot(refused);
  }

  private static Map<String, Long> snapshot(Map<String, LongAdder> counters) {
    var copy = new TreeMap<String, Long>();
    counters.forEach((reason, count) -> copy.put(reason, count.sum()));
    return copy;
  }
}
