package dev.evergreen.provenance;

import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Tells which old operations no later answer needs. It is shown the operations from some row back
 * to the first, the newest first.
 *
 * <p>A later answer may depend on any cell as it was at that row. An operation that wrote a cell is
 * needed, unless a needed one has replaced the cell since. What a needed operation looked at is
 * demanded from its row on back, also if it has been replaced since. That keeps at least the causes
 * that a {@link Walk} from any cell would give.
 *
 * <p>Rows are no order of effects: an operation is replaced by one only if it certainly came
 * before, as {@link Orders} has it. What was under way when an operation was sent, though it has a
 * row below, may have come after it and have looked at what it wrote: so whoever shows the
 * operations tells, too, which are {@linkplain #underWay under way}. What may be a part of a later
 * operation of its connection is needed, unless that one is not.
 *
 * <p>What is not needed could show, though, if what has replaced it were left out of the trace. So
 * of each that is not needed it tells which needed one {@linkplain #covers covers} it.
 *
 * <p>What it holds of cells is bounded in bytes. With more of them, more is kept than need be.
 */
final class Folding {
  /** Some operations, all of one epoch and lane or of several: what comes before all of them. */
  private record Since(long epoch, long lane, boolean mixed, Instant sent) {
    static Since of(@Nullable Since later, Operation operation) {
      if (later == null || later.follows(operation)) {
        return new Since(operation.epoch(), operation.lane(), false, operation.sent());
      }
      return new Since(
          later.epoch,
          later.lane,
          later.mixed || later.lane != operation.lane() || later.epoch != operation.epoch(),
          later.sent.isBefore(operation.sent()) ? later.sent : operation.sent());
    }

    static Since both(Since one, Since other) {
      return new Since(
          one.epoch, one.lane, true, one.sent.isBefore(other.sent) ? one.sent : other.sent);
    }

    /** Whether an operation of a row before theirs took effect before all of them. */
    boolean follows(Operation operation) {
      return (!mixed && epoch == operation.epoch() && lane == operation.lane())
          || (operation.replied() != null && !operation.replied().isAfter(sent));
    }
  }

  /** The lane of an operation that is under way, and the cells that it looks at. */
  private record Looking(long epoch, long lane, Set<Cell> cells) {}

  /** About so many bytes it takes to note something of a cell, beside the names of its path. */
  private static final int NOTED = 200;

  /** Of so many connections it is noted at most what became of their transactions. */
  private static final int MOST_CONNECTIONS = 100_000;

  /** So many bytes of what is replaced, and so many of what is looked at. */
  private final long most;

  private long replacedBytes;
  private long lookedAtBytes;

  /** That an operation of a row has replaced a cell. */
  record Cover(long row, Cell cell) {}

  /** What has replaced a cell, and the first row of that. */
  private record Replaced(Since since, long first) {}

  private final Map<Cell, Replaced> replaced = new HashMap<>();
  private Set<Cover> covers = new LinkedHashSet<>();

  /** Of what is replaced, what is needed nevertheless, and by which operations. */
  private final TreeMap<Cell, Since> demanded = new TreeMap<>();

  /** Those under way, by their rows. */
  private final Map<Long, Looking> underWay = new HashMap<>();

  /** The cells at which these look, and how many of them do. */
  private final TreeMap<Cell, Integer> lookedAt = new TreeMap<>();

  /** Of a connection, whether the next operation that has parts, if there is one, is needed. */
  private final Map<Long, Boolean> wholeNeeded = new HashMap<>();

  /** Connections of which one was shown behind which no later one looks for anything. */
  private final Set<Long> searched = new HashSet<>();

  /** Whether an answer may need the operation, which may be a part of one that was shown before. */
  boolean isNeededPart(Operation operation) {
    // Else one that is not shown, since it is newer or has not ended, may have it as a part.
    return wholeNeeded.getOrDefault(operation.connection(), true);
  }

  /** Whether none of its connection looks for the operation: one between them ends the search. */
  boolean isOutOfSearch(Operation operation) {
    return searched.contains(operation.connection());
  }

  /**
   * Notes that none of its connection looks for what came before the operation. Whether it is the
   * first to say so of those that are shown; without it a later one would look too far.
   */
  boolean endsSearch(Operation operation) {
    return searched.size() < MOST_CONNECTIONS
        ? searched.add(operation.connection())
        : !isOutOfSearch(operation);
  }

  /** Of cells it holds so many bytes at most. */
  Folding(long mostBytes) {
    most = mostBytes / 2;
  }

  /** About how many bytes it takes to note something of a cell. */
  static long weight(Cell cell) {
    return NOTED + cell.path().stream().mapToLong(Bytes::length).sum();
  }

  private static long weight(Set<Cell> cells) {
    return cells.stream().mapToLong(Folding::weight).sum();
  }

  /**
   * The operations that are shown from now on, down to its own row, were sent while this one was
   * under way.
   */
  void underWay(Operation operation, List<Touch> touches) {
    if (touches.stream().anyMatch(Touch::writes)) {
      var cells = looksAt(touches);
      if (lookedAtBytes + weight(cells) > most) {
        cells = Set.of(Cell.ALL);
      }
      lookedAtBytes += weight(cells);
      underWay.put(operation.row(), new Looking(operation.epoch(), operation.lane(), cells));
      cells.forEach(cell -> lookedAt.merge(cell, 1, Integer::sum));
    }
  }

  /** The operation of that row, if it is under way, is not from here on back. */
  private void beginsAt(long row) {
    var looking = underWay.remove(row);
    if (looking != null) {
      lookedAtBytes -= weight(looking.cells());
      looking.cells().forEach(cell -> lookedAt.merge(cell, -1, Folding::sumOrNone));
    }
  }

  private static @Nullable Integer sumOrNone(int one, int other) {
    return one + other == 0 ? null : (Integer) (one + other);
  }

  private static Set<Cell> looksAt(List<Touch> touches) {
    var cells = new LinkedHashSet<Cell>();
    for (var touch : touches) {
      if (touch.kind() != Touch.Kind.REPLACES) {
        cells.add(touch.cell());
      }
      cells.addAll(touch.from());
      cells.addAll(touch.unless());
    }
    return cells;
  }

  /**
   * Whether an answer may need the operation, which is no part and has these touches.
   *
   * @param over whether it had its end before anything was sent that is not shown
   */
  boolean isNeeded(Operation operation, List<Touch> touches, boolean over) {
    return isNeeded(operation, touches, over, false);
  }

  /**
   * The same of one that is kept in any case, if it is: with what it has written comes what that
   * depends on.
   */
  boolean isNeeded(Operation operation, List<Touch> touches, boolean over, boolean kept) {
    beginsAt(operation.row());
    boolean needed =
        kept
            || touches.stream()
                .anyMatch(touch -> touch.writes() && (!over || isOpen(touch.cell(), operation)));
    if (!operation.parts().isEmpty()) {
      noteWhole(operation.connection(), needed);
    }
    if (!needed) {
      touches.stream().filter(Touch::writes).forEach(touch -> cover(touch.cell()));
    } else if (touches.stream().anyMatch(Touch::writes)) {
      if (over && !operation.outcomeUnknown()) {
        touches.stream()
            .filter(Folding::certainlyReplaces)
            .forEach(touch -> replace(touch.cell(), operation));
      }
      looksAt(touches).forEach(cell -> demand(cell, operation));
    }
    return needed;
  }

  /** What is not noted counts as needed. */
  private void noteWhole(long connection, boolean needed) {
    if (wholeNeeded.size() < MOST_CONNECTIONS || wholeNeeded.containsKey(connection)) {
      wholeNeeded.put(connection, needed);
    }
  }

  private void demand(Cell cell, Operation operation) {
    boolean isFull =
        !demanded.containsKey(cell)
            && !demanded.containsKey(Cell.ALL)
            && lookedAtBytes + weight(cell) > most;
    if (isFull) {
      demandAll();
    }
    // What is needed of the whole store need not be noted of a cell.
    var noted = isFull || demanded.containsKey(Cell.ALL) ? Cell.ALL : cell;
    note(noted, Since.of(demanded.get(noted), operation));
  }

  /** What is demanded of all cells together is demanded of the whole store. */
  private void demandAll() {
    var all = demanded.values().stream().reduce(Since::both);
    lookedAtBytes -= weight(demanded.keySet());
    demanded.clear();
    all.ifPresent(since -> note(Cell.ALL, since));
  }

  private void note(Cell cell, Since since) {
    if (demanded.put(cell, since) == null) {
      lookedAtBytes += weight(cell);
    }
  }

  /** Whether what had written that cell before may be folded. */
  static boolean certainlyReplaces(Touch touch) {
    return touch.kind() == Touch.Kind.REPLACES
        && touch.effect() == Touch.Effect.YES
        && touch.unless().isEmpty();
  }

  private void replace(Cell cell, Operation operation) {
    // Those within it come right behind it.
    for (var next = demanded.ceilingEntry(cell);
        next != null && cell.contains(next.getKey());
        next = demanded.higherEntry(next.getKey())) {
      if (next.getValue().follows(operation)) {
        demanded.remove(next.getKey());
        lookedAtBytes -= weight(next.getKey());
      }
    }
    var later = replaced.get(cell);
    long more = later == null ? weight(cell) : 0;
    if (replacedBytes + more <= most || more == 0) {
      replacedBytes += more;
      var since = Since.of(later == null ? null : later.since(), operation);
      replaced.put(cell, new Replaced(since, operation.row()));
    }
  }

  /** The first of those that have replaced a cell covers what wrote it before. */
  private void cover(Cell cell) {
    Stream.concat(Stream.of(cell), cell.ancestors().stream())
        .flatMap(
            above ->
                Optional.ofNullable(replaced.get(above)).stream()
                    .map(found -> new Cover(found.first(), above)))
        .min(Comparator.comparingLong(Cover::row))
        .ifPresent(covers::add);
  }

  /** How many there are of {@link #takeCovers}. */
  int covers() {
    return covers.size();
  }

  /**
   * Those that have replaced something that is not needed, as far as was shown, and since they were
   * taken last.
   */
  Set<Cover> takeCovers() {
    var taken = covers;
    covers = new LinkedHashSet<>();
    return taken;
  }

  private boolean isOpen(Cell cell, Operation operation) {
    return cell.overlapsAny(demanded.navigableKeySet())
        || !isReplaced(cell, operation)
        || isLookedAt(cell, operation);
  }

  /** Whether one that is under way on another lane looks at the cell. */
  private boolean isLookedAt(Cell cell, Operation operation) {
    return cell.overlapsAny(lookedAt.navigableKeySet())
        && underWay.values().stream()
            .anyMatch(
                looking ->
                    (looking.lane() != operation.lane() || looking.epoch() != operation.epoch())
                        && looking.cells().stream().anyMatch(cell::overlaps));
  }

  /** Whether the cell was replaced, each time after that operation. */
  private boolean isReplaced(Cell cell, Operation operation) {
    var since =
        Stream.concat(Stream.of(cell), cell.ancestors().stream())
            .map(replaced::get)
            .filter(Objects::nonNull)
            .map(Replaced::since)
            .toList();
    return !since.isEmpty() && since.stream().allMatch(one -> one.follows(operation));
  }
}
