package dev.evergreen.provenance;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/**
 * A trace in its database, to be read while it is loaded. To be used by one thread, which it
 * blocks; what it reads it reads by indexes, in pages. Methods throw {@link TraceException} if the
 * database cannot be read.
 */
public final class StoredTrace implements Trace, AutoCloseable {
  private static final Duration POLL = Duration.ofMillis(10);
  private static final int PAGE = 256;
  private final @Nullable SpoolEnd spool;
  private final ReadSession session;
  private final Statements statements;
  private final OpRows rows;
  private final OperationReader operations;
  private final CellIndex index;
  private final LongOperations longOnes;
  private final StoredBreaks breaks;
  private final Neighbours neighbours;
  private final Processes processes;
  private final Crossings crossings;

  /** Below that row whatever has replaced something counts as having replaced what is folded. */
  private final long coarse;

  /** Below that row all was sent on one lane, if not on several: asked once, not at each step. */
  private long oneLaneBelow;

  private boolean severalLanes;

  private StoredTrace(TraceDatabase database, @Nullable Path spool) throws SQLException {
    this.spool = spool == null ? null : new SpoolEnd(spool);
    var connection = database.reader();
    try {
      database.checkVersion(connection);
      this.coarse = TraceDatabase.coarse(connection);
    } catch (SQLException | RuntimeException e) {
      connection.close();
      throw e;
    }
    session = new ReadSession(database, connection);
    statements = session.statements();
    rows = new OpRows(statements);
    operations = new OperationReader(session, rows);
    index = new CellIndex(session, rows, operations);
    longOnes = new LongOperations(session, rows, index);
    processes = new Processes(session);
    breaks = new StoredBreaks(session, rows, processes);
    neighbours =
        new Neighbours(
            (cell, before) -> operations.held(index.writersOf(operations.places, cell, before)));
    crossings = new Crossings(session, operations, neighbours, longOnes, this::isOver);
  }

  /**
   * Opens a trace to read it.
   *
   * @param place its directory, or the URL of its database
   * @param patience how long to wait for a recorder that has only begun
   */
  public static StoredTrace open(String place, Duration patience) {
    boolean url = place.startsWith("jdbc:");
    return open(url ? null : Path.of(place), url ? place : "", patience);
  }

  /**
   * Opens a trace to read it, of which the recorder's directory is known, too. What is recorded and
   * not loaded is waited for; what a recorder has left that has ended is loaded first.
   *
   * @param directory the recorder's, or null if it is not known
   * @param url of the database; empty for the file in the directory
   * @param patience how long to wait or load at most
   */
  public static StoredTrace open(@Nullable Path directory, String url, Duration patience) {
    var spool = directory == null ? null : directory.resolve("spool");
    boolean begun = spool != null && Files.exists(spool);
    long deadline = System.nanoTime() + patience.toNanos();
    if (begun && directory != null && !patience.isZero()) {
      loadWhatIsLeft(directory, url, patience);
    }
    while (true) {
      try {
        var place = directory == null ? Path.of("") : directory;
        return new StoredTrace(TraceDatabase.of(place, url), spool);
      } catch (SQLException | TraceException e) {
        if (!begun || System.nanoTime() - deadline >= 0) {
          throw e instanceof TraceException said
              ? said
              : new TraceException(
                  "The trace in %s cannot be opened"
                      .formatted(url.isEmpty() ? directory : TraceDatabase.masked(url)),
                  e);
        }
        LockSupport.parkNanos(POLL.toNanos());
      }
    }
  }

  /** Who may only read answers as of what is loaded. */
  private static void loadWhatIsLeft(Path directory, String url, Duration patience) {
    try {
      Recording.loadWhatIsLeft(directory, url, patience);
    } catch (IOException | TraceException e) {
      System.getLogger(StoredTrace.class.getName())
          .log(System.Logger.Level.DEBUG, "What a recorder has left is not loaded", e);
    }
  }

  /**
   * A client's connection.
   *
   * @param id its number
   * @param client who is known to be there at its last change
   * @param since when it began
   * @param until when it ended, or null
   */
  public record Connected(long id, Client client, Instant since, @Nullable Instant until) {}

  /**
   * How far a trace is loaded.
   *
   * @param row the last row
   * @param at when it was recorded
   * @param rest what had been recorded beyond that when it was asked
   */
  public record Loaded(long row, Instant at, Rest rest) {

    /** Whether all that had been recorded when it was asked is loaded. */
    public boolean whole() {
      return rest == Rest.NONE;
    }
  }

  /** What is recorded beyond what is loaded. */
  public enum Rest {
    /** Nothing. */
    NONE,
    /** Something that is not loaded yet. */
    NOT_LOADED,
    /** Perhaps something: where it is recorded is not known. */
    NOT_KNOWN,
    /** The spool that was named is another one than that of the trace. */
    OF_ANOTHER
  }

  /**
   * Waits until what is recorded at this moment is loaded, if it is on this machine.
   *
   * @param limit how long at most
   */
  public Loaded awaitLoaded(Duration limit) {
    long deadline = System.nanoTime() + limit.toNanos();
    long wanted = spool == null ? 0 : spool.lastNumber();
    while (true) {
      var loaded = loaded(wanted);
      if (spool == null || loaded.rest() == Rest.OF_ANOTHER) {
        return loaded;
      }
      if (!loaded.whole() && !limit.isZero()) {
        Hurry.ask(spool.directory(), wanted);
      }
      if (loaded.whole() || System.nanoTime() - deadline >= 0) {
        return loaded;
      }
      LockSupport.parkNanos(POLL.toNanos());
    }
  }

  /** Asks a loader on this machine to hurry: somebody waits for what is recorded by now. */
  void hurry() {
    if (spool != null) {
      Hurry.ask(spool.directory(), spool.lastNumber());
    }
  }

  /** When what was loaded last was recorded, by the clock of the recorder. */
  Instant reached() {
    return loaded(0).at();
  }

  private Loaded loaded(long wanted) {
    return session.read(
        () -> {
          try (var found = statements.of("select seq, at, spool from trace").executeQuery()) {
            found.next();
            long row = found.getLong(1);
            var rest =
                isAnother(found.getString(3))
                    ? Rest.OF_ANOTHER
                    : spool == null ? Rest.NOT_KNOWN : row >= wanted ? Rest.NONE : Rest.NOT_LOADED;
            return new Loaded(row, OpRows.instant(found.getLong(2)), rest);
          }
        });
  }

  /** Whether the trace is that of another spool: the numbers of one tell nothing of the other. */
  private boolean isAnother(String recorded) {
    var id = spool == null ? "" : spool.id();
    return !id.isEmpty() && !recorded.isEmpty() && !id.equals(recorded);
  }

  /** The operation of a row, with its parts. */
  public Optional<Operation> operation(long row) {
    return session.read(() -> rows.operation(row));
  }

  /**
   * A question of what the store would reply to a request that was never sent.
   *
   * @param before the row of the question, which is above all that it can depend on
   * @param epoch the epoch of that row
   * @param at when, by the recorder's clock; null for now
   */
  public Operation question(
      long before, long epoch, String space, List<Bytes> words, @Nullable Instant at) {
    var skew = session.read(() -> rows.skew(epoch));
    var known = at == null ? now().orElse(null) : at;
    var earliest = known == null ? reached() : known;
    var latest = known == null ? later(earliest, Instant.now()) : null;
    return new Operation(before, epoch, 0, 0, space, earliest, latest, words, null).with(skew);
  }

  /** What the recorder's clock says; empty if nobody can tell. */
  private Optional<Instant> now() {
    return spool == null || loaded(0).rest() == Rest.OF_ANOTHER ? Optional.empty() : spool.now();
  }

  /** By a clock that nobody has compared with the recorder's it is perhaps so late. */
  private static Instant later(Instant reached, Instant now) {
    return now.isAfter(reached) ? now : reached;
  }

  /** The first row that was sent after a moment; one above all if there is none. */
  public long rowAfter(Instant moment) {
    return session.read(
        () -> {
          // Rows are in the order of time, so that the place is found by halving.
          long low = statements.number("select min(seq) from op").orElse(0L);
          long high = statements.number("select max(seq) from op").orElse(0L) + 1;
          var sql = "select seq, sent from op where seq >= ? order by seq limit 1";
          while (low < high) {
            long middle = low + (high - low) / 2;
            try (var found = statements.of(sql, middle).executeQuery()) {
              if (!found.next() || found.getLong(2) > OpRows.nanos(moment)) {
                high = middle;
              } else {
                low = found.getLong(1) + 1;
              }
            }
          }
          return Math.min(low, epochAfter(moment));
        });
  }

  /** The first that began after a moment, of which it therefore knows nothing. */
  private long epochAfter(Instant moment) throws SQLException {
    return statements
        .number("select min(id) from epoch where since > ?", OpRows.nanos(moment))
        .orElse(Long.MAX_VALUE);
  }

  /** The latest epoch below a row: its number, or 0. */
  public long epoch(long before) {
    return session
        .read(() -> statements.number("select max(id) from epoch where id < ?", before))
        .orElse(0L);
  }

  /** The kind of the store in an epoch. */
  public StoreKind kind(long epoch) {
    return session.read(() -> rows.kind(epoch));
  }

  /** Who was at the other end of a connection. */
  public Optional<Connected> connection(long id) {
    return session.read(
        () ->
            statements.first(
                "select %s from connection where id = ?".formatted(CONNECTED),
                StoredTrace::connected,
                id));
  }

  /** The connections of clients of that name, address or user, the latest first, at most 1,000. */
  public List<Connected> connections(String client) {
    return session.read(
        () ->
            statements.all(
                """
                select %s from connection where name = ? or address = ? or user_name = ?
                  or id in (select connection from connection_change
                    where name = ? or user_name = ?)
                order by id desc limit 1000
                """
                    .formatted(CONNECTED),
                StoredTrace::connected,
                client,
                client,
                client,
                client,
                client));
  }

  private static final String CONNECTED = "id, address, name, user_name, protocol, since, until";

  private static Connected connected(ResultSet row) throws SQLException {
    var client = new Client(row.getString(2), row.getString(3), row.getString(4), row.getString(5));
    var since = OpRows.instant(row.getLong(6));
    long until = row.getLong(7);
    return new Connected(
        row.getLong(1), client, since, row.wasNull() ? null : OpRows.instant(until));
  }

  /** What a connection did below a row, the newest first. */
  public Iterator<Operation> ofConnection(long id, long before) {
    return operations.ofConnection(id, before);
  }

  /**
   * What some connections did below a row, the newest first, whichever of them did it. Of each only
   * the numbers of some rows are held.
   */
  public Iterator<Operation> ofConnections(List<Long> ids, long before) {
    var rows = new Merged<>(Long::longValue, ids.stream().map(id -> rowsOf(id, before)).toList());
    return stream(rows).map(this::operation).flatMap(Optional::stream).iterator();
  }

  private Iterator<Long> rowsOf(long connection, long before) {
    return new Pages<>(
        before,
        Long::longValue,
        below ->
            statements.all(
                "select seq from op where connection = ? and seq < ? order by seq desc limit "
                    + PAGE,
                row -> row.getLong(1),
                connection,
                below));
  }

  /** All operations from a row on, in their order; more may come. */
  public List<Operation> from(long row, int most) {
    return session.read(
        () ->
            operations.operations(
                operations.entire,
                "select %s from op where seq >= ? order by seq limit ?"
                    .formatted(OperationReader.COLUMNS),
                row,
                (long) most));
  }

  /** The rows of requests of which the end has not come. */
  SortedSet<Long> coming() {
    return session.read(
        () ->
            new TreeSet<>(
                statements.all(
                    "select first_seq from begun where kind = " + FrameKind.REQUEST.code(),
                    row -> row.getLong(1))));
  }

  /** How many operations there are from a row up to another, exclusive. */
  public long count(long from, long to) {
    return session
        .read(
            () -> statements.number("select count(*) from op where seq >= ? and seq < ?", from, to))
        .orElse(0L);
  }

  /** The last operations, in their order. */
  public List<Operation> last(int most) {
    return session
        .read(
            () ->
                operations.operations(
                    operations.entire,
                    "select %s from op order by seq desc limit ?"
                        .formatted(OperationReader.COLUMNS),
                    (long) most))
        .reversed();
  }

  /**
   * The cells right below one, in their order, that were written or could have been, or that hold
   * such.
   *
   * @param prefix what their names begin with
   * @param after the last of the page before; or null to begin
   */
  public List<Cell> below(Cell parent, Bytes prefix, @Nullable Cell after, int most) {
    return index.below(parent, prefix, after, most);
  }

  /**
   * Something between operations that says how far a history can be trusted.
   *
   * @param row where
   * @param at when; null if that is not known
   * @param kind what it is
   * @param text what is known of it
   */
  public record Mark(long row, @Nullable Instant at, Kind kind, String text) {
    /** What a mark is. */
    public enum Kind {
      /** Another life of the store begins. */
      EPOCH,
      /** Operations are missing. */
      GAP,
      /** Something did not pass the recorder. */
      OUTSIDE,
      /** Of what is older, only what answers need is kept. */
      FOLDED,
      /** What is older was removed. */
      HORIZON
    }
  }

  /** The newest marks of a stretch of rows that concern a cell, the newest first. */
  public List<Mark> marks(Cell cell, long from, long before, int most) {
    return session.read(
        () -> {
          var marks =
              new ArrayList<>(
                  statements.all(
                      "select id, since, server || ' ' || facts from epoch"
                          + " where id >= ? and id < ? order by id desc limit ?",
                      row -> mark(row, Mark.Kind.EPOCH),
                      from,
                      before,
                      (long) most));
          marks.addAll(
              statements.all(
                  "select seq, at, why from gap where seq >= ? and seq < ?"
                      + " order by seq desc limit ?",
                  row -> mark(row, Mark.Kind.GAP),
                  from,
                  before,
                  (long) most));
          outside(cell, from, before, most, marks);
          statements
              .number("select folded from trace where folded > 0 and folded < ?", before)
              .filter(row -> row >= from)
              .ifPresent(row -> marks.add(new Mark(row, null, Mark.Kind.FOLDED, "")));
          statements
              .number("select horizon from trace where horizon > 0 and horizon < ?", before)
              .filter(row -> row >= from)
              .ifPresent(row -> marks.add(new Mark(row, null, Mark.Kind.HORIZON, "")));
          marks.sort(Comparator.comparingLong(Mark::row).reversed());
          return List.copyOf(marks.subList(0, Math.min(most, marks.size())));
        });
  }

  private static Mark mark(ResultSet row, Mark.Kind kind) throws SQLException {
    return new Mark(row.getLong(1), OpRows.instant(row.getLong(2)), kind, row.getString(3));
  }

  private void outside(Cell cell, long from, long before, int most, List<Mark> marks)
      throws SQLException {
    try (var found = breaks.signs(from, before, most).executeQuery()) {
      while (found.next()) {
        if (breaks.cells(found).stream().anyMatch(cell::overlaps)) {
          marks.add(
              new Mark(
                  found.getLong(1),
                  OpRows.instant(found.getLong(4)),
                  Mark.Kind.OUTSIDE,
                  Bytes.of(found.getBytes(3)).text()));
        }
      }
    }
  }

  /** Which store it is in an epoch: the server as its recorder named it. */
  public String server(long epoch) {
    return session
        .read(
            () ->
                statements.first(
                    "select server from epoch where id = ?", row -> row.getString(1), epoch))
        .orElse("");
  }

  @Override
  public <T extends @Nullable Object> T atOnce(Supplier<T> question) {
    return session.atOnce(question, this::forget);
  }

  @Override
  public Trace.Writers writers(Cell cell, long before) {
    return new StoredWriters(session, operations, index, neighbours, cell, before);
  }

  @Override
  public Iterator<Operation> beside(Cell cell, Operation operation) {
    return session.read(
        () -> {
          session.checkTime();
          if (!hasSeveralLanes(operation.row())) {
            return Collections.emptyIterator();
          }
          long row = operation.row();
          var shortOnes =
              new Filtered<>(
                  neighbours.of(cell, row, end(operation)),
                  other -> Orders.unordered(this, operation, other.operation()));
          var others = longOnes.writing(cell, row - TraceDatabase.LONG, row);
          if (!shortOnes.hasNext() && others.isEmpty()) {
            return Collections.emptyIterator();
          }
          return Stream.concat(stream(shortOnes).map(Neighbours.Placed::row), others.stream())
              .map(other -> session.read(() -> operations.whole(other)))
              .flatMap(Optional::stream)
              .filter(other -> Orders.unordered(this, operation, other))
              .iterator();
        });
  }

  /** The trace may be another one than it was at the last question. */
  private void forget() {
    neighbours.forget();
    operations.forget();
    index.forget();
    longOnes.forget();
    breaks.forget();
    processes.forget();
    crossings.forget();
  }

  static <T> Stream<T> stream(Iterator<T> operations) {
    return StreamSupport.stream(
        Spliterators.spliteratorUnknownSize(operations, Spliterator.ORDERED), false);
  }

  @Override
  public boolean isOver(long epoch, long later) {
    return epoch < later && session.read(() -> processes.isOver(epoch, later));
  }

  /** Whether operations of a row, or of those before it, may have been sent on several lanes. */
  private boolean hasSeveralLanes(long row) throws SQLException {
    if (!severalLanes && row >= oneLaneBelow) {
      long loaded = session.loaded();
      severalLanes = statements.any("select 1 from lane limit 1 offset 1");
      oneLaneBelow = loaded;
    }
    return severalLanes;
  }

  @Override
  public long folded() {
    return session.read(() -> statements.number("select folded from trace")).orElse(0L);
  }

  @Override
  public List<Cell> covered(Operation operation) {
    return session.read(
        () -> {
          var covered = new ArrayList<Cell>();
          if (operation.row() >= folded()) {
            return covered;
          }
          for (var touch : touches(operation)) {
            if (Folding.certainlyReplaces(touch) && covers(operation.row(), touch.cell())) {
              covered.add(touch.cell());
            }
          }
          return covered;
        });
  }

  private boolean covers(long row, Cell cell) throws SQLException {
    var id = index.id(cell);
    return statements.any(
        "select 1 from op_cell where stretch = ? and cell = ? and seq = ? and (kind = %d"
                .formatted(TraceDatabase.COVERS)
            + (row < coarse ? " or (kind = 2 and effect = 1))" : ")"),
        TraceDatabase.stretch(row),
        id.orElse(-1L),
        row);
  }

  /**
   * Lets what is asked from now on take so long at most: after that it fails with a {@link
   * TraceException} that says so. Zero for no limit.
   */
  public void allow(Duration limit) {
    session.allow(limit);
  }

  /** Lets whatever is asked, now and from now on, fail soon. By any thread. */
  void giveUp() {
    session.giveUp();
  }

  @Override
  public void checkTime() {
    session.checkTime();
  }

  @Override
  public Optional<Break> lastBreak(Cell cell, long before) {
    return breaks.last(cell, before);
  }

  @Override
  public boolean isCrossed(Break place, Cell cell) {
    return session.read(
        () ->
            hasSeveralLanes(Long.MAX_VALUE)
                && crossings.any(place.row(), epoch(place.row() + 1), cell));
  }

  @Override
  public long end(Operation operation) {
    return operations.end(operation);
  }

  /** What an operation, or its parts, touch; as the loader has counted it. */
  List<Touch> touches(Operation operation) {
    return rows.touches(operation);
  }

  /** About how many bytes are spent on the signs that are known by heart. */
  long outsideKnown() {
    return breaks.outsideKnown();
  }

  @Override
  public void close() {
    session.close();
  }
}
