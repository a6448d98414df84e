package dev.evergreen.provenance;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.SortedSet;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/**
 * A trace in its database, to be read while it is loaded. To be used by one thread, which it
 * blocks; what it reads it reads by indexes, in pages. Methods throw {@link TraceException} if the
 * database cannot be read.
 */
public final class StoredTrace implements Trace, AutoCloseable {
  /** Below and above so many cells, their pages are merged; else operations are looked through. */
  private static final int MOST_CELLS = 64;

  /** Tables of what operations touch: the cells themselves, and that something below them is. */
  private static final String OWN = "op_cell";

  private static final String BELOW = "op_below";

  private static final String TOUCHING =
      "select %s from %s t join op on op.seq = t.seq where t.stretch = ? and t.cell = ?"
          + " and t.seq < ? order by t.seq desc limit ?";

  private static final int MOST_KNOWN = 10_000;

  /** Signs of what did not pass the recorder are known by heart up to so many bytes. */
  static final long MOST_OUTSIDE = 16 << 20;

  /** With so many bytes of bodies a page ends. */
  static final long MOST_BYTES = 16 << 20;

  /** What is held of operations has fewer bytes. */
  private static final long SMALL = 4_096;

  /** So many are held of those that have more. */
  private static final int MOST_LARGE = 4;

  /** So many operations are held: more than a walk looks ahead. */
  private static final int HELD = 2 * (int) TraceDatabase.LONG;

  private static final String END = TraceDatabase.END;
  private static final String COLUMNS = OpRows.COLUMNS + ", " + END;
  private static final Duration POLL = Duration.ofMillis(10);
  private static final int PAGE = 256;
  private static final int FIRST_PAGE = 16;
  private static final int LARGEST_PAGE = 1_024;

  /** Of what a window looks ahead, as there may be many windows, each with a page of its own. */
  private static final int LARGEST_PAGE_AHEAD = 128;

  private final TraceDatabase database;
  private final @Nullable SpoolEnd spool;
  private final Connection connection;
  private final OpRows rows;

  /** Below that row whatever has replaced something counts as having replaced what is folded. */
  private final long coarse;

  private final Map<String, PreparedStatement> statements = new HashMap<>();

  /** What some long operations could have written: each question asks for the same ones. */
  private final Map<Long, List<Cell>> written = new HashMap<>();

  /** The long operations, if they are few; asked once for a question. */
  private Optional<LongOnes> longOnes = Optional.empty();

  /** Who touches cells that have very many below them: the same for each of these. */
  private final Map<Cell, Few> aboveMany = new HashMap<>();

  /** The newest break of all cells below some row; asked once for what one operation demands. */
  private Optional<Break> breakOfAll = Optional.empty();

  private long breakBefore = -1;

  /** Asked once for a question. */
  private Optional<FirstEpoch> firstEpoch = Optional.empty();

  /** Where requests begin and end to be under way that are not on record; asked for a question. */
  private @Nullable NavigableMap<Long, Boolean> drops;

  /** Whether nothing comes or goes at present, for a question. */
  private boolean still;

  private final Neighbours neighbours =
      new Neighbours((cell, before) -> held(writersOf(new OfPlaces(), cell, before)));

  /** Where operations end that were read lately, each at the place of its row. */
  private final long[] endRows = new long[HELD];

  private final long[] ends = new long[HELD];

  /** Small ones that were read lately, each at the place of its row. */
  private final @Nullable Operation[] near = new @Nullable Operation[HELD];

  /** An operation, and how many bytes it has, which takes long to count. */
  private record Large(Operation operation, long bytes) {}

  /** Large ones that were read lately, for a question. */
  private final Map<Long, Large> large =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, Large> eldest) {
          return size() > MOST_LARGE;
        }
      };

  /** Below that row all was sent on one lane, if not on several: asked once, not at each step. */
  private long oneLaneBelow;

  private boolean severalLanes;

  private final OutsideSigns outside = new OutsideSigns();

  /** Whether there are signs that are older than those that are known. */
  private boolean outsideCut;

  /** Whether all of them that there are to be known are, for a question. */
  private boolean outsideLearnt;

  /** How long a question may take, or zero for any time; and until when. */
  private Duration allowed = Duration.ZERO;

  private long deadline;

  /** Whether nobody wants an answer any more. */
  private volatile boolean givenUp;

  private StoredTrace(TraceDatabase database, @Nullable Path spool) throws SQLException {
    this.database = database;
    this.spool = spool == null ? null : new SpoolEnd(spool);
    this.connection = database.reader();
    try {
      database.checkVersion(connection);
      this.rows = new OpRows(connection);
      this.coarse = TraceDatabase.coarse(connection);
    } catch (SQLException | RuntimeException e) {
      connection.close();
      throw e;
    }
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
   * @param whole whether all that had been recorded when it was asked is loaded
   */
  public record Loaded(long row, Instant at, boolean whole) {}

  /** Reads from the database; turns its exceptions. */
  private interface Reading<T> {
    T read() throws SQLException;
  }

  private <T> T read(Reading<T> reading) {
    try {
      return reading.read();
    } catch (SQLException e) {
      throw new TraceException("The trace in %s cannot be read".formatted(database), e);
    }
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
      if (spool != null && !loaded.whole() && !limit.isZero()) {
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
    return read(
        () -> {
          try (var found = statement("select seq, at from trace").executeQuery()) {
            found.next();
            return new Loaded(
                found.getLong(1), OpRows.instant(found.getLong(2)), found.getLong(1) >= wanted);
          }
        });
  }

  /** The operation of a row, with its parts. */
  public Optional<Operation> operation(long row) {
    return read(() -> rows.operation(row));
  }

  /** The first row that was sent after a moment; one above all if there is none. */
  public long rowAfter(Instant moment) {
    return read(
        () -> {
          // Rows are in the order of time, so that the place is found by halving.
          long low = number("select coalesce(min(seq), 0) from op");
          long high = number("select coalesce(max(seq), 0) + 1 from op");
          var select = statement("select seq, sent from op where seq >= ? order by seq limit 1");
          while (low < high) {
            long middle = low + (high - low) / 2;
            select.setLong(1, middle);
            try (var found = select.executeQuery()) {
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
    var select = statement("select min(id) from epoch where since > ?");
    select.setLong(1, OpRows.nanos(moment));
    try (var found = select.executeQuery()) {
      found.next();
      long id = found.getLong(1);
      return found.wasNull() ? Long.MAX_VALUE : id;
    }
  }

  /** The latest epoch below a row: its number, or 0. */
  public long epoch(long before) {
    return read(
        () -> {
          var select = statement("select coalesce(max(id), 0) from epoch where id < ?");
          select.setLong(1, before);
          try (var found = select.executeQuery()) {
            found.next();
            return found.getLong(1);
          }
        });
  }

  /** The kind of the store in an epoch. */
  public StoreKind kind(long epoch) {
    return read(() -> rows.kind(epoch));
  }

  /** Who was at the other end of a connection. */
  public Optional<Connected> connection(long id) {
    return read(
        () -> {
          var select = statement("select %s from connection where id = ?".formatted(CONNECTED));
          select.setLong(1, id);
          return connected(select).stream().findFirst();
        });
  }

  /** The connections of clients of that name, address or user, the latest first, at most 1,000. */
  public List<Connected> connections(String client) {
    return read(
        () -> {
          var select =
              statement(
                  """
                  select %s from connection where name = ? or address = ? or user_name = ?
                    or id in (select connection from connection_change
                      where name = ? or user_name = ?)
                  order by id desc limit 1000
                  """
                      .formatted(CONNECTED));
          for (int i = 1; i <= 5; i++) {
            select.setString(i, client);
          }
          return connected(select);
        });
  }

  private static final String CONNECTED = "id, address, name, user_name, protocol, since, until";

  private static List<Connected> connected(PreparedStatement select) throws SQLException {
    var all = new ArrayList<Connected>();
    try (var found = select.executeQuery()) {
      while (found.next()) {
        long until = found.getLong(7);
        all.add(
            new Connected(
                found.getLong(1),
                new Client(
                    found.getString(2), found.getString(3), found.getString(4), found.getString(5)),
                OpRows.instant(found.getLong(6)),
                found.wasNull() ? null : OpRows.instant(until)));
      }
    }
    return all;
  }

  /** What a connection did below a row, the newest first. */
  public Iterator<Operation> ofConnection(long id, long before) {
    return operations(
        before,
        "select %s from op where connection = ? and seq < ? order by seq desc limit %d"
            .formatted(COLUMNS, PAGE),
        id);
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
    return new Pages<>(before) {
      @Override
      List<Long> page(long below) throws SQLException {
        var select =
            statement(
                "select seq from op where connection = ? and seq < ? order by seq desc limit "
                    + PAGE);
        select.setLong(1, connection);
        select.setLong(2, below);
        var rows = new ArrayList<Long>();
        try (var found = select.executeQuery()) {
          while (found.next()) {
            rows.add(found.getLong(1));
          }
        }
        return rows;
      }

      @Override
      long row(Long row) {
        return row;
      }
    };
  }

  /** All operations from a row on, in their order; more may come. */
  public List<Operation> from(long row, int most) {
    return read(
        () -> {
          var select =
              statement("select %s from op where seq >= ? order by seq limit ?".formatted(COLUMNS));
          select.setLong(1, row);
          select.setInt(2, most);
          return operations(new OfOperations(), select);
        });
  }

  /** The rows of requests of which the end has not come. */
  SortedSet<Long> coming() {
    return read(
        () -> {
          var rows = new TreeSet<Long>();
          var select =
              statement("select first_seq from begun where kind = " + FrameKind.REQUEST.code());
          try (var found = select.executeQuery()) {
            while (found.next()) {
              rows.add(found.getLong(1));
            }
          }
          return rows;
        });
  }

  /** How many operations there are from a row up to another, exclusive. */
  public long count(long from, long to) {
    return read(
        () -> {
          var select = statement("select count(*) from op where seq >= ? and seq < ?");
          select.setLong(1, from);
          select.setLong(2, to);
          try (var found = select.executeQuery()) {
            found.next();
            return found.getLong(1);
          }
        });
  }

  /** The last operations, in their order. */
  public List<Operation> last(int most) {
    return read(
        () -> {
          var select = statement("select %s from op order by seq desc limit ?".formatted(COLUMNS));
          select.setInt(1, most);
          return operations(new OfOperations(), select).reversed();
        });
  }

  /**
   * The cells right below one, in their order, that were written or could have been, or that hold
   * such.
   *
   * @param prefix what their names begin with
   * @param after the last of the page before; or null to begin
   */
  public List<Cell> below(Cell parent, Bytes prefix, @Nullable Cell after, int most) {
    return read(
        () -> {
          var found = new ArrayList<Cell>();
          int depth = parent.path().size();
          var first = parent.child(prefix).encoded();
          // Without the two bytes that end the name.
          var from = after == null ? Arrays.copyOf(first, first.length - 2) : after.end();
          var select = statement(database.cellsBetween("path") + " limit 1");
          while (found.size() < most) {
            select.setBytes(1, from);
            select.setBytes(2, parent.end());
            var path = path(select);
            if (path == null) {
              break;
            }
            var cell = Cell.decode(path);
            if (cell.path().size() > depth) {
              cell = cell.ancestor(depth + 1);
              if (!cell.name().startsWith(prefix)) {
                break;
              }
              found.add(cell);
              from = cell.end();
            } else {
              // The parent itself, which comes first.
              from = Arrays.copyOf(path, path.length + 1);
            }
          }
          return found;
        });
  }

  private static byte @Nullable [] path(PreparedStatement select) throws SQLException {
    try (var row = select.executeQuery()) {
      return row.next() ? row.getBytes(1) : null;
    }
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
    return read(
        () -> {
          var marks = new ArrayList<Mark>();
          marks(
              "select id, since, server || ' ' || facts from epoch where id >= ? and id < ?"
                  + " order by id desc limit ?",
              Mark.Kind.EPOCH,
              from,
              before,
              most,
              marks);
          marks(
              "select seq, at, why from gap where seq >= ? and seq < ? order by seq desc limit ?",
              Mark.Kind.GAP,
              from,
              before,
              most,
              marks);
          outside(cell, from, before, most, marks);
          last("select folded from trace where folded > 0 and folded < ?", before)
              .filter(row -> row >= from)
              .ifPresent(row -> marks.add(new Mark(row, null, Mark.Kind.FOLDED, "")));
          last("select horizon from trace where horizon > 0 and horizon < ?", before)
              .filter(row -> row >= from)
              .ifPresent(row -> marks.add(new Mark(row, null, Mark.Kind.HORIZON, "")));
          marks.sort(Comparator.comparingLong(Mark::row).reversed());
          return List.copyOf(marks.subList(0, Math.min(most, marks.size())));
        });
  }

  private void marks(String sql, Mark.Kind kind, long from, long before, int most, List<Mark> marks)
      throws SQLException {
    var select = statement(sql);
    select.setLong(1, from);
    select.setLong(2, before);
    select.setInt(3, most);
    try (var found = select.executeQuery()) {
      while (found.next()) {
        marks.add(
            new Mark(found.getLong(1), OpRows.instant(found.getLong(2)), kind, found.getString(3)));
      }
    }
  }

  private void outside(Cell cell, long from, long before, int most, List<Mark> marks)
      throws SQLException {
    try (var found = outsideSigns(from, before, most).executeQuery()) {
      while (found.next()) {
        if (outside(found).stream().anyMatch(cell::overlaps)) {
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
    return read(
        () -> {
          var select = statement("select server from epoch where id = ?");
          select.setLong(1, epoch);
          try (var found = select.executeQuery()) {
            return found.next() ? found.getString(1) : "";
          }
        });
  }

  /** Meanwhile the database keeps what is removed. */
  @Override
  public <T extends @Nullable Object> T atOnce(Supplier<T> question) {
    if (!read(connection::getAutoCommit)) {
      return question.get();
    }
    forget();
    read(
        () -> {
          connection.setAutoCommit(false);
          return true;
        });
    still = true;
    T answer;
    try {
      answer = question.get();
    } catch (RuntimeException | Error e) {
      try {
        endAtOnce();
      } catch (RuntimeException | Error more) {
        e.addSuppressed(more);
      }
      throw e;
    }
    endAtOnce();
    return answer;
  }

  private void endAtOnce() {
    read(
        () -> {
          try {
            connection.rollback();
          } finally {
            still = false;
            connection.setAutoCommit(true);
            forget();
          }
          return true;
        });
  }

  @Override
  public Trace.Writers writers(Cell cell, long before) {
    return new Writers(cell, before);
  }

  /**
   * Those that touch a cell. What was read to see what is beside others is not read once more: a
   * walk that asks for that at each of its steps reads a history once.
   */
  private final class Writers implements Trace.Writers {
    private final Cell cell;
    private long before;
    private @Nullable Iterator<Operation> rest;

    /** The row of the next one, or 0 if it was not looked for. */
    private long row;

    /** The next one, if it was read. */
    private @Nullable Operation next;

    Writers(Cell cell, long before) {
      this.cell = cell;
      this.before = before;
    }

    @Override
    public long row() {
      if (row == 0) {
        read(
            () -> {
              find();
              return true;
            });
      }
      return row;
    }

    private void find() throws SQLException {
      row = neighbours.below(cell, before);
      if (row > 0) {
        rest = null;
        return;
      }
      if (rest == null) {
        rest = writersOf(new OfTurns(), cell, before);
      }
      if (rest.hasNext()) {
        var place = rest.next();
        row = place.row();
        next = place.request().isEmpty() ? null : place;
      }
    }

    @Override
    public void skip() {
      before = row();
      row = 0;
      next = null;
    }

    @Override
    public boolean hasNext() {
      while (next == null && row() > 0) {
        next = read(() -> whole(row)).orElse(null);
        if (next == null) {
          // It is not there any more.
          skip();
        }
      }
      return next != null;
    }

    @Override
    public Operation next() {
      if (!hasNext() || next == null) {
        throw new NoSuchElementException();
      }
      var found = next;
      skip();
      return found;
    }
  }

  @Override
  public Iterator<Operation> beside(Cell cell, Operation operation) {
    return read(
        () -> {
          checkTime();
          if (!hasSeveralLanes(operation.row())) {
            return Collections.emptyIterator();
          }
          long row = operation.row();
          var shortOnes =
              new Filtered<>(
                  neighbours.of(cell, row, end(operation)),
                  other -> Orders.unordered(operation, other.operation()));
          var others = longOnes(row - TraceDatabase.LONG, row);
          if (!shortOnes.hasNext() && others.isEmpty()) {
            return Collections.emptyIterator();
          }
          return Stream.concat(
                  stream(shortOnes).map(Neighbours.Placed::row),
                  others.stream().filter(other -> written(other).stream().anyMatch(cell::overlaps)))
              .map(other -> read(() -> whole(other)))
              .flatMap(Optional::stream)
              .filter(other -> Orders.unordered(operation, other))
              .iterator();
        });
  }

  /**
   * The same without what was said. That is held of each when its turn comes, and not for a whole
   * page: what is near to a row then has a place of its own.
   */
  private Iterator<Neighbours.Placed> held(Iterator<Neighbours.Placed> read) {
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return read.hasNext();
      }

      @Override
      public Neighbours.Placed next() {
        var next = read.next();
        end(next.row(), next.end());
        if (!next.operation().request().isEmpty()) {
          hold(next.operation());
        }
        return new Neighbours.Placed(next.operation().place(), next.end());
      }
    };
  }

  private void hold(Operation operation) {
    if (operation.bytes() < SMALL) {
      near[held(operation.row())] = operation;
    }
  }

  /** The place of a row: those that are near to each other have different ones. */
  private static int held(long row) {
    return (int) row & (HELD - 1);
  }

  /** The trace may be another one than it was at the last question. */
  private void forget() {
    neighbours.forget();
    Arrays.fill(near, null);
    written.clear();
    longOnes = Optional.empty();
    aboveMany.clear();
    large.clear();
    outsideLearnt = false;
    breakBefore = -1;
    firstEpoch = Optional.empty();
    drops = null;
  }

  static <T> Stream<T> stream(Iterator<T> operations) {
    return StreamSupport.stream(
        Spliterators.spliteratorUnknownSize(operations, Spliterator.ORDERED), false);
  }

  /** The cells that a long operation could have written. */
  private List<Cell> written(long row) {
    if (written.size() > MOST_KNOWN) {
      written.clear();
    }
    return written.computeIfAbsent(
        row,
        _ ->
            operation(row).stream()
                .flatMap(operation -> touches(operation).stream())
                .filter(Touch::writes)
                .map(Touch::cell)
                .toList());
  }

  /** Whether operations of a row, or of those before it, may have been sent on several lanes. */
  private boolean hasSeveralLanes(long row) throws SQLException {
    if (!severalLanes && row >= oneLaneBelow) {
      long loaded = number("select seq from trace");
      try (var found = statement("select 1 from lane limit 1 offset 1").executeQuery()) {
        severalLanes = found.next();
      }
      oneLaneBelow = loaded;
    }
    return severalLanes;
  }

  @Override
  public long end(Operation operation) {
    return operation.isAsked()
        ? operation.row()
        : read(
            () -> {
              checkTime();
              int place = held(operation.row());
              if (endRows[place] == operation.row()) {
                return ends[place];
              }
              var select = statement("select %s from op where seq = ?".formatted(END));
              select.setLong(1, operation.row());
              try (var found = select.executeQuery()) {
                return found.next() ? found.getLong(1) : operation.row();
              }
            });
  }

  /** The end of an operation of a row that was read; once it is known it stays so. */
  private long end(long row, long end) {
    if (end < Long.MAX_VALUE) {
      endRows[held(row)] = row;
      ends[held(row)] = end;
    }
    return end;
  }

  /**
   * The long operations, the highest row first.
   *
   * @param highest of each the highest end of it and those after it
   */
  private record LongOnes(long[] rows, long[] ends, long[] highest, boolean cut) {
    /** Those below a row that end above another. */
    List<Long> find(long below, long at) {
      if (rows.length == 0) {
        return List.of();
      }
      var found = new ArrayList<Long>();
      for (int i = firstBelow(below); i < rows.length && highest[i] > at; i++) {
        if (ends[i] > at) {
          found.add(rows[i]);
        }
      }
      return found;
    }

    private int firstBelow(long row) {
      int low = 0;
      int high = rows.length;
      while (low < high) {
        int middle = (low + high) >>> 1;
        if (rows[middle] >= row) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      return low;
    }
  }

  /** The long operations below a row that were under way at another, or that have no end. */
  private List<Long> longOnes(long below, long at) throws SQLException {
    if (longOnes.isEmpty()) {
      longOnes = Optional.of(readLongOnes());
    }
    var known = longOnes.get();
    long end = Math.min(at, Long.MAX_VALUE - 1);
    return known.cut() ? askLongOnes(below, end) : known.find(below, end);
  }

  private LongOnes readLongOnes() throws SQLException {
    var select =
        statement(
            "select seq, %s from op where %s and outcome <> %d order by seq desc limit %d"
                .formatted(END, TraceDatabase.longer(), Outcome.NOT_SENT.code(), MOST_KNOWN + 1));
    var rows = LongStream.builder();
    var ends = LongStream.builder();
    try (var found = select.executeQuery()) {
      while (found.next()) {
        rows.add(found.getLong(1));
        ends.add(found.getLong(2));
      }
    }
    var end = ends.build().toArray();
    var highest = end.clone();
    for (int i = highest.length - 2; i >= 0; i--) {
      highest[i] = Math.max(highest[i], highest[i + 1]);
    }
    return new LongOnes(rows.build().toArray(), end, highest, end.length > MOST_KNOWN);
  }

  private List<Long> askLongOnes(long below, long at) throws SQLException {
    var select =
        statement(
            "select seq from op where %s and seq < ? and %s > ? and outcome <> %d order by seq desc"
                .formatted(TraceDatabase.longer(), END, Outcome.NOT_SENT.code()));
    select.setLong(1, below);
    select.setLong(2, at);
    var rows = new ArrayList<Long>();
    try (var found = select.executeQuery()) {
      while (found.next()) {
        rows.add(found.getLong(1));
      }
    }
    return rows;
  }

  /** What is read of operations. */
  private interface Shape<T> {
    String columns();

    T read(ResultSet row) throws SQLException;

    T of(Operation operation);

    Operation operation(T element);

    /** So many are read together at most. */
    int largestPage();
  }

  /** All of them. */
  private final class OfOperations implements Shape<Operation> {
    @Override
    public String columns() {
      return COLUMNS;
    }

    @Override
    public Operation read(ResultSet row) throws SQLException {
      // Many cells may have the same writers: each of these is read once.
      var known = still ? large.get(row.getLong(1)) : null;
      if (known != null) {
        return known.operation();
      }
      var operation = rows.read(row);
      end(operation.row(), row.getLong(15));
      holdLarge(operation);
      return operation;
    }

    @Override
    public Operation of(Operation operation) {
      return operation;
    }

    @Override
    public Operation operation(Operation element) {
      return element;
    }

    @Override
    public int largestPage() {
      return LARGEST_PAGE;
    }
  }

  /** Small ones whole; of others only the one whose turn it is, by {@link #whole}. */
  private final class OfTurns implements Shape<Operation> {
    @Override
    public String columns() {
      return OpRows.SMALL_COLUMNS + ", " + END;
    }

    @Override
    public Operation read(ResultSet row) throws SQLException {
      var operation = rows.readSmall(row);
      end(operation.row(), row.getLong(15));
      return of(operation);
    }

    @Override
    public Operation of(Operation operation) {
      return operation.bytes() < SMALL ? operation : operation.place();
    }

    @Override
    public Operation operation(Operation element) {
      return element;
    }

    @Override
    public int largestPage() {
      return LARGEST_PAGE;
    }
  }

  /** The operation of a row, with what was said; empty if it has gone meanwhile. */
  private Optional<Operation> whole(long row) throws SQLException {
    checkTime();
    var near = this.near[held(row)];
    if (near != null && near.row() == row) {
      return Optional.of(near);
    }
    // Many cells may have the same writers: each of these is read once.
    var known = still ? large.get(row) : null;
    if (known != null) {
      return Optional.of(known.operation());
    }
    var found = rows.operation(row);
    found.ifPresent(this::hold);
    found.ifPresent(this::holdLarge);
    return found;
  }

  private void holdLarge(Operation operation) {
    long bytes = still ? operation.bytes() : 0;
    if (bytes >= SMALL) {
      large.put(operation.row(), new Large(operation, bytes));
    }
  }

  /** Where they are among others; small ones whole. */
  private final class OfPlaces implements Shape<Neighbours.Placed> {
    @Override
    public String columns() {
      return OpRows.SMALL_COLUMNS + ", " + END;
    }

    @Override
    public Neighbours.Placed read(ResultSet row) throws SQLException {
      return new Neighbours.Placed(rows.readSmall(row), row.getLong(15));
    }

    @Override
    public Neighbours.Placed of(Operation operation) {
      return new Neighbours.Placed(operation, end(operation));
    }

    @Override
    public Operation operation(Neighbours.Placed element) {
      return element.operation();
    }

    @Override
    public int largestPage() {
      return LARGEST_PAGE_AHEAD;
    }
  }

  private <T> Iterator<T> writersOf(Shape<T> shape, Cell cell, long before) throws SQLException {
    var iterators = new ArrayList<Iterator<T>>();
    for (var above : cell.ancestors()) {
      touchingAbove(shape, above, before).ifPresent(iterators::add);
    }
    iterators.addAll(within(shape, cell, before));
    return iterators.size() == 1
        ? iterators.getFirst()
        : new Merged<>(one -> shape.operation(one).row(), iterators);
  }

  /** Those that touch the cell or one below it. */
  private <T> List<Iterator<T>> within(Shape<T> shape, Cell cell, long before) throws SQLException {
    var iterators = new ArrayList<Iterator<T>>();
    var ids = cells(cell);
    if (ids.size() <= MOST_CELLS) {
      for (long id : ids) {
        iterators.add(touching(shape, OWN, id, before));
      }
      return iterators;
    }
    touching(shape, cell, before).ifPresent(iterators::add);
    var noted = notedBelow(shape, cell, before);
    if (noted.isPresent()) {
      iterators.add(noted.get());
      return iterators;
    }
    var children = below(cell, Bytes.EMPTY, null, MOST_CELLS + 1);
    if (children.size() > MOST_CELLS) {
      return List.of(stream(lookedThrough(cell, before)).map(shape::of).iterator());
    }
    for (var child : children) {
      iterators.addAll(within(shape, child, before));
    }
    return iterators;
  }

  /**
   * What the loader has noted of the very many cells below one: of a cell inside a key, it is noted
   * of the key. Empty for a cell above the keys.
   */
  private <T> Optional<Iterator<T>> notedBelow(Shape<T> shape, Cell cell, long before)
      throws SQLException {
    for (int depth = cell.path().size(); depth >= 0; depth--) {
      var id = id(cell.ancestor(depth));
      if (id.isPresent() && isNoted(id.get())) {
        if (depth == cell.path().size()) {
          return Optional.of(touching(shape, BELOW, id.get(), before));
        }
        var noted = touching(new OfOperations(), BELOW, id.get(), before);
        var those = new Filtered<>(noted, operation -> couldWrite(operation, cell));
        return Optional.of(stream(those).map(shape::of).iterator());
      }
    }
    return Optional.empty();
  }

  private boolean isNoted(long cell) throws SQLException {
    var select = statement("select 1 from op_below where stretch = ? and cell = ? limit 1");
    for (long stretch = lastStretch(); stretch >= 0; stretch--) {
      select.setLong(1, stretch);
      select.setLong(2, cell);
      try (var found = select.executeQuery()) {
        if (found.next()) {
          return true;
        }
      }
    }
    return false;
  }

  private long lastStretch() throws SQLException {
    return TraceDatabase.stretch(number("select seq from trace"));
  }

  /** The ids of the cell and those below it; more than enough if there are too many. */
  private List<Long> cells(Cell cell) throws SQLException {
    var ids = new ArrayList<Long>();
    var range = statement(database.cellsBetween("id") + " limit " + (MOST_CELLS + 1));
    range.setBytes(1, cell.encoded());
    range.setBytes(2, cell.end());
    try (var found = range.executeQuery()) {
      while (found.next()) {
        ids.add(found.getLong(1));
      }
    }
    return ids;
  }

  /** Those that touch the cell itself; empty if none ever did. */
  private <T> Optional<Iterator<T>> touching(Shape<T> shape, Cell cell, long before)
      throws SQLException {
    return id(cell).map(id -> touching(shape, OWN, id, before));
  }

  /**
   * All that touch a cell itself, as a rule few.
   *
   * @param before their rows are below this one
   * @param all empty if they are many
   */
  private record Few(long before, Optional<List<Operation>> all) {}

  /** The same of a cell above others, about each of which it is asked. */
  private <T> Optional<Iterator<T>> touchingAbove(Shape<T> shape, Cell cell, long before)
      throws SQLException {
    if (!still) {
      return touching(shape, cell, before);
    }
    var known = aboveMany.get(cell);
    if (known == null || known.before() < before) {
      known = new Few(before, few(cell, before));
      if (aboveMany.size() > MOST_KNOWN) {
        aboveMany.clear();
      }
      aboveMany.put(cell, known);
    }
    if (known.all().isEmpty()) {
      return touching(shape, cell, before);
    }
    var those = known.all().get().stream().filter(operation -> operation.row() < before);
    return Optional.of(those.map(shape::of).iterator()).filter(Iterator::hasNext);
  }

  private Optional<List<Operation>> few(Cell cell, long before) throws SQLException {
    var found = touching(new OfOperations(), cell, before);
    var all = new ArrayList<Operation>();
    while (found.isPresent() && found.get().hasNext()) {
      var next = found.get().next();
      if (all.size() == FIRST_PAGE || next.bytes() > SMALL) {
        return Optional.empty();
      }
      all.add(next);
    }
    return Optional.of(all);
  }

  private Optional<Long> id(Cell cell) throws SQLException {
    var one = statement(database.cellAt());
    one.setBytes(1, cell.encoded());
    try (var found = one.executeQuery()) {
      return found.next() ? Optional.of(found.getLong(1)) : Optional.empty();
    }
  }

  /** The operations of a table of touches, a stretch after the other. */
  private <T> Iterator<T> touching(Shape<T> shape, String table, long cell, long before) {
    return new Pages<>(before) {
      // Most questions end soon: the first page is small.
      private int limit = FIRST_PAGE;

      private final String sql = TOUCHING.formatted(shape.columns(), table);

      @Override
      List<T> page(long below) throws SQLException {
        var select = statement(sql);
        long stretch = TraceDatabase.stretch(below - 1);
        if (limit == FIRST_PAGE) {
          // Later ones are below a row that is there.
          stretch = Math.min(stretch, lastStretch());
        }
        var found = List.<T>of();
        for (; stretch >= 0 && found.isEmpty(); stretch--) {
          select.setLong(1, stretch);
          select.setLong(2, cell);
          select.setLong(3, below);
          select.setInt(4, limit);
          found = operations(shape, select);
        }
        limit = Math.min(4 * limit, shape.largestPage());
        return found;
      }

      @Override
      long row(T element) {
        return shape.operation(element).row();
      }
    };
  }

  /** For a cell with very many below it: all operations are asked what they touch. */
  private Iterator<Operation> lookedThrough(Cell cell, long before) {
    var all =
        operations(
            before,
            "select %s from op where seq < ? order by seq desc limit %d".formatted(COLUMNS, PAGE));
    return new Filtered<>(all, operation -> couldWrite(operation, cell));
  }

  private boolean couldWrite(Operation operation, Cell cell) {
    return touches(operation).stream()
        .anyMatch(touch -> touch.writes() && touch.cell().overlaps(cell));
  }

  /** What an operation, or its parts, touch; as the loader has counted it. */
  List<Touch> touches(Operation operation) {
    try {
      return kind(operation.epoch()).touches(operation);
    } catch (TraceException e) {
      throw e;
    } catch (RuntimeException | StackOverflowError e) {
      return List.of(Touch.changes(Cell.ALL).effect(Touch.Effect.UNKNOWN));
    }
  }

  private Iterator<Operation> operations(long before, String sql, long... first) {
    return new Pages<>(before) {
      @Override
      List<Operation> page(long below) throws SQLException {
        var select = statement(sql);
        for (int i = 0; i < first.length; i++) {
          select.setLong(i + 1, first[i]);
        }
        select.setLong(first.length + 1, below);
        return operations(new OfOperations(), select);
      }

      @Override
      long row(Operation operation) {
        return operation.row();
      }
    };
  }

  /** Fewer than were selected, but one at least, if their bodies are long. */
  private <T> List<T> operations(Shape<T> shape, PreparedStatement select) throws SQLException {
    checkTime();
    var all = new ArrayList<T>();
    long bytes = 0;
    try (var found = select.executeQuery()) {
      while (bytes < MOST_BYTES && found.next()) {
        all.add(shape.read(found));
        bytes += bytes(shape.operation(all.getLast()));
      }
    }
    return all;
  }

  private long bytes(Operation operation) {
    var known = large.get(operation.row());
    return known != null && known.operation().equals(operation) ? known.bytes() : operation.bytes();
  }

  /**
   * Lets what is asked from now on take so long at most: after that it fails with an exception that
   * says so.
   */
  void allow(Duration limit) {
    allowed = limit;
    deadline = System.nanoTime() + limit.toNanos();
  }

  /** Lets whatever is asked, now and from now on, fail soon. By any thread. */
  void giveUp() {
    givenUp = true;
  }

  @Override
  public void checkTime() {
    if (givenUp) {
      throw new TraceException("The question was given up");
    }
    if (!allowed.isZero() && System.nanoTime() - deadline > 0) {
      throw new TraceException(
          "The question takes longer than %d s; the command line has no limit"
              .formatted(allowed.toSeconds()));
    }
  }

  @Override
  public long folded() {
    return read(() -> number("select folded from trace"));
  }

  @Override
  public List<Cell> covered(Operation operation) {
    return read(
        () -> {
          var covered = new ArrayList<Cell>();
          if (operation.row() >= number("select folded from trace")) {
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
    var id = id(cell);
    var select =
        statement(
            "select 1 from op_cell where stretch = ? and cell = ? and seq = ? and (kind = %d"
                    .formatted(TraceDatabase.COVERS)
                + (row < coarse ? " or (kind = 2 and effect = 1))" : ")"));
    select.setLong(1, TraceDatabase.stretch(row));
    select.setLong(2, id.orElse(-1L));
    select.setLong(3, row);
    try (var found = select.executeQuery()) {
      return found.next();
    }
  }

  @Override
  public Optional<Break> lastBreak(Cell cell, long before) {
    return read(
        () -> {
          if (!still || breakBefore != before) {
            breakOfAll = lastBreakOfAll(before);
            breakBefore = before;
          }
          var outside = outside(cell, before).map(row -> new Break(row, Break.Kind.OUTSIDE));
          var beginning = firstEpoch().filter(first -> first.id < before && !first.wasEmpty(cell));
          return Stream.of(
                  outside,
                  breakOfAll,
                  beginning.map(first -> new Break(first.id, Break.Kind.BEGINNING)))
              .flatMap(Optional::stream)
              .max(Comparator.comparingLong(Break::row));
        });
  }

  /** What is between operations of any cell. */
  private Optional<Break> lastBreakOfAll(long before) throws SQLException {
    var breaks = new ArrayList<Break>();
    if (mayBeDropped(before)) {
      breaks.add(new Break(before - 1, Break.Kind.GAP));
    }
    last("select max(seq) from gap where seq < ?", before)
        .ifPresent(row -> breaks.add(new Break(row, Break.Kind.GAP)));
    last("select max(id) from epoch where id < ? and id > (select min(id) from epoch)", before)
        .ifPresent(row -> breaks.add(new Break(row, Break.Kind.BEGINNING)));
    last("select horizon - 1 from trace where horizon > 0 and horizon <= ?", before)
        .ifPresent(row -> breaks.add(new Break(row, Break.Kind.BEGINNING)));
    return breaks.stream().max(Comparator.comparingLong(Break::row));
  }

  /**
   * The beginning of the record. Where the store had nothing then, there is nothing from before it.
   */
  private Optional<FirstEpoch> firstEpoch() throws SQLException {
    if (!still || firstEpoch.isEmpty()) {
      var select = statement("select id, facts from epoch where id = (select min(id) from epoch)");
      try (var found = select.executeQuery()) {
        if (found.next()) {
          long id = found.getLong(1);
          firstEpoch = Optional.of(new FirstEpoch(id, found.getString(2), rows.kind(id)));
        }
      }
    }
    return firstEpoch;
  }

  private record FirstEpoch(long id, String facts, StoreKind kind) {
    boolean wasEmpty(Cell cell) {
      return kind.wasEmpty(facts, cell);
    }
  }

  /**
   * Whether something that is not on record may have taken effect right before a row, whatever was
   * recorded before: it had no room, and was not over. So may a request of which only the end had
   * none, until its reply is there.
   */
  private boolean mayBeDropped(long before) throws SQLException {
    if (!still || drops == null) {
      drops = readDrops();
    }
    var last = drops.lowerEntry(before);
    return last != null && last.getValue();
  }

  /** From which rows on something that was dropped may still take effect, and from which not. */
  private NavigableMap<Long, Boolean> readDrops() throws SQLException {
    var found = new TreeMap<Long, Boolean>();
    var select =
        statement("select seq, why from gap where %s order by seq".formatted(Dropped.THESE));
    try (var gaps = select.executeQuery()) {
      while (gaps.next()) {
        boolean underWay = Dropped.of(gaps.getString(2)) != Dropped.OVER;
        var before = found.lastEntry();
        if (underWay != (before != null && before.getValue())) {
          found.put(gaps.getLong(1), underWay);
        }
      }
    }
    last(
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

  private Optional<Long> last(String sql, long before) throws SQLException {
    var select = statement(sql);
    select.setLong(1, before);
    try (var found = select.executeQuery()) {
      if (!found.next()) {
        return Optional.empty();
      }
      long row = found.getLong(1);
      return found.wasNull() ? Optional.empty() : Optional.of(row);
    }
  }

  private Optional<Long> outside(Cell cell, long before) throws SQLException {
    if (!still || !outsideLearnt) {
      learnOutside();
      outsideLearnt = true;
    }
    var known = outside.last(cell, before);
    if (known.isPresent() || !outsideCut) {
      return known;
    }
    var older = outsideSigns(0, Math.min(before, outside.first()), Integer.MAX_VALUE);
    try (var found = older.executeQuery()) {
      while (found.next()) {
        checkTime();
        if (outside(found).stream().anyMatch(cell::overlaps)) {
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
    try (var found =
        outsideSigns(outside.next(), Long.MAX_VALUE, Integer.MAX_VALUE).executeQuery()) {
      while (weight < MOST_OUTSIDE && found.next()) {
        checkTime();
        long row = found.getLong(1);
        var cells = outside(found);
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
  private PreparedStatement outsideSigns(long from, long before, int most) throws SQLException {
    var select =
        statement(
            "select seq, epoch, evidence, at from outside where seq >= ? and seq < ?"
                + " order by seq desc limit ?");
    select.setLong(1, from);
    select.setLong(2, before);
    select.setInt(3, most);
    // Else PostgreSQL's driver would bring all of them into memory first.
    select.setFetchSize(PAGE);
    return select;
  }

  private List<Cell> outside(ResultSet sign) throws SQLException {
    return rows.kind(sign.getLong(2)).outside(Bytes.of(sign.getBytes(3)));
  }

  private long number(String sql) throws SQLException {
    try (var found = statement(sql).executeQuery()) {
      found.next();
      return found.getLong(1);
    }
  }

  private PreparedStatement statement(String sql) throws SQLException {
    var known = statements.get(sql);
    if (known == null) {
      known = connection.prepareStatement(sql);
      statements.put(sql, known);
    }
    return known;
  }

  @Override
  public void close() {
    read(
        () -> {
          connection.close();
          return true;
        });
  }

  /** The elements of several iterators, the highest row first, one of each row. */
  private static final class Merged<T> implements Iterator<T> {
    private record Head<T>(T element, long row, Iterator<T> rest) {}

    private final ToLongFunction<T> row;
    private final PriorityQueue<Head<T>> heads =
        new PriorityQueue<>(Comparator.<Head<T>>comparingLong(Head::row).reversed());

    Merged(ToLongFunction<T> row, List<Iterator<T>> iterators) {
      this.row = row;
      iterators.forEach(this::add);
    }

    private void add(Iterator<T> rest) {
      if (rest.hasNext()) {
        var next = rest.next();
        heads.add(new Head<>(next, row.applyAsLong(next), rest));
      }
    }

    @Override
    public boolean hasNext() {
      return !heads.isEmpty();
    }

    @Override
    public T next() {
      var head = heads.remove();
      add(head.rest());
      while (!heads.isEmpty() && heads.element().row() == head.row()) {
        add(heads.remove().rest());
      }
      return head.element();
    }
  }

  /** Those of an iterator that pass a test. */
  private static final class Filtered<T> implements Iterator<T> {
    private final Iterator<T> all;
    private final Predicate<T> test;
    private @Nullable T next;

    Filtered(Iterator<T> all, Predicate<T> test) {
      this.all = all;
      this.test = test;
    }

    @Override
    public boolean hasNext() {
      while (next == null && all.hasNext()) {
        var candidate = all.next();
        if (test.test(candidate)) {
          next = candidate;
        }
      }
      return next != null;
    }

    @Override
    public T next() {
      if (!hasNext() || next == null) {
        throw new NoSuchElementException();
      }
      var result = next;
      next = null;
      return result;
    }
  }
}
