package dev.evergreen.provenance;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/**
 * Keeps a trace within its {@link Retention}, a step at a time, each of which is a transaction of
 * the loader.
 *
 * <p>What has become too old is folded among itself. What was kept when older rows were folded may
 * have been replaced since, and is folded anew only when as much has come since: so that an
 * operation is looked at a few times, however long the trace is kept.
 */
final class Retainer {
  private static final System.Logger LOG = System.getLogger(Retainer.class.getName());

  /** So many operations are folded or removed at once at most. */
  private static final int MOST = 20_000;

  /** So many at least, if there are as many, to bring the database below its limit. */
  private static final int LEAST = 256;

  /** So many messages. */
  private static final int MOST_MESSAGES = 1_000;

  /** What an operation takes beside its bodies: a row, its cells, and their places in indexes. */
  private static final long ROW_BYTES = 256;

  /** So many are read at once. */
  private static final int PAGE = 256;

  /** A page of long operations ends with so many bytes. */
  private static final long PAGE_BYTES = 1 << 20;

  /** Such a part of the memory may be held of cells while operations are folded. */
  private static final int SHARE = 8;

  /** So many covers are held until they are noted. */
  private static final int MOST_COVERS = 10_000;

  private static final String SHOWN =
      "select %s, %s from op where seq < ? and seq >= ? order by seq desc limit %d"
          .formatted(OpRows.COLUMNS, TraceDatabase.END, PAGE);

  /** Whether an operation was sent at all, and so may have looked at something. */
  private static final String SENT = "outcome <> " + Outcome.NOT_SENT.code();

  private final Statements statements;
  private final CellNotes notes;
  private final OpRows rows;
  private final Size size;

  /** How many were kept when all were folded; not known until that has been done. */
  private long kept;

  /** How many were kept since, when parts were folded. */
  private long keptSince = 1;

  /** How many were removed since the database became smaller. */
  private long inVain;

  /** All before that row were of a time to come, when that was looked at. */
  private long aheadUntil;

  /** How many bytes the database takes. */
  interface Size {
    long bytes() throws SQLException;
  }

  /** An operation by its row, and the row above those that were sent while it was under way. */
  private record Span(long row, long end) {}

  /** An operation with what is to be known to remove it. */
  private record Shown(
      Operation operation,
      Outcome outcome,
      long end,
      byte @Nullable [] requestHash,
      byte @Nullable [] replyHash) {}

  Retainer(Statements statements, CellNotes notes, OpRows rows, Size size) {
    this.statements = statements;
    this.notes = notes;
    this.rows = rows;
    this.size = size;
  }

  /**
   * Folds or removes a part of what is more than is to be kept.
   *
   * @param now when the last operation was recorded, in nanoseconds since 1970
   * @return whether there was any
   */
  boolean step(Retention retention, long now) throws SQLException {
    long folded = number("select folded from trace");
    long excess = retention.limitsBytes() ? excess(retention) : 0;
    long oldest = now - Math.min(now, saturatedNanos(retention.age()));
    long end = end(folded, excess > 0 ? Long.MAX_VALUE : oldest, now, excess);
    if (end > 0) {
      boolean whole = keptSince >= kept;
      fold(whole ? 0 : folded, end);
      return true;
    }
    if (excess > 0 && keptSince > kept / 8) {
      fold(0, folded);
      return true;
    }
    return removeMessages(excess > 0 ? Long.MAX_VALUE : oldest)
        || (excess > 0 && removeOldest(excess));
  }

  /**
   * Removes some of the messages before a moment: no answer needs them, so that they go before
   * operations that answers need, and go also if there are no operations.
   */
  private boolean removeMessages(long sent) throws SQLException {
    long end = 0;
    var select = statements.of("select seq, at from push order by seq limit " + MOST_MESSAGES);
    try (var found = select.executeQuery()) {
      while (found.next() && found.getLong(2) < sent) {
        end = found.getLong(1) + 1;
      }
    }
    if (end > 0) {
      removePushes(end);
    }
    return end > 0;
  }

  /** What the database takes more than it may, but for bodies that are still coming. */
  private long excess(Retention retention) throws SQLException {
    long excess = size.bytes() - retention.bytes();
    return excess <= 0 ? 0 : excess - number("select coalesce(sum(length(content)), 0) from piece");
  }

  /**
   * Behind the operations from a row on that are to be folded or removed next: those sent before a
   * moment, and no more than are needed to become so many bytes less; 0 if there are none. What is
   * said to have been sent after now was recorded while the clock was wrong: it is as old as what
   * is behind it.
   */
  private long end(long from, long moment, long now, long excess) throws SQLException {
    var select =
        statements.of(
            "select seq, sent, request_length, coalesce(reply_length, 0) from op"
                + " where outcome <> 0 and seq >= ? order by seq limit "
                + MOST,
            from);
    // So that a reader who stops early has not read all.
    select.setFetchSize(PAGE);
    long end = 0;
    long bytes = 0;
    long ahead = 0;
    try (var found = select.executeQuery()) {
      for (int i = 0; found.next(); i++) {
        long sent = found.getLong(2);
        if (sent >= moment && sent <= now) {
          return end;
        }
        if (excess > 0 && bytes >= excess && i >= LEAST) {
          return end;
        }
        bytes += ROW_BYTES + kept(found.getLong(3)) + kept(found.getLong(4));
        ahead = found.getLong(1) + 1;
        if (sent < moment) {
          end = ahead;
        }
      }
    }
    return end == 0 && ahead > 0 && isOld(ahead, moment, now) ? ahead : end;
  }

  /**
   * Whether what comes behind rows that say that they are of a time to come, as far as that does
   * not, was sent before a moment. There may be very many such rows, so it is noted up to where.
   */
  private boolean isOld(long from, long moment, long now) throws SQLException {
    var select =
        statements.of(
            "select seq, sent from op where outcome <> 0 and seq >= ? and sent <= ?"
                + " order by seq limit 1",
            Math.max(from, aheadUntil),
            now);
    try (var found = select.executeQuery()) {
      if (!found.next()) {
        return false;
      }
      aheadUntil = found.getLong(1);
      return found.getLong(2) < moment;
    }
  }

  /** How much of a body is kept, in a row or apart. */
  private static long kept(long length) {
    return length > Spool.LARGEST_BODY ? Payload.HEAD : length;
  }

  /** Removes what no answer from a row on needs, of those from another on. */
  private void fold(long from, long end) throws SQLException {
    var folding = new Folding(Runtime.getRuntime().maxMemory() / SHARE);
    var spans = new PriorityQueue<>(Comparator.comparingLong(Span::end).reversed());
    addSpans(spans, TraceDatabase.longer(), 0, end, from);
    long looked = end;
    long needed = 0;
    for (var page = page(from, end); !page.isEmpty(); ) {
      long lowest = page.getLast().operation().row();
      long low = Math.min(looked, Math.max(0, lowest - TraceDatabase.LONG));
      addSpans(spans, "not " + TraceDatabase.longer(), low, looked, from);
      looked = low;
      var gone = new ArrayList<Shown>();
      for (var shown : page) {
        showUnderWay(folding, spans, shown.operation().row());
        if (!isNeeded(folding, shown, end)) {
          gone.add(shown);
        }
      }
      needed += page.size() - gone.size();
      remove(gone);
      if (folding.covers() > MOST_COVERS) {
        notes.noteCovers(folding.takeCovers());
      }
      page = page(from, lowest);
    }
    notes.noteCovers(folding.takeCovers());
    removePushes(end);
    statements.update("update trace set folded = ?", end);
    if (from == 0) {
      removeWhoIsGone(end);
      kept = needed;
      keptSince = 0;
    } else {
      keptSince += needed;
    }
  }

  private List<Shown> page(long from, long before) throws SQLException {
    var page = new ArrayList<Shown>();
    long bytes = 0;
    try (var found = statements.of(SHOWN, before, from).executeQuery()) {
      while (bytes < PAGE_BYTES && found.next()) {
        var operation = rows.read(found);
        bytes += operation.bytes();
        page.add(
            new Shown(
                operation,
                Outcome.of(found.getInt(7)),
                found.getLong(15),
                found.getBytes(11),
                found.getBytes(14)));
      }
    }
    return page;
  }

  /** Those of some rows that end above a row, if others may have been sent meanwhile. */
  private void addSpans(
      PriorityQueue<Span> spans, String which, long from, long before, long endAbove)
      throws SQLException {
    spans.addAll(
        statements.all(
            "select seq, %1$s from op where %2$s and %3$s and seq >= ? and seq < ?"
                    .formatted(TraceDatabase.END, which, SENT)
                + " and %1$s > ? and %1$s > seq + 1".formatted(TraceDatabase.END),
            row -> new Span(row.getLong(1), row.getLong(2)),
            from,
            before,
            endAbove));
  }

  /** Shows those that were under way when a row was sent. */
  private void showUnderWay(Folding folding, PriorityQueue<Span> spans, long row)
      throws SQLException {
    for (var span = spans.peek(); span != null && span.end() > row; span = spans.peek()) {
      spans.remove();
      if (span.row() < row) {
        var operation = rows.operation(span.row());
        if (operation.isPresent()) {
          folding.underWay(operation.get(), notes.touches(operation.get()));
        }
      }
    }
  }

  private boolean isNeeded(Folding folding, Shown shown, long end) throws SQLException {
    var operation = shown.operation();
    if (shown.outcome() == Outcome.OPEN) {
      var _ = folding.isNeeded(operation, notes.touches(operation), false);
      return true;
    }
    var kind = rows.kind(operation.epoch());
    if (kind.mayBePart(operation)) {
      return folding.isNeededPart(operation);
    }
    boolean sought = kind.isSought(operation);
    boolean wanted =
        sought
            ? !folding.isOutOfSearch(operation)
            : kind.endsSearch(operation) && folding.endsSearch(operation);
    boolean kept = wanted && goesOn(operation.connection(), end);
    // What is sought is of use to nobody else.
    var touches = sought ? List.<Touch>of() : notes.touches(operation);
    return folding.isNeeded(operation, touches, shown.end() <= end, kept);
  }

  /** Whether a connection did something from a row on, or may do so still. */
  private boolean goesOn(long connection, long row) throws SQLException {
    return !statements.any(
        "select 1 from connection c where id = ? and until is not null"
            + " and not exists (select 1 from op where op.connection = c.id and seq >= ?)",
        connection,
        row);
  }

  private void remove(List<Shown> gone) throws SQLException {
    notes.forget(gone.stream().map(Shown::operation).toList());
    for (var shown : gone) {
      statements.update("delete from op where seq = ?", shown.operation().row());
    }
    for (var shown : gone) {
      removeBody(shown.requestHash());
      removeBody(shown.replyHash());
    }
  }

  /** Removes the messages before a row that answered no request, and their bodies. */
  private void removePushes(long end) throws SQLException {
    var hashes =
        statements.all(
            "select message_hash from push where seq < ? and message_hash is not null",
            row -> row.getBytes(1),
            end);
    statements.update("delete from push where seq < ?", end);
    for (var hash : hashes) {
      removeBody(hash);
    }
  }

  /** Removes a body, unless something still names it. */
  private void removeBody(byte @Nullable [] hash) throws SQLException {
    if (hash != null) {
      statements.update(
          "delete from body where hash = ?"
              + " and not exists (select 1 from op where request_hash = body.hash)"
              + " and not exists (select 1 from op where reply_hash = body.hash)"
              + " and not exists (select 1 from push where message_hash = body.hash)",
          hash);
    }
  }

  /** Removes connections and lanes that have ended and of which no operation is left. */
  private void removeWhoIsGone(long end) throws SQLException {
    statements.update(
        "delete from connection where until is not null and id < ?"
            + " and not exists (select 1 from op where op.connection = connection.id)",
        end);
    statements.update(
        "delete from connection_change where seq < ?"
            + " and not exists (select 1 from connection c where c.id = connection)",
        end);
    // All operations of a lane are older than its end.
    statements.update(
        "delete from lane where id < ? and until < (select sent from op order by seq limit 1)",
        end);
  }

  /**
   * Whether nothing was sent from a row on while the operation was under way. If its end was never
   * heard of, that counts as so after a while: who is silent would else fill the trace.
   */
  private static boolean isOver(Shown shown, long row) {
    return switch (shown.outcome()) {
      case OPEN -> false;
      case NOT_SENT -> true;
      case REPLIED, NONE_EXPECTED, UNKNOWN ->
          shown.end() == Long.MAX_VALUE
              ? shown.operation().row() < row - TraceDatabase.LONG
              : shown.end() <= row;
    };
  }

  /** Removes the oldest operations, whatever answers need. */
  private boolean removeOldest(long excess) throws SQLException {
    // From the last one on: what stayed before that would else be all that is looked at.
    long from = number("select horizon from trace");
    long horizon = end(from, Long.MAX_VALUE, Long.MAX_VALUE, excess);
    if (horizon == 0 || inVain > MOST) {
      return false;
    }
    long before = size.bytes();
    long removed = 0;
    for (var page = page(0, horizon); !page.isEmpty(); ) {
      var gone = page.stream().filter(shown -> isOver(shown, horizon)).toList();
      remove(gone);
      removed += gone.size();
      page = page(0, page.getLast().operation().row());
    }
    removePushes(horizon);
    for (var table : List.of("connection_change", "outside")) {
      statements.update("delete from %s where seq < ?".formatted(table), horizon);
    }
    // The last one tells, too, whether what was dropped may still take effect; and the last one
    // before each epoch that an epoch may have had no room there.
    statements.update(
        """
        delete from gap where seq < ? and not (%1$s and not exists (
          select 1 from gap later where %1$s and later.seq > gap.seq and later.seq <
            (select coalesce(min(id), ?) from epoch where id > gap.seq and id < ?)))
        """
            .formatted(Dropped.THESE),
        horizon,
        horizon,
        horizon);
    statements.update("update trace set horizon = ?", horizon);
    removeWhoIsGone(horizon);
    inVain = size.bytes() < before ? 0 : inVain + removed;
    if (inVain > MOST) {
      LOG.log(
          System.Logger.Level.WARNING,
          "The trace takes {0} bytes more than it may, and becomes no smaller by what is removed;"
              + " what is left stays",
          excess);
    }
    return true;
  }

  private long number(String sql) throws SQLException {
    return statements.number(sql).orElse(0L);
  }

  private static long saturatedNanos(Duration age) {
    return age.toSeconds() > Long.MAX_VALUE / 1_000_000_000L - 1 ? Long.MAX_VALUE : age.toNanos();
  }
}
