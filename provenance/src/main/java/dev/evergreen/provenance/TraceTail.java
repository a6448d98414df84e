package dev.evergreen.provenance;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.LongSupplier;

/**
 * Follows a trace: gives operations in their order, each once, and with its reply if one comes. A
 * request that others overtook while it came, as it is long, is given when it is there.
 */
public final class TraceTail {
  /** So long is a reply waited for before an operation is given without. */
  private static final Duration REPLY_PATIENCE = Duration.ofSeconds(1);

  private final LongSupplier nanos;
  private long next;

  /** Of operations whose replies are waited for, since when. */
  private final Map<Long, Long> awaitedSince = new HashMap<>();

  /** How far the trace was loaded, by the clock of the recorder, and since when. */
  private Instant reached = Instant.MIN;

  private long reachedSince;

  /** Rows of requests that others overtook while they came. */
  private final TreeSet<Long> overtaken = new TreeSet<>();

  /** What comes from a row on. */
  public TraceTail(long from) {
    this(from, System::nanoTime);
  }

  /** The same by another clock. */
  TraceTail(long from, LongSupplier nanos) {
    next = from;
    this.nanos = nanos;
  }

  /** The row that is looked for next. */
  public long row() {
    return next;
  }

  /** What has come, at most so many; none if nothing has, or a reply is waited for. */
  public List<Operation> next(StoredTrace trace, int most) {
    trace.hurry();
    return trace.atOnce(() -> read(trace, most));
  }

  private List<Operation> read(StoredTrace trace, int most) {
    var coming = trace.coming();
    noteReached(trace.reached());
    var found = new ArrayList<>(arrived(trace, coming, most));
    long from = next;
    boolean waits = false;
    for (var operation : trace.from(next, most - found.size())) {
      // Those behind one that is waited for are so from now on, too, and not one after the other.
      waits = isAwaited(operation) || waits;
      if (!waits) {
        next = operation.row() + 1;
        awaitedSince.remove(operation.row());
        found.add(operation);
      }
    }
    overtaken.addAll(coming.subSet(from, next));
    return found;
  }

  /**
   * Those of the overtaken that are there now, or some if they are long. Of some the rest never
   * comes.
   */
  private List<Operation> arrived(StoredTrace trace, SortedSet<Long> coming, int most) {
    var arrived = new ArrayList<Operation>();
    long bytes = 0;
    for (long row : List.copyOf(overtaken)) {
      if (arrived.size() >= most || bytes >= OperationReader.MOST_BYTES) {
        break;
      }
      var operation = trace.operation(row);
      if (operation.isEmpty() && !coming.contains(row)) {
        overtaken.remove(row);
      } else if (operation.isPresent() && !isAwaited(operation.get())) {
        overtaken.remove(row);
        awaitedSince.remove(row);
        arrived.add(operation.get());
        bytes += operation.get().bytes();
      }
    }
    return arrived;
  }

  /**
   * Leaves out what has come but for the newest, for whoever only looks.
   *
   * @return how many operations were left out
   */
  public long skipTo(StoredTrace trace, int newest) {
    return trace.atOnce(() -> skip(trace, newest));
  }

  private long skip(StoredTrace trace, int newest) {
    var last = trace.last(newest);
    if (last.size() < newest || last.getFirst().row() <= next) {
      return 0;
    }
    long to = last.getFirst().row();
    long skipped = trace.count(next, to);
    overtaken.addAll(trace.coming().subSet(next, to));
    next = to;
    awaitedSince.keySet().removeIf(row -> row < to && !overtaken.contains(row));
    return skipped;
  }

  private void noteReached(Instant now) {
    if (!now.equals(reached)) {
      reached = now;
      reachedSince = nanos.getAsLong();
    }
  }

  /**
   * Whether a reply may still come. What has gone on for so long, by the clock of the recorder,
   * when that recorded something else has none. If it records nothing else, or its clock was set
   * back, one is waited for as long by a clock that nobody sets.
   */
  private boolean isAwaited(Operation operation) {
    if (!operation.outcomeUnknown() || !operation.sent().plus(REPLY_PATIENCE).isAfter(reached)) {
      return false;
    }
    long now = nanos.getAsLong();
    long since = awaitedSince.computeIfAbsent(operation.row(), _ -> now);
    return !isOver(now, since) && !isOver(now, reachedSince);
  }

  private static boolean isOver(long now, long since) {
    return now - since >= REPLY_PATIENCE.toNanos();
  }
}
