package dev.evergreen.provenance;

import dev.evergreen.provenance.TraceDatabase.RowWriter;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/**
 * Notes which operations could have written which cells: the trace's index on cells. It is written
 * with the rest of a transaction, by {@link #flush}.
 */
final class CellNotes {
  private static final System.Logger LOG = System.getLogger(CellNotes.class.getName());

  /** So many cells are known by heart. */
  private static final int CELLS = 200_000;

  private static final String REMOVE =
      "delete from op_cell where stretch = ? and cell = ? and seq = ?";

  private static final String REMOVE_BELOW =
      "delete from op_below where stretch = ? and cell = ? and seq = ?";

  /** About so many bytes a note takes until it is written, beside its path. */
  private static final int WEIGHT = 250;

  /** That an operation could have written a cell, or one below it. */
  private record Noted(Bytes path, long seq, int kind, int effect) {
    Link link(long cell) {
      return new Link(cell, seq, kind, effect);
    }
  }

  /** The kind of those that could have written something below the cell only. */
  private static final int BELOW = 0;

  /** The same, as a row. */
  private record Link(long cell, long seq, int kind, int effect) implements Comparable<Link> {
    long stretch() {
      return TraceDatabase.stretch(seq);
    }

    @Override
    public int compareTo(Link other) {
      int order = Long.compare(stretch(), other.stretch());
      order = order != 0 ? order : Long.compare(cell, other.cell);
      return order != 0 ? order : Long.compare(seq, other.seq);
    }
  }

  private final TraceDatabase database;
  private final Statements statements;
  private final OpRows rows;
  private final RowWriter newCells;
  private final RowWriter newTouches;
  private final RowWriter newBelow;
  private final Set<String> complained = new HashSet<>();
  private final Map<Bytes, Long> cells =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Bytes, Long> eldest) {
          return size() > CELLS;
        }
      };
  private final List<Noted> noted = new ArrayList<>();
  private final List<Noted> removed = new ArrayList<>();
  private long nextCell;

  /** About how many bytes of memory are spent on what was noted since it was written last. */
  private long weight;

  /** None of which something is noted has a higher row. */
  private long highest;

  CellNotes(TraceDatabase database, Statements statements, OpRows rows) throws SQLException {
    this.database = database;
    this.statements = statements;
    this.rows = rows;
    newCells = database.rows(statements, "cell", 2);
    newTouches = database.rows(statements, "op_cell", 5);
    newBelow = database.rows(statements, "op_below", 3);
    nextCell = statements.number("select max(id) from cell").orElse(0L) + 1;
    highest = statements.number("select seq from trace").orElse(0L);
  }

  /** Which cells the operation could have written, and with what effect. */
  Map<Cell, Touch> strongest(Operation operation) throws SQLException {
    var strongest = new LinkedHashMap<Cell, Touch>();
    for (var touch : touches(operation)) {
      if (touch.writes()) {
        strongest.merge(touch.cell(), touch, CellNotes::stronger);
      }
    }
    return strongest;
  }

  /** Notes what an operation could have written: the strongest of it. */
  void add(Operation operation, Map<Cell, Touch> touches) throws SQLException {
    collect(noted, notes(operation, touches));
  }

  private void collect(List<Noted> collected, List<Noted> notes) {
    collected.addAll(notes);
    for (var note : notes) {
      weight += WEIGHT + note.path().length();
    }
  }

  /** About how many bytes of memory are spent on what is not written yet. */
  long weight() {
    return weight;
  }

  /** Replaces what was noted when the reply was not known. */
  void replace(Operation before, Operation operation, Map<Cell, Touch> now) throws SQLException {
    collect(removed, notes(before, strongest(before)));
    // An older version may have noted of them what today's specification does not say.
    collect(removed, notes(operation, now));
    add(operation, now);
  }

  /**
   * What is noted of an operation: the cells, and of those among the keys or below a key, that
   * something there was touched. So questions about very many cells need not ask for each.
   */
  private List<Noted> notes(Operation operation, Map<Cell, Touch> touches) throws SQLException {
    var notes = new ArrayList<Noted>(2 * touches.size());
    if (touches.isEmpty()) {
      return notes;
    }
    highest = Math.max(highest, operation.row());
    int depth = rows.kind(operation.epoch()).keys(operation.space()).depth();
    var above = new LinkedHashSet<Cell>();
    for (var touch : touches.values()) {
      var cell = touch.cell();
      notes.add(
          new Noted(
              Bytes.of(cell.encoded()),
              operation.row(),
              touch.kind() == Touch.Kind.REPLACES ? 2 : 1,
              code(touch.effect())));
      for (int i = depth; i <= depth + 1 && i < cell.depth(); i++) {
        above.add(cell.ancestor(i));
      }
    }
    for (var cell : above) {
      notes.add(new Noted(Bytes.of(cell.encoded()), operation.row(), BELOW, 0));
    }
    return notes;
  }

  private static Touch stronger(Touch one, Touch two) {
    return rank(two.effect()) > rank(one.effect()) ? two : one;
  }

  private static int rank(Touch.Effect effect) {
    return switch (effect) {
      case NO -> 0;
      case UNKNOWN -> 1;
      case YES -> 2;
    };
  }

  private static int code(Touch.Effect effect) {
    return switch (effect) {
      case NO -> 0;
      case YES -> 1;
      case UNKNOWN -> 2;
    };
  }

  /** What an operation touches; a specification that fails at it is complained of once. */
  List<Touch> touches(Operation operation) throws SQLException {
    return OpRows.touches(rows.kind(operation.epoch()), operation, this::complain);
  }

  private void complain(Specification specification, Throwable why) {
    if (complained.add(specification.store())) {
      LOG.log(
          System.Logger.Level.ERROR,
          "The specification of %s fails; what it fails at counts as a write of unknown effect"
              .formatted(specification.store()),
          why);
    }
  }

  /** The same in the order of the table, with the ids of the cells. */
  private List<Link> links(List<Noted> notes) throws SQLException {
    var links = new ArrayList<Link>(notes.size());
    var others = new ArrayList<Noted>();
    for (var note : notes) {
      var known = cells.get(note.path());
      if (known == null) {
        others.add(note);
      } else {
        links.add(note.link(known));
      }
    }
    var ids = ids(others);
    for (var note : others) {
      links.add(note.link(Objects.requireNonNull(ids.get(note.path()))));
    }
    Collections.sort(links);
    return links;
  }

  /** The ids of the cells, which are made if need be. */
  private Map<Bytes, Long> ids(List<Noted> notes) throws SQLException {
    var unknown = new TreeSet<Bytes>();
    // Apart, since new cells drive out of what is known by heart what was found there.
    var ids = new HashMap<Bytes, Long>();
    for (var note : notes) {
      var id = cells.get(note.path());
      if (id == null) {
        unknown.add(note.path());
      } else {
        ids.put(note.path(), id);
      }
    }
    if (!unknown.isEmpty()) {
      ids.putAll(ids(unknown));
    }
    return ids;
  }

  private Map<Bytes, Long> ids(SortedSet<Bytes> unknown) throws SQLException {
    var ids = database.cells(statements, unknown);
    // In their order, since the index takes neighbours faster than strangers.
    for (var path : unknown) {
      if (!ids.containsKey(path)) {
        newCells.add(nextCell, path.toArray());
        ids.put(path, nextCell++);
      }
    }
    newCells.flush();
    cells.putAll(ids);
    return ids;
  }

  /** Writes what was noted, and takes away what is not so any more. */
  void flush() throws SQLException {
    if (!removed.isEmpty()) {
      for (var link : links(removed)) {
        statements.batch(
            link.kind() == BELOW ? REMOVE_BELOW : REMOVE, link.stretch(), link.cell(), link.seq());
      }
      statements.of(REMOVE).executeBatch();
      statements.of(REMOVE_BELOW).executeBatch();
      removed.clear();
    }
    for (var link : links(noted)) {
      if (link.kind() == BELOW) {
        newBelow.add(link.stretch(), link.cell(), link.seq());
      } else {
        newTouches.add(
            link.stretch(), link.cell(), link.seq(), (long) link.kind(), (long) link.effect());
      }
    }
    newTouches.flush();
    newBelow.flush();
    noted.clear();
    weight = 0;
  }

  /** Takes away what was noted of operations that are removed, and cells that none touches now. */
  void forget(List<Operation> operations) throws SQLException {
    for (var operation : operations) {
      collect(removed, notes(operation, strongest(operation)));
    }
    var touched = ids(removed);
    flush();
    var stretches =
        LongStream.rangeClosed(0, TraceDatabase.stretch(highest))
            .mapToObj(Long::toString)
            .collect(Collectors.joining(", "));
    var delete =
        """
        delete from cell where id = ?
          and not exists (select 1 from op_cell t where t.stretch in (%1$s) and t.cell = ?)
          and not exists (select 1 from op_below t where t.stretch in (%1$s) and t.cell = ?)
        """
            .formatted(stretches);
    var paths = List.copyOf(touched.keySet());
    for (var path : paths) {
      var id = Objects.requireNonNull(touched.get(path));
      statements.batch(delete, id, id, id);
    }
    var counts = statements.of(delete).executeBatch();
    for (int i = 0; i < counts.length; i++) {
      if (counts[i] != 0) {
        cells.remove(paths.get(i));
      }
    }
  }

  /** Notes that these have replaced something that is gone. */
  void noteCovers(Collection<Folding.Cover> covers) throws SQLException {
    var paths = covers.stream().map(cover -> Bytes.of(cover.cell().encoded())).toList();
    var ids = database.cells(statements, new TreeSet<>(paths));
    int next = 0;
    for (var cover : covers) {
      var id = ids.get(paths.get(next++));
      if (id != null) {
        statements.update(
            "update op_cell set kind = %d where stretch = ? and cell = ? and seq = ?"
                .formatted(TraceDatabase.COVERS),
            TraceDatabase.stretch(cover.row()),
            id,
            cover.row());
      }
    }
  }
}
