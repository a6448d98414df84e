package dev.evergreen.provenance;

import java.sql.SQLException;
import java.util.HashSet;
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

  Processes(ReadSession session) {
    this.session = session;
  }

  /** Whether two epochs certainly are of different processes. */
  boolean differ(long one, long other) throws SQLException {
    return StoreKind.isAnother(name(one), name(other));
  }

  /** Whether the epoch's process certainly is none of any earlier one. */
  boolean isFresh(long epoch) throws SQLException {
    readNew(epoch);
    return fresh.contains(epoch);
  }

  private Optional<String> name(long epoch) throws SQLException {
    readNew(epoch);
    var known = names.floorEntry(epoch);
    return known == null ? Optional.empty() : known.getValue();
  }

  private void readNew(long epoch) throws SQLException {
    if (!names.isEmpty() && epoch <= names.lastKey()) {
      return;
    }
    var select = session.statement("select id, facts from epoch where id > ? order by id");
    select.setLong(1, names.isEmpty() ? 0 : names.lastKey());
    try (var found = select.executeQuery()) {
      while (found.next()) {
        var process = StoreKind.process(found.getString(2));
        boolean isOther = !seen.contains(process) && !seen.contains(Optional.<String>empty());
        if (process.isPresent() && isOther) {
          fresh.add(found.getLong(1));
        }
        seen.add(process);
        names.put(found.getLong(1), process);
      }
    }
  }
}
