package dev.evergreen.provenance;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What connections did that may be parts of what they do next. The newest of it is known by heart,
 * as far as there is room; what is older, and what had none, is in the database. To be used by one
 * thread.
 */
final class Parts {
  /** So many of a connection are known. */
  private static final int MOST = 1_000;

  /** So many bytes of all connections are. */
  static final long MOST_BYTES = 8 << 20;

  /** About so many bytes of memory one takes, beside what was said. */
  private static final int WEIGHT = 250;

  private final Map<Long, ArrayDeque<Operation>> known = new HashMap<>();
  private final Set<Long> grown = new HashSet<>();
  private long weight;

  /** Those of a connection that are known, the newest first. */
  List<Operation> of(long connection) {
    var own = known.get(connection);
    return own == null ? List.of() : List.copyOf(own);
  }

  /** Adds what may be a part of what its connection does next. */
  void add(Operation part) {
    grown.add(part.connection());
    var own = known.computeIfAbsent(part.connection(), _ -> new ArrayDeque<>());
    own.addFirst(part);
    weight += weight(part);
    // Always the oldest first: what is known has no holes.
    while (own.size() > MOST || (weight > MOST_BYTES && !own.isEmpty())) {
      weight -= weight(own.removeLast());
    }
    if (weight > MOST_BYTES) {
      known.clear();
      weight = 0;
    }
  }

  /** What the connection does next has no part of what it did before. */
  void forget(long connection) {
    var own = known.remove(connection);
    if (own != null) {
      own.forEach(part -> weight -= weight(part));
    }
  }

  /** Forgets all. */
  void clear() {
    known.clear();
    grown.clear();
    weight = 0;
  }

  /** Whether the connection has got more since {@link #settle}. */
  boolean hasGrown(long connection) {
    return grown.contains(connection);
  }

  /** What there is by now was looked at. */
  void settle() {
    grown.clear();
  }

  /** About how many bytes of memory all of it takes. */
  long weight() {
    return weight;
  }

  /** About how many bytes of memory an operation takes. */
  static long weight(Operation operation) {
    long bytes = WEIGHT;
    if (operation.reply() != null) {
      bytes += operation.reply().length();
    }
    for (var word : operation.request()) {
      bytes += word.length();
    }
    return bytes;
  }
}
