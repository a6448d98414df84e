package dev.evergreen.provenance;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** Makes operations of the rows of the table {@code op}. To be used by one thread. */
final class OpRows {
  /** Of a time, as far as nanoseconds reach in 64 bits. */
  private static final long MOST_SECONDS = Long.MAX_VALUE / 1_000_000_000L;

  /** What a query selects from {@code op}. */
  static final String COLUMNS =
      "op.seq, op.epoch, op.lane, op.connection, op.space, op.sent, op.outcome, op.replied,"
          + " op.request, op.request_length, op.request_hash,"
          + " op.reply, op.reply_length, op.reply_hash";

  /** The same of small operations; of others no bodies, so that these are not read either. */
  static final String SMALL_COLUMNS =
      "op.seq, op.epoch, op.lane, op.connection, op.space, op.sent, op.outcome, op.replied,"
          + " case when length(op.request) < %1$d then op.request end, op.request_length, null,"
              .formatted(OpRows.SMALL)
          + " case when length(op.reply) < %1$d then op.reply end, 0, null".formatted(OpRows.SMALL);

  /** The bodies of a small operation have fewer bytes each. */
  private static final int SMALL = 2_048;

  private static final System.Logger LOG = System.getLogger(OpRows.class.getName());
  private static final int PAGE = 64;

  private static final String EARLIER =
      "select %s from op where connection = ? and seq < ? order by seq desc limit %d"
          .formatted(COLUMNS, PAGE);

  /** A page of long operations ends with so many bytes. */
  private static final long PAGE_BYTES = 1 << 20;

  /**
   * An operation with more bytes of parts counts as one of which no parts are known. That is the
   * same whoever asks, and however much memory there is: so all know the same of it.
   */
  static final long MOST_BYTES_OF_PARTS = 32 << 20;

  private final Statements statements;
  private final Map<Long, Epoch> epochs = new HashMap<>();

  /** The one that was asked for last, as it nearly always is again. */
  private @Nullable Epoch lastEpoch;

  /** What is known of an epoch. */
  private record Epoch(long id, StoreKind kind, Skew skew) {}

  OpRows(Statements statements) {
    this.statements = statements;
  }

  /** The operation of that number, with its parts. */
  Optional<Operation> operation(long row) throws SQLException {
    return statements.first("select " + COLUMNS + " from op where seq = ?", this::read, row);
  }

  /** The operation of a row, with its parts. */
  Operation read(ResultSet row) throws SQLException {
    var operation = readWhole(row);
    return withParts(kind(operation.epoch()), operation, earlier(operation));
  }

  /** What an operation, or its parts, touch; as the loader has counted it. */
  List<Touch> touches(Operation operation) {
    try {
      return touches(kind(operation.epoch()), operation, (_, _) -> {});
    } catch (SQLException e) {
      throw new TraceException("The trace cannot be read", e);
    }
  }

  /**
   * The same by a kind, whose specification may fail: what it fails at may have written anything.
   *
   * @param complaint is told of it
   */
  static List<Touch> touches(
      StoreKind kind, Operation operation, BiConsumer<Specification, Throwable> complaint) {
    try {
      return kind.touches(operation);
    } catch (RuntimeException | StackOverflowError | OutOfMemoryError e) {
      complaint.accept(kind.specification(), e);
      return List.of(Touches.anything());
    }
  }

  /** The operation with its parts; without, if the kind fails at it, or they are too long. */
  static Operation withParts(StoreKind kind, Operation operation, Iterator<Operation> earlier) {
    try {
      var parts = kind.parts(operation, new Weighed(earlier));
      return parts.isEmpty() ? operation : operation.with(parts);
    } catch (TraceException e) {
      throw e;
    } catch (TooLongException e) {
      return operation;
    } catch (RuntimeException | StackOverflowError e) {
      LOG.log(System.Logger.Level.ERROR, "No parts are known of row " + operation.row(), e);
      return operation;
    }
  }

  /** Gives some operations, of so many bytes at most. */
  private static final class Weighed implements Iterator<Operation> {
    private final Iterator<Operation> operations;
    private long weight;

    Weighed(Iterator<Operation> operations) {
      this.operations = operations;
    }

    @Override
    public boolean hasNext() {
      return operations.hasNext();
    }

    @Override
    public Operation next() {
      var next = operations.next();
      weight += Parts.weight(next);
      if (weight > MOST_BYTES_OF_PARTS) {
        throw new TooLongException();
      }
      return next;
    }
  }

  /** There are more bytes of parts than are held. */
  private static final class TooLongException extends RuntimeException {
    private static final long serialVersionUID = 1;

    TooLongException() {
      super("the parts are too long", null, false, false);
    }
  }

  /** The words of a request; all of it as one word, if the kind fails at it. */
  static List<Bytes> words(StoreKind kind, Bytes recorded) {
    try {
      return kind.words(recorded);
    } catch (RuntimeException e) {
      LOG.log(System.Logger.Level.ERROR, "A request of " + recorded.length() + " bytes", e);
      return List.of(recorded);
    }
  }

  /**
   * A small operation with its parts, by {@link #SMALL_COLUMNS}; else where it is among others,
   * without what was said.
   */
  Operation readSmall(ResultSet row) throws SQLException {
    byte @Nullable [] request = row.getBytes(9);
    byte @Nullable [] reply = row.getBytes(12);
    var outcome = Outcome.of(row.getInt(7));
    var epoch = known(row.getLong(2));
    if (request == null || (reply == null && outcome == Outcome.REPLIED)) {
      return read(row, epoch, List.of(), reply(outcome, Bytes.EMPTY), row.getLong(10));
    }
    var kind = epoch.kind();
    var replied = reply(outcome, reply == null ? Bytes.EMPTY : Bytes.of(reply));
    var operation = read(row, epoch, words(kind, Bytes.of(request)), replied, request.length);
    return withParts(kind, operation, earlier(operation));
  }

  private Operation readWhole(ResultSet row) throws SQLException {
    var outcome = Outcome.of(row.getInt(7));
    var request = content(row, 9);
    var epoch = known(row.getLong(2));
    return read(
        row,
        epoch,
        words(epoch.kind(), request),
        reply(outcome, outcome == Outcome.REPLIED ? content(row, 12) : Bytes.EMPTY),
        request.length());
  }

  /** The reply as it counts: of one that was cut off, nobody knows it. */
  private static @Nullable Bytes reply(Outcome outcome, Bytes recorded) {
    return switch (outcome) {
      case REPLIED -> recorded;
      case OPEN, NONE_EXPECTED, UNKNOWN, NOT_SENT -> null;
    };
  }

  /**
   * An operation without parts.
   *
   * @param known so many bytes of the request are on record
   */
  private static Operation read(
      ResultSet row, Epoch epoch, List<Bytes> words, @Nullable Bytes reply, long known)
      throws SQLException {
    long replied = row.getLong(8);
    boolean isReplied = replied != 0 || !row.wasNull();
    long number = row.getLong(1);
    return new Operation(
        number,
        epoch.id(),
        row.getLong(3),
        row.getLong(4),
        row.getString(5),
        instant(row.getLong(6)),
        isReplied ? instant(replied) : null,
        words,
        reply,
        List.of(),
        known < row.getLong(10),
        number,
        epoch.skew());
  }

  /** What a body's three columns hold: bytes, length, hash. */
  Bytes content(ResultSet row, int column) throws SQLException {
    byte @Nullable [] inRow = row.getBytes(column);
    if (inRow != null) {
      return Bytes.of(inRow);
    }
    byte @Nullable [] hash = row.getBytes(column + 2);
    if (hash == null) {
      return Bytes.EMPTY;
    }
    return statements
        .first(
            "select content from body where hash = ?", found -> Bytes.of(found.getBytes(1)), hash)
        .orElse(Bytes.EMPTY);
  }

  /** The kind of the store in that epoch. */
  StoreKind kind(long id) throws SQLException {
    return known(id).kind();
  }

  /** What is known of the store's clock in that epoch. */
  Skew skew(long id) throws SQLException {
    return known(id).skew();
  }

  private Epoch known(long id) throws SQLException {
    if (lastEpoch == null || lastEpoch.id() != id) {
      lastEpoch = find(id);
    }
    return lastEpoch;
  }

  private Epoch find(long id) throws SQLException {
    var known = epochs.get(id);
    if (known != null) {
      return known;
    }
    var read =
        statements
            .first(
                "select store, facts from epoch where id = ?",
                row -> epoch(id, row.getString(1), Skew.of(row.getString(2))),
                id)
            .orElseGet(() -> epoch(id, "", Skew.UNKNOWN));
    epochs.put(id, read);
    return read;
  }

  private static Epoch epoch(long id, String store, Skew skew) {
    return new Epoch(id, StoreKind.named(store).orElseGet(() -> new UnknownKind(store)), skew);
  }

  /** What the connection of an operation did before, the newest first, without parts. */
  Iterator<Operation> earlier(Operation operation) {
    return new Pages<>(
        operation.row(), Operation::row, before -> earlier(operation.connection(), before));
  }

  private List<Operation> earlier(long connection, long before) throws SQLException {
    var page = new ArrayList<Operation>();
    long bytes = 0;
    try (var rows = statements.of(EARLIER, connection, before).executeQuery()) {
      while (bytes < PAGE_BYTES && rows.next()) {
        page.add(readWhole(rows));
        bytes += Parts.weight(page.getLast());
      }
    }
    return page;
  }

  static Instant instant(long nanos) {
    return Instant.ofEpochSecond(
        Math.floorDiv(nanos, 1_000_000_000L), Math.floorMod(nanos, 1_000_000_000L));
  }

  /** The earliest or latest that there is for what is beyond, so before 1678 or after 2261. */
  static long nanos(Instant instant) {
    long seconds = instant.getEpochSecond();
    return Math.abs(seconds) >= MOST_SECONDS
        ? (seconds < 0 ? Long.MIN_VALUE : Long.MAX_VALUE)
        : seconds * 1_000_000_000L + instant.getNano();
  }
}
