package dev.evergreen.provenance;

import java.sql.SQLException;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Numbers the processes that the store was, by the facts of its epochs. Of one that the facts do
 * not tell it may be the same as before.
 */
final class Processes {
  private final ReadSession session;

  /** Of each epoch that is known, which process it is. */
  private final NavigableMap<Long, Integer> numbers = new TreeMap<>();

  /** What the last one that was told is called. */
  private Optional<String> last = Optional.empty();

  Processes(ReadSession session) {
    this.session = session;
  }

  /** A number that is higher for a later process. */
  int of(long epoch) throws SQLException {
    if (numbers.isEmpty() || epoch > numbers.lastKey()) {
      readNew();
    }
    var known = numbers.floorEntry(epoch);
    return known == null ? 0 : known.getValue();
  }

  private void readNew() throws SQLException {
    var select = session.statement("select id, facts from epoch where id > ? order by id");
    select.setLong(1, numbers.isEmpty() ? 0 : numbers.lastKey());
    try (var found = select.executeQuery()) {
      while (found.next()) {
        int number = numbers.isEmpty() ? 0 : numbers.lastEntry().getValue();
        var process = StoreKind.process(found.getString(2));
        numbers.put(found.getLong(1), StoreKind.isAnother(last, process) ? number + 1 : number);
        last = process.or(() -> last);
      }
    }
  }
}
