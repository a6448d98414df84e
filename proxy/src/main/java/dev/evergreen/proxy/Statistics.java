package dev.evergreen.proxy;

import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** What the proxy has done. Any thread may count. */
final class Statistics {

  /** What is counted. */
  enum Count {
    /** Requests that began. */
    REQUESTS,
    /** Requests that were answered from the cache. */
    HITS,
    /** Of these, those that were answered by what was stale. */
    STALE_HITS,
    /** Requests that an origin had to answer. */
    MISSES,
    /** Requests that waited for another one's answer. */
    COLLAPSED,
    /** Requests that were passed on without a look into the cache. */
    PASSED,
    /** Requests that were answered here, such as errors. */
    ANSWERED_HERE,
    /** Validations that found that what was stored is still right. */
    FRESHENED,
    /** Validations in the background. */
    BACKGROUND,
    /** Responses that began to be stored. */
    STORED,
    /** Responses that could not be stored. */
    UNSTORABLE,
    /** Requests that no origin answered. */
    ORIGIN_FAILURES,
    /** Responses that an origin did not finish. */
    CUT_OFF,
    /** Purges by operators. */
    PURGES,
    /** URIs and groups that a request has invalidated. */
    INVALIDATIONS,
    /** Connections that left HTTP. */
    TUNNELS,
    /** Bytes of bodies sent to clients. */
    BYTES_OUT,
    /** Microseconds that all requests took together. */
    MICROS;

    /** As operators see it. */
    String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private final EnumMap<Count, LongAdder> counts = new EnumMap<>(Count.class);

  Statistics() {
    for (var count : Count.values()) {
      counts.put(count, new LongAdder());
    }
  }

  void count(Count what) {
    add(what, 1);
  }

  void add(Count what, long number) {
    adder(what).add(number);
  }

  long get(Count what) {
    return adder(what).sum();
  }

  private LongAdder adder(Count what) {
    var adder = counts.get(what);
    if (adder == null) {
      throw new IllegalArgumentException("not counted: " + what);
    }
    return adder;
  }

  /** All, by their words. */
  Map<String, Long> all() {
    var all = new LinkedHashMap<String, Long>();
    counts.forEach((count, adder) -> all.put(count.word(), adder.sum()));
    return all;
  }
}
