package dev.evergreen.provenance;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Finds where a trace in its database is not whole. Signs of what did not pass the recorder are
 * known by heart, as a question asks for each cell that it demands.
 */
final class StoredBreaks {
  /** Signs of what did not pass the recorder are known by heart up to so many bytes. */
  static final long MOST_OUTSIDE = 16 << 20;

  private static final int PAGE = 256;
  private static final int FEW = 16;

  private final ReadSession session;
  private final OpRows rows;
  private final Processes processes;

  /** Below some rows; asked once for what one operation demands, which may be very many cells. */
  private final Map<Long, Place> places =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, Place> eldest) {
          return size() > FEW;
        }
      };

  /** Where requests begin and end to be under way that are not on record; asked for a question. */
  private @Nullable NavigableMap<Long, Boolean> drops;

  private final OutsideSigns outside = new OutsideSigns();

  /** Whether there are signs that are older than those that are known. */
  private boolean outsideCut;

  /** Whether all of them that there are to be known are, for a question. */
  private boolean outsideLearnt;

  StoredBreaks(ReadSession session, OpRows rows, Processes processes) {
    this.session = session;
    this.rows = rows;
    this.processes = processes;
  }

  /** The trace may be another one than it was at the last question. */
  void forget() {
    outsideLearnt = false;
    places.clear();
    drops = null;
  }

  /** See {@link Trace#lastBreak}. */
  Optional<Trace.Break> last(Cell cell, long before) {
    return session.read(
        () -> {
          var place = session.isStill() ? places.get(before) : null;
          if (place == null) {
            place = new Place(lastBreakOfAll(before), lastEpoch(before));
            places.put(before, place);
          }
          var outside =
              outside(cell, before).map(row -> new Trace.Break(row, Trace.Break.Kind.OUTSIDE));
          var begun = place.epoch.flatMap(epoch -> epoch.asBreak(cell));
          return Stream.of(outside, place.breakOfAll, begun)
              .flatMap(Optional::stream)
              .max(Comparator.comparingLong(Trace.Break::row));
        });
  }

  /** What is between operations of any cell. */
  private Optional<Trace.Break> lastBreakOfAll(long before) throws SQLException {
    var breaks = new ArrayList<Trace.Break>();
    if (mayBeDropped(before)) {
      breaks.add(new Trace.Break(before - 1, Trace.Break.Kind.GAP));
    }
    session
        .statements()
        .number("select max(seq) from gap where seq < ?", before)
        .ifPresent(row -> breaks.add(new Trace.Break(row, Trace.Break.Kind.GAP)));
    session
        .statements()
        .number("select horizon - 1 from trace where horizon > 0 and horizon <= ?", before)
        .ifPresent(row -> breaks.add(new Trace.Break(row, Trace.Break.Kind.BEGINNING)));
    return breaks.stream().max(Comparator.comparingLong(Trace.Break::row));
  }

  private Optional<Epoch> lastEpoch(long before) throws SQLException {
    var sql = "select id, facts from epoch where id < ? order by id desc limit 2";
    try (var found = session.statements().of(sql, before).executeQuery()) {
      if (!found.next()) {
        return Optional.empty();
      }
      long id = found.getLong(1);
      var facts = found.getString(2);
      boolean first = !found.next();
      return Optional.of(
          new Epoch(id, facts, rows.kind(id), first, first || processes.isFresh(id)));
    }
  }

  /**
   * What is the newest below a row.
   *
   * @param breakOfAll the break of all cells
   * @param epoch the epoch that began there
   */
  private record Place(Optional<Trace.Break> breakOfAll, Optional<Epoch> epoch) {}

  /**
   * A stretch of the store's life.
   *
   * @param first whether the record begins with it
   * @param another whether the store certainly is another process than ever before. If it may be
   *     the same, what was done before is a cause of its having nothing.
   */
  private record Epoch(long id, String facts, StoreKind kind, boolean first, boolean another) {
    /** What its beginning is for a cell; nothing, if there is nothing before. */
    Optional<Trace.Break> asBreak(Cell cell) {
      boolean empty = another && kind.wasEmpty(facts, cell);
      var what = empty ? Trace.Break.Kind.EMPTY : Trace.Break.Kind.BEGINNING;
      return empty && first ? Optional.empty() : Optional.of(new Trace.Break(id, what));
    }
  }

  /**
   * Whether something that is not on record may have taken effect right before a row, whatever was
   * recorded before: it had no room, and was not over. So may a request of which only the end had
   * none, until its reply is there.
   */
  private boolean mayBeDropped(long before) throws SQLException {
    if (!session.isStill() || drops == null) {
      drops = readDrops();
    }
    var last = drops.lowerEntry(before);
    return last != null && last.getValue();
  }

  /** From which rows on something that was dropped may still take effect, and from which not. */
  private NavigableMap<Long, Boolean> readDrops() throws SQLException {
    var found = new TreeMap<Long, Boolean>();
    session
        .statements()
        .each(
            "select seq, why from gap where %s order by seq".formatted(Dropped.THESE),
            gap -> {
              boolean underWay = Dropped.of(gap.getString(2)).mayTakeEffect();
              var before = found.lastEntry();
              if (underWay != (before != null && before.getValue())) {
                found.put(gap.getLong(1), underWay);
              }
            });
    session
        .statements()
        .number(
            "select min(first_seq) from begun where kind = %d and first_seq < ?"
                    .formatted(FrameKind.REQUEST.code())
                + " and first_seq < (select max(seq) from gap where %s)".formatted(Dropped.THESE),
            Long.MAX_VALUE)
        .ifPresent(
            first -> {
              found.tailMap(first, true).clear();
              found.put(first, true);
            });
    return found;
  }

  private Optional<Long> outside(Cell cell, long before) throws SQLException {
    if (!session.isStill() || !outsideLearnt) {
      learnOutside();
      outsideLearnt = true;
    }
    var known = outside.last(cell, before);
    if (known.isPresent() || !outsideCut) {
      return known;
    }
    var older = signs(0, Math.min(before, outside.first()), Integer.MAX_VALUE);
    try (var found = older.executeQuery()) {
      while (found.next()) {
        session.checkTime();
        if (cells(found).stream().anyMatch(cell::overlaps)) {
          return Optional.of(found.getLong(1));
        }
      }
      return Optional.empty();
    }
  }

  /** About how many bytes are spent on the signs that are known by heart. */
  long outsideKnown() {
    return outside.weight();
  }

  /** Reads the signs that are new; if there are too many, the newest of all. */
  private void learnOutside() throws SQLException {
    if (outside.weight() > 2 * MOST_OUTSIDE) {
      outside.clear();
      outsideCut = false;
    }
    long weight = 0;
    var signs = new ArrayDeque<Runnable>();
    try (var found = signs(outside.next(), Long.MAX_VALUE, Integer.MAX_VALUE).executeQuery()) {
      while (weight < MOST_OUTSIDE && found.next()) {
        session.checkTime();
        long row = found.getLong(1);
        var cells = cells(found);
        weight += OutsideSigns.weight(cells);
        signs.addFirst(() -> outside.add(row, cells));
      }
    }
    if (weight >= MOST_OUTSIDE) {
      // Those between may not have been read.
      outside.clear();
      outsideCut = true;
    }
    signs.forEach(Runnable::run);
  }

  /** The signs of some rows, the newest first. */
  PreparedStatement signs(long from, long before, int most) throws SQLException {
    var select =
        session
            .statements()
            .of(
                "select seq, epoch, evidence, at from outside where seq >= ? and seq < ?"
                    + " order by seq desc limit ?",
                from,
                before,
                (long) most);
    // Else PostgreSQL's driver would bring all of them into memory first.
    select.setFetchSize(PAGE);
    return select;
  }

  /** What may have been written of which there is a sign. */
  List<Cell> cells(ResultSet sign) throws SQLException {
    return rows.kind(sign.getLong(2)).outside(Bytes.of(sign.getBytes(3)));
  }
}
