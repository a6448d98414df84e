package dev.evergreen.provenance;

import dev.evergreen.provenance.Touch.Effect;
import dev.evergreen.provenance.Touch.Kind;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Walks a trace backwards along what an answer depends on, the newest operation first as a rule,
 * and reads no more of it than it needs.
 *
 * <p>A cell is <em>demanded</em> from some row on backwards. An operation that changed a demanded
 * cell is a cause, and the cells on which its change depended are demanded from there on. If it
 * replaced the cell, what is older does not matter. An operation that could have written the cell
 * but did not is no cause; what kept it from writing is demanded. So the causes together are a
 * closed witness: with them all that is demanded is as it was, whatever else happens too.
 *
 * <p>A walk through <em>all</em> gives every operation that could have written anything demanded,
 * and stops at no replacement: what a search for other witnesses looks at.
 */
final class Walk implements Iterator<Operation> {
  private final Specification specification;
  private final Trace trace;
  private final boolean all;
  private final List<Demand> open = new ArrayList<>();
  private final PriorityQueue<Cursor> cursors =
      new PriorityQueue<>(Comparator.comparingLong((Cursor cursor) -> cursor.row).reversed());

  /** The rows that were given: what may have been undone since is looked at again from there. */
  private final Set<Long> given = new HashSet<>();

  private Trace.@Nullable Break reached;
  private boolean hidden;
  private @Nullable Operation next;

  Walk(Specification specification, Trace trace, boolean all) {
    this.specification = specification;
    this.trace = trace;
    this.all = all;
  }

  /** A walk from the reads of these operations, which are the question, back. */
  static Walk from(
      Specification specification,
      Trace trace,
      Operation question,
      List<Operation> parts,
      boolean all) {
    var walk = new Walk(specification, trace, all);
    for (int i = parts.size() - 1; i >= 0; i--) {
      if (i == parts.size() - 1) {
        for (var touch : specification.touches(parts.get(i))) {
          if (touch.kind() != Kind.REPLACES) {
            walk.demand(new Demand(touch.cell(), question.row()));
          }
          touch.from().forEach(cell -> walk.demand(new Demand(cell, question.row())));
        }
      } else {
        walk.take(question.row(), parts.get(i));
      }
    }
    return walk;
  }

  /** The parts of an operation, or itself if it has none. */
  static List<Operation> parts(Operation operation) {
    return operation.parts().isEmpty() ? List.of(operation) : operation.parts();
  }

  /**
   * A place where the record is not whole, if the walk came to one while it still needed what is
   * before.
   */
  Trace.@Nullable Break reached() {
    return reached;
  }

  /** Whether a cause is an operation whose effects nobody knows. */
  boolean hidden() {
    return hidden;
  }

  /**
   * Whether a walk through all, at its end, has come by everything that the operation's reply can
   * depend on.
   */
  boolean covers(Operation operation) {
    for (var part : parts(operation)) {
      for (var touch : specification.touches(part)) {
        if (!covers(touch.cell(), operation.row())
            || !touch.from().stream().allMatch(cell -> covers(cell, operation.row()))) {
          return false;
        }
      }
    }
    return true;
  }

  private boolean covers(Cell cell, long row) {
    return open.stream().anyMatch(demand -> demand.includes(new Demand(cell, row)));
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
    var found = java.util.Objects.requireNonNull(next);
    next = null;
    return found;
  }

  private void step() {
    var newest = cursors.poll();
    if (newest == null) {
      return;
    }
    if (newest.demand.closed) {
      return;
    }
    if (newest.head == null) {
      if (reached == null) {
        reached = newest.end;
      }
      return;
    }
    var operation = newest.head;
    newest.advance();
    while (!cursors.isEmpty()
        && cursors.peek().head != null
        && cursors.peek().row == operation.row()) {
      cursors.remove().advance();
    }
    if (take(operation.row(), operation) && given.add(operation.row())) {
      next = operation;
    }
  }

  /** Lets the operation do what it does to the demands, and tells whether it is a cause. */
  private boolean take(long row, Operation operation) {
    boolean cause = false;
    for (var part : parts(operation).reversed()) {
      var wanted = new ArrayList<Demand>();
      boolean here = false;
      for (var touch : specification.touches(part).reversed()) {
        for (var demand : touch.writes() ? List.copyOf(open) : List.<Demand>of()) {
          if (demand.meets(touch.cell())) {
            here |= all || touch.effect() != Effect.NO;
            if (all || touch.effect() != Effect.NO || touch.kind() == Kind.CHANGES) {
              if (touch.kind() == Kind.CHANGES) {
                wanted.add(new Demand(touch.cell(), row));
              }
              touch.from().forEach(cell -> wanted.add(new Demand(cell, row)));
              touch.unless().forEach(cell -> wanted.add(new Demand(cell, demand.before)));
            }
            if (!all
                && touch.kind() == Kind.REPLACES
                && touch.effect() != Effect.NO
                && !operation.outcomeUnknown()) {
              demand.cover(touch.cell());
            }
          }
        }
      }
      open.removeIf(demand -> demand.closed);
      wanted.forEach(this::demand);
      hidden |= here && specification.knowledge(part) != Specification.Knowledge.SPECIFIED;
      cause |= here;
    }
    return cause;
  }

  private void demand(Demand wanted) {
    if (open.stream().noneMatch(demand -> demand.includes(wanted))) {
      open.add(wanted);
      new Cursor(
              wanted,
              trace.writers(wanted.cell, wanted.before),
              trace.lastBreak(wanted.cell, wanted.before).orElse(null))
          .advance();
    }
  }

  /** A cell that is demanded, but for what was replaced in it since. */
  private static final class Demand {
    final Cell cell;
    final long before;
    final Set<Cell> replaced = new HashSet<>();
    boolean closed;

    Demand(Cell cell, long before) {
      this.cell = cell;
      this.before = before;
    }

    boolean meets(Cell touched) {
      return !closed
          && cell.overlaps(touched)
          && (replaced.isEmpty()
              || (!replaced.contains(touched)
                  && touched.ancestors().stream().noneMatch(replaced::contains)));
    }

    /** Whether all that the other demands is demanded by this. */
    boolean includes(Demand other) {
      return before >= other.before
          && cell.contains(other.cell)
          && replaced.stream().noneMatch(other.cell::overlaps);
    }

    void cover(Cell touched) {
      closed |= touched.contains(cell);
      if (!closed) {
        replaced.add(touched);
      }
    }
  }

  /** Where the walk is among the writers of one demanded cell. */
  private final class Cursor {
    final Demand demand;
    final Iterator<Operation> rest;
    final Trace.@Nullable Break end;
    @Nullable Operation head;
    long row;

    Cursor(Demand demand, Iterator<Operation> rest, Trace.@Nullable Break end) {
      this.demand = demand;
      this.rest = rest;
      this.end = end;
    }

    /**
     * Goes on to the next operation or to the break, whichever is newer, and waits there for its
     * turn.
     */
    void advance() {
      head = rest.hasNext() ? rest.next() : null;
      if (end != null && (head == null || head.row() <= end.row())) {
        head = null;
        row = end.row();
        cursors.add(this);
      } else if (head != null) {
        row = head.row();
        cursors.add(this);
      }
    }
  }
}
