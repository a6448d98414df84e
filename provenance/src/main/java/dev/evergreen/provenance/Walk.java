package dev.evergreen.provenance;

import dev.evergreen.provenance.Touch.Effect;
import dev.evergreen.provenance.Touch.Kind;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Walks a trace backwards along what an answer depends on, the newest operation first as a rule,
 * and reads no more of it than it needs.
 *
 * <p>A cell is <em>demanded</em> from some row on backwards. An operation that changed a demanded
 * cell is a cause, and the cells on which its change depended are demanded from there on. If it
 * certainly replaced the cell, what is older does not matter. An operation that could have written
 * the cell but did not is no cause; what kept it from writing is demanded. So the causes together
 * are a closed witness: with them all that is demanded is as it was, whatever else happens too.
 *
 * <p>Rows are no order of effects where operations of several lanes overlap. The walk goes by rows,
 * and notices where another order would lead it elsewhere: see {@link #unordered}. One that
 * overlaps and wrote nothing leads nowhere else, but what kept it from writing is demanded too,
 * also if it has a row above: so the walk may go up again.
 *
 * <p>A walk through <em>all</em> gives every operation that could have written anything demanded,
 * and stops at no replacement: what a search for other witnesses looks at. It has what may have
 * come before who demands, also with a row above.
 */
final class Walk implements Iterator<Operation> {
  private static final int NEAR = 4_096;
  private static final int FEW = 16;

  /** With so many causes of unknown outcome no order is tried, and the answer is one of several. */
  private static final int MOST_UNHEARD = Why.MOST_RUN_FOR_ALL;

  /** So many bytes are held of what was under way together with an operation. */
  private static final long MOST_BYTES = 4 << 20;

  private final Specification specification;
  private final Trace trace;
  private final Operation question;
  private final boolean all;
  private final Demands demands = new Demands();

  private final PriorityQueue<Cursor> cursors =
      new PriorityQueue<>(Comparator.comparingLong((Cursor cursor) -> cursor.row).reversed());

  /** The rows that were given: what may have been undone since is looked at again from there. */
  private final Rows given = new Rows();

  /** What was demanded because it kept others from writing: two of them may lead to each other. */
  private final Set<Kept> kept = new HashSet<>();

  private Trace.@Nullable Break reached;

  /** The newest place at which the store was another process, with nothing. */
  private Trace.@Nullable Break begunAnew;

  private boolean crossed;
  private boolean hidden;
  private boolean unordered;

  /** Above all that can have come before the question. */
  private final long last;

  /** How many of the causes nobody knows to have been done. */
  private int unheard;

  /** How many operations have met the demands. */
  private long taken;

  /** The end that was asked for last, as each of the cells of an operation needs it. */
  private long endOf = -1;

  private long lastEnd;

  /** What was found last to be under way together with an operation, by its row and a cell. */
  private List<Operation> beside = List.of();

  private long besideOf = -1;
  private Cell besideIn = Cell.ALL;

  /** What those near the present step could have written, by their rows. */
  private final Map<Long, List<Touch>> writes =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, List<Touch>> eldest) {
          return size() > NEAR;
        }
      };

  private @Nullable Operation next;

  private Walk(Specification specification, Trace trace, Operation question, boolean all) {
    this.specification = specification;
    this.trace = trace;
    this.question = question;
    this.all = all;
    this.last = Math.max(question.row(), trace.end(question));
  }

  /** A walk from the reads of these operations, which are the question, back. */
  static Walk from(
      Specification specification,
      Trace trace,
      Operation question,
      List<Operation> parts,
      boolean all) {
    var walk = new Walk(specification, trace, question, all);
    var wanted = new LinkedHashSet<Wanted>();
    for (var touch : specification.touches(parts.getLast())) {
      if (touch.kind() != Kind.REPLACES) {
        wanted.add(new Wanted(touch.cell(), question, false));
      }
      touch.from().forEach(cell -> wanted.add(new Wanted(cell, question, false)));
    }
    wanted.forEach(walk::demand);
    walk.take(question, parts.subList(0, parts.size() - 1));
    return walk;
  }

  /** The parts of an operation, or itself if it has none. */
  static List<Operation> parts(Operation operation) {
    return operation.parts().isEmpty() ? List.of(operation) : operation.parts();
  }

  /**
   * A place where the record is not whole, if the walk came to one while it still needed what is
   * before. Where the store began anew, with nothing, nothing is needed of before.
   */
  Trace.@Nullable Break reached() {
    return reached;
  }

  /**
   * The same, or the newest place of that kind among those that the walk has not come to yet: what
   * is behind it may not be needed.
   */
  Trace.@Nullable Break reachedOrAhead() {
    return reached != null
        ? reached
        : cursors.stream()
            .filter(cursor -> !cursor.demand.closed() && cursor.endMatters())
            .map(cursor -> cursor.end)
            .filter(Objects::nonNull)
            .max(Comparator.comparingLong(Trace.Break::row))
            .orElse(null);
  }

  /**
   * The newest place at which the store began anew, with nothing, if the walk came to one while it
   * still needed what is before.
   */
  Trace.@Nullable Break begunAnew() {
    return begunAnew;
  }

  /**
   * Whether something was under way at a place that the walk came to, and may have written there
   * what the walk still needed: what is behind that place does not tell all that happened since.
   */
  boolean crossed() {
    return crossed;
  }

  /** Whether a cause is an operation whose effects nobody knows. */
  boolean hidden() {
    return hidden;
  }

  /**
   * Whether the causes may be others, because operations overlapped and nobody knows which of them
   * took effect first. Found by a walk that is not through all.
   */
  boolean unordered() {
    return unordered;
  }

  /**
   * Whether a walk through all, at its end, has come by everything that the operation's reply can
   * depend on.
   */
  boolean covers(Operation operation) {
    long before = end(operation);
    var cells = new HashSet<Cell>();
    for (var touch : specification.allTouches(operation)) {
      cells.add(touch.cell());
      cells.addAll(touch.from());
    }
    return cells.stream().allMatch(cell -> demands.include(cell, before));
  }

  @Override
  public boolean hasNext() {
    while (next == null && !cursors.isEmpty()) {
      step();
    }
    return next != null;
  }

  @Override
  public Operation next() {
    if (!hasNext()) {
      throw new java.util.NoSuchElementException("the walk is at its end");
    }
    var found = Objects.requireNonNull(next);
    next = null;
    return found;
  }

  private void step() {
    var newest = cursors.poll();
    if (newest == null) {
      return;
    }
    if (newest.demand.closed()) {
      return;
    }
    if (newest.atEnd && newest.end != null) {
      if (newest.endMatters()) {
        var first = reached == null ? newest.end : reached;
        reached = first;
        // Of what did not pass the recorder nothing is certain in any case.
        boolean matters = all || first.kind() != Trace.Break.Kind.OUTSIDE;
        crossed = crossed || (matters && isCrossed(newest.demand, newest.end));
      } else if (begunAnew == null) {
        begunAnew = newest.end;
      }
      return;
    }
    if (!newest.rest.hasNext() || newest.rest.row() < newest.row) {
      // It has gone meanwhile.
      newest.place();
      return;
    }
    var operation = newest.rest.next();
    newest.place();
    while (!cursors.isEmpty() && !cursors.peek().atEnd && cursors.peek().row == operation.row()) {
      var same = cursors.remove();
      same.rest.skip();
      same.place();
    }
    if (operation.row() != question.row()
        && !Orders.precedes(trace, question, operation)
        && take(operation, parts(operation))
        && given.add(operation.row())) {
      // What kept one from writing that may have come after the question may have done so too.
      unordered |= Orders.unordered(trace, question, operation);
      next = operation;
    }
  }

  private boolean isCrossed(Demands.Demand demand, Trace.Break place) {
    // Of a cell that is within another one, what is near that one is at hand.
    var around = demands.around(demand.cell);
    return !demand.unwritten
        && trace.isCrossed(place, around)
        && (around.equals(demand.cell) || trace.isCrossed(place, demand.cell));
  }

  /** Above all that can have come before an operation. */
  private long end(Operation operation) {
    if (operation.row() != endOf) {
      lastEnd = Math.min(last, trace.end(operation));
      endOf = operation.row();
    }
    return lastEnd;
  }

  /** A cell that kept others from writing, and the row of who demands it. */
  private record Kept(Cell cell, long by) {}

  /** A cell that is to be demanded. */
  private record Wanted(Cell cell, long before, Operation by, boolean changed) {
    Wanted(Cell cell, Operation by, boolean changed) {
      this(cell, by.row(), by, changed);
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Wanted wanted
          && before == wanted.before
          && changed == wanted.changed
          && by.row() == wanted.by.row()
          && cell.equals(wanted.cell);
    }

    @Override
    public int hashCode() {
      return cell.hashCode();
    }
  }

  /**
   * Lets the parts of an operation do what they do to the demands, and tells whether it is a cause.
   */
  private boolean take(Operation operation, List<Operation> parts) {
    boolean cause = false;
    long row = operation.row();
    // What was said is not held for those that ask for what came before.
    var place = operation.place();
    // A cell that is demanded from there on, and that nobody has written, is no business of this
    // operation: what it replaces itself is written.
    long since = Math.max(end(place), row + 1);
    for (var part : parts.reversed()) {
      var wanted = new LinkedHashSet<Wanted>();
      boolean here = false;
      for (var touch : specification.touches(part).reversed()) {
        if (!touch.writes()) {
          continue;
        }
        for (var demand : demands.metBy(touch.cell())) {
          if (demand.isOf(row, taken)) {
            here |= all || touch.effect() != Effect.NO;
            if (all || touch.effect() != Effect.NO || touch.kind() == Kind.CHANGES) {
              if (touch.kind() == Kind.CHANGES) {
                wanted.add(new Wanted(touch.cell(), place, touch.effect() == Effect.YES));
              }
              for (var cell : touch.from()) {
                // As a rule most of them guard the cell, and are there for ever.
                if (!demands.isUnwritten(cell, since)) {
                  wanted.add(new Wanted(cell, place, false));
                }
              }
              for (var cell : touch.unless()) {
                wanted.add(new Wanted(cell, demand.before, demand.by, false));
              }
            }
            if (!all
                && touch.kind() == Kind.REPLACES
                && touch.effect() == Effect.YES
                && !operation.outcomeUnknown()) {
              var replaced = demand.overlap(touch.cell());
              wanted.addAll(lookBeside(replaced, place, demand.by, false));
              demands.replace(demand, touch.cell());
            }
          }
        }
      }
      demands.removeClosed();
      wanted.forEach(this::demand);
      hidden |= here && specification.knowledge(part) != Specification.Knowledge.SPECIFIED;
      cause |= here;
    }
    taken++;
    // Then it need not be looked any more which of them came first.
    unordered |= !all && cause && operation.outcomeUnknown() && ++unheard > MOST_UNHEARD;
    return cause;
  }

  private void demand(Wanted wanted) {
    if (all) {
      demand(wanted, Math.max(wanted.before(), end(wanted.by())));
      return;
    }
    var first = lookBeside(wanted.cell(), wanted.by(), wanted.by(), wanted.changed());
    demand(wanted, wanted.before());
    if (first.isEmpty()) {
      return;
    }
    var rest = new ArrayDeque<>(first);
    while (!rest.isEmpty()) {
      var next = rest.remove();
      rest.addAll(lookBeside(next.cell(), next.by(), next.by(), next.changed()));
      demand(next, next.before());
    }
  }

  private void demand(Wanted wanted, long before) {
    if (!demands.include(wanted.cell(), before)) {
      var demand = demands.add(wanted.cell(), before, wanted.by(), taken);
      var writers = trace.writers(demand.cell, demand.before);
      demand.unwritten = writers.row() == 0;
      // What is not on record may have come while the question was under way, and before it.
      long until = wanted.by().row() == question.row() ? last : demand.before;
      new Cursor(demand, writers, lastBreak(demand, until)).place();
    }
  }

  /** One at which the store became another process is not before what was sent to the former. */
  private Trace.@Nullable Break lastBreak(Demands.Demand demand, long until) {
    var place = trace.lastBreak(demand.cell, until);
    while (place.isPresent()
        && place.get().kind() == Trace.Break.Kind.EMPTY
        && place.get().row() > demand.by.row()) {
      place = trace.lastBreak(demand.cell, place.get().row());
    }
    return place.orElse(null);
  }

  /** Whether nothing below an operation's end has ever written a cell, for all that was read. */
  private boolean isUnwritten(Cell cell, Operation operation) {
    return demands.isUnwritten(cell, end(operation));
  }

  /**
   * Looks whether something that nobody can order with an operation has written a cell, and did so
   * before who demands the cell, for all that is known. Gives what kept others from writing it: on
   * that the cell depends wherever they came, and their rows do not tell whether the walk meets
   * them.
   *
   * @param changed whether the operation itself has changed the cell: then the order with others
   *     that have changed it, and did not replace it, does not matter
   */
  private List<Wanted> lookBeside(Cell cell, Operation operation, Operation by, boolean changed) {
    if (unordered || isUnwritten(cell, operation)) {
      return List.of();
    }
    var wanted = new ArrayList<Wanted>();
    for (var beside = beside(demands.around(cell), operation); beside.hasNext() && !unordered; ) {
      var other = beside.next();
      if (other.row() != question.row()
          && !Orders.precedes(trace, by, other)
          && !Orders.precedes(trace, question, other)) {
        for (var touch : writes(other)) {
          if (touch.cell().overlaps(cell)) {
            unordered |=
                touch.effect() != Effect.NO
                    && !(changed && touch.kind() == Kind.CHANGES && touch.effect() == Effect.YES);
            if (touch.effect() == Effect.NO && touch.kind() == Kind.CHANGES) {
              wanted.addAll(whatKept(other, touch, cell, by));
            }
          }
        }
      }
    }
    wanted.removeIf(one -> !kept.add(new Kept(one.cell(), one.before())));
    return wanted;
  }

  /**
   * What was under way together with an operation, and touches a cell. Of an operation that has to
   * do with many cells within that one it is asked for each: so it is kept, unless it is much.
   */
  private Iterator<Operation> beside(Cell around, Operation operation) {
    if (operation.row() != besideOf || !around.equals(besideIn)) {
      var all = trace.beside(around, operation);
      var few = new ArrayList<Operation>();
      long bytes = 0;
      while (all.hasNext() && few.size() < NEAR && bytes < MOST_BYTES) {
        few.add(all.next());
        bytes += few.getLast().bytes();
      }
      if (all.hasNext()) {
        return trace.beside(around, operation);
      }
      besideOf = operation.row();
      besideIn = around;
      beside = few;
    }
    return beside.iterator();
  }

  /**
   * What an operation could have written, which is asked of those that are near again and again.
   */
  private List<Touch> writes(Operation operation) {
    var known = writes.get(operation.row());
    if (known == null) {
      known = specification.allTouches(operation).stream().filter(Touch::writes).toList();
      if (known.size() <= FEW) {
        writes.put(operation.row(), known);
      }
    }
    return known;
  }

  /** What kept an operation from writing a cell, but for that cell, which is demanded already. */
  private static List<Wanted> whatKept(Operation other, Touch touch, Cell cell, Operation by) {
    var wanted = new ArrayList<Wanted>();
    var place = other.place();
    if (!cell.contains(touch.cell())) {
      wanted.add(new Wanted(touch.cell(), place, false));
    }
    touch.from().forEach(source -> wanted.add(new Wanted(source, place, false)));
    touch.unless().forEach(undoing -> wanted.add(new Wanted(undoing, by, false)));
    return wanted;
  }

  /**
   * Where the walk is among the writers of one demanded cell. What was said is read when their turn
   * comes: there may be very many cells.
   */
  private final class Cursor {
    final Demands.Demand demand;
    final Trace.Writers rest;
    final Trace.@Nullable Break end;
    boolean atEnd;
    long row;

    Cursor(Demands.Demand demand, Trace.Writers rest, Trace.@Nullable Break end) {
      this.demand = demand;
      this.rest = rest;
      this.end = end;
    }

    /** Whether there may have been something at the break that is not found behind it. */
    boolean endMatters() {
      return end != null && end.kind() != Trace.Break.Kind.EMPTY;
    }

    /** Waits at the next operation or at the break, whichever is newer, for its turn. */
    void place() {
      row = rest.row();
      atEnd = end != null && row <= end.row();
      if (atEnd && end != null) {
        row = end.row();
      }
      if (atEnd || row > 0) {
        cursors.add(this);
      }
    }
  }
}
