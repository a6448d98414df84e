package dev.evergreen.provenance;

import java.sql.SQLException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * Which process the store was in each of its epochs, by their facts. Where these do not tell it may
 * be any.
 *
 * <p>A process may come back after another one, as where a relay or a name leads to one of several,
 * and then do what it was asked before. So something is over in an epoch only if that epoch's
 * process certainly is none to which it may have been sent, or a recorder has found out that
 * nothing is left at that process of what was sent before it began to record.
 */
final class Processes {
  private final ReadSession session;

  /** Of each epoch that is known, what its process is called, if that is told. */
  private final NavigableMap<Long, Optional<String>> names = new TreeMap<>();

  /** Of each epoch that is known, the row below which all is over for its process; 0 for none. */
  private final Map<Long, Long> overBefore = new HashMap<>();

  /** The same of each process, by what is known so far. */
  private final Map<Optional<String>, Long> overFor = new HashMap<>();

  private final Set<Optional<String>> seen = new HashSet<>();

  /** The epochs whose process is certainly none of those before. */
  private final Set<Long> fresh = new HashSet<>();

  /**
   * The epochs behind which something had no room on record, up to the next one: it may have been
   * an epoch. What was sent since counts as of these, and may have been sent to any process.
   */
  private final Set<Long> blurred = new HashSet<>();

  /** The same of the last epoch, for a question. */
  private boolean lastIsBlurred;

  /** Whether all epochs are known that there are, for a question. */
  private boolean learnt;

  Processes(ReadSession session) {
    this.session = session;
  }

  /** The trace may be another one than it was at the last question. */
  void forget() {
    learnt = false;
  }

  /**
   * Whether what was sent in an epoch was certainly over when a later one began, for whatever is on
   * record of that: it was sent to another process, or that of the later one has nothing of it
   * left.
   */
  boolean isOver(long epoch, long later) throws SQLException {
    learn();
    if (isBlurred(later)) {
      return false;
    }
    var known = names.floorKey(later);
    return (known != null && epoch < overBefore.getOrDefault(known, 0L))
        || (!isBlurred(epoch) && StoreKind.isAnother(name(epoch), name(later)));
  }

  /** Whether the epoch's process certainly is none of any earlier one. */
  boolean isFresh(long epoch) throws SQLException {
    learn();
    return fresh.contains(epoch);
  }

  private Optional<String> name(long epoch) {
    var known = names.floorEntry(epoch);
    return known == null ? Optional.empty() : known.getValue();
  }

  private boolean isBlurred(long epoch) {
    var known = names.floorKey(epoch);
    return known != null
        && (known.equals(names.lastKey()) ? lastIsBlurred : blurred.contains(known));
  }

  private void learn() throws SQLException {
    if (session.isStill() && learnt) {
      return;
    }
    readNew();
    lastIsBlurred = isDropped(last(), Long.MAX_VALUE);
    learnt = true;
  }

  private long last() {
    return names.isEmpty() ? 0 : names.lastKey();
  }

  private void readNew() throws SQLException {
    session
        .statements()
        .each(
            "select id, facts from epoch where id > ? order by id",
            row -> add(row.getLong(1), row.getString(2)),
            last());
  }

  private void add(long id, String facts) throws SQLException {
    session.checkTime();
    if (isDropped(last(), id)) {
      blurred.add(last());
      seen.add(Optional.empty());
    }
    var process = StoreKind.process(facts);
    if (process.isPresent()) {
      // It will be so whenever the store is that process.
      long row = Math.max(StoreKind.overBefore(facts), overFor.getOrDefault(process, 0L));
      overFor.put(process, row);
      overBefore.put(id, row);
    }
    boolean isOther = !seen.contains(process) && !seen.contains(Optional.<String>empty());
    if (process.isPresent() && isOther) {
      fresh.add(id);
    }
    seen.add(process);
    names.put(id, process);
  }

  /** Whether anything had no room between two rows: it may have been another epoch. */
  private boolean isDropped(long from, long to) throws SQLException {
    return session
        .statements()
        .any(
            "select 1 from gap where seq > ? and seq < ? and %s limit 1".formatted(Dropped.THESE),
            from,
            to);
  }
}
