package dev.evergreen.memcached;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLongArray;

/** Counts requests by the prefix of their key, while somebody wants it: {@code stats detail}. */
final class Details {
  /** What is counted. */
  enum Kind {
    GET(0),
    HIT(1),
    SET(2),
    DELETE(3);

    private final int place;

    Kind(int place) {
      this.place = place;
    }
  }

  /** Clients choose prefixes; beyond so many, further ones are not counted. */
  private static final int MOST_PREFIXES = 10_000;

  private final char delimiter;
  private final Map<String, AtomicLongArray> counts = new ConcurrentHashMap<>();
  private volatile boolean enabled;

  Details(char delimiter, boolean enabled) {
    this.delimiter = delimiter;
    this.enabled = enabled;
  }

  boolean enabled() {
    return enabled;
  }

  void enable(boolean on) {
    enabled = on;
  }

  void count(String key, Kind kind) {
    int end = key.indexOf(delimiter);
    // One may be empty.
    if (end >= 0) {
      var prefix = key.substring(0, end);
      var count = counts.get(prefix);
      if (count == null && counts.size() < MOST_PREFIXES) {
        count = counts.computeIfAbsent(prefix, _ -> new AtomicLongArray(4));
      }
      if (count != null) {
        count.getAndIncrement(kind.place);
      }
    }
  }

  void clear() {
    counts.clear();
  }

  String dump() {
    var text = new StringBuilder();
    counts.forEach(
        (prefix, count) ->
            text.append("PREFIX ")
                .append(prefix)
                .append(" get ")
                .append(count.get(0))
                .append(" hit ")
                .append(count.get(1))
                .append(" set ")
                .append(count.get(2))
                .append(" del ")
                .append(count.get(3))
                .append("\r\n"));
    return text.append("END\r\n").toString();
  }
}
