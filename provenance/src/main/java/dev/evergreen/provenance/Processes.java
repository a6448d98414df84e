package dev.evergreen.provenance;

import java.sql.SQLException;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * Which process the store was in each of its epochs, by their facts. Where these do not tell it may
 * be any.
 */
final class Processes {
  private final ReadSession session;

  /** Of each epoch that is known, what its process is called, if that is told. */
  private final NavigableMap<Long, Optional<String>> names = new TreeMap<>();

  private final Set<Optional<String>> seen = new HashSet<>();

  /** The epochs whose process is certainly none of those before. */
  private final Set<Long> fresh = new HashSet<>();

  /**
   * The epochs behind which something had no room on record, up to the next one: it may have been
   * an epoch. What was sent since counts as of these, and may have been sent to the next process.
   */
  private final Set<Long> blurred = new HashSet<>();

  Processes(ReadSession session) {
    this.session = session;
  }

  /** Whether what is on record of two epochs was certainly sent to different processes. */
  boolean differ(long one, long other) throws SQLException {
    readNew(Math.max(one, other));
    return names(one).stream()
        .allMatch(
            name -> names(other).stream().allMatch(another -> StoreKind.isAnother(name, another)));
  }

  /** Whether the epoch's process certainly is none of any earlier one. */
  boolean isFresh(long epoch) throws SQLException {
    readNew(epoch);
    return fresh.contains(epoch);
  }

  /** What the process may be called to which that was sent which is on record of an epoch. */
  private List<Optional<String>> names(long epoch) {
    var known = names.floorEntry(epoch);
    if (known == null) {
      return List.of(Optional.empty());
    }
    var next = names.higherEntry(known.getKey());
    return next != null && blurred.contains(known.getKey())
        ? List.of(known.getValue(), next.getValue())
        : List.of(known.getValue());
  }

  private void readNew(long epoch) throws SQLException {
    if (!names.isEmpty() && epoch <= names.lastKey()) {
      return;
    }
    var select = session.statement("select id, facts from epoch where id > ? order by id");
    select.setLong(1, names.isEmpty() ? 0 : names.lastKey());
    try (var found = select.executeQuery()) {
      while (found.next()) {
        long id = found.getLong(1);
        long last = names.isEmpty() ? 0 : names.lastKey();
        if (isDropped(last, id)) {
          blurred.add(last);
          seen.add(Optional.empty());
        }
        var process = StoreKind.process(found.getString(2));
        boolean isOther = !seen.contains(process) && !seen.contains(Optional.<String>empty());
        if (process.isPresent() && isOther) {
          fresh.add(id);
        }
        seen.add(process);
        names.put(id, process);
      }
    }
  }

  /** Whether anything had no room between two rows: it may have been another epoch. */
  private boolean isDropped(long from, long to) throws SQLException {
    var select =
        session.statement(
            "select 1 from gap where seq > ? and seq < ? and %s limit 1".formatted(Dropped.THESE));
    select.setLong(1, from);
    select.setLong(2, to);
    try (var found = select.executeQuery()) {
      return found.next();
    }
  }
}
