package dev.evergreen.provenance;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;

/**
 * A trace in memory, for tests of specifications and for short recordings: it looks at every
 * operation. It begins with an empty store.
 */
public final class MemoryTrace implements Trace {
  private final Specification specification;
  private final List<Operation> operations = new ArrayList<>();
  private final List<Break> breaks = new ArrayList<>();

  /** An empty trace of such a store. */
  public MemoryTrace(Specification specification) {
    this.specification = specification;
  }

  /** Appends an operation, whose row is higher than those before. */
  public MemoryTrace add(Operation operation) {
    if (!operations.isEmpty() && operations.getLast().row() >= operation.row()) {
      throw new IllegalArgumentException(
          "row "
              + operation.row()
              + " after row "
              + operations.getLast().row()
              + ": rows must grow");
    }
    operations.add(operation);
    return this;
  }

  /** Notes that the record is not whole here, for any cell. */
  public MemoryTrace add(Break place) {
    breaks.add(place);
    return this;
  }

  /** The specification of the store whose operations these are. */
  public Specification specification() {
    return specification;
  }

  /** The operations, in the order of their rows. */
  public List<Operation> operations() {
    return List.copyOf(operations);
  }

  @Override
  public Writers writers(Cell cell, long before) {
    return Writers.of(
        operations.reversed().stream()
            .filter(operation -> operation.row() < before && writes(operation, cell))
            .iterator());
  }

  @Override
  public Iterator<Operation> beside(Cell cell, Operation operation) {
    return operations.reversed().stream()
        .filter(other -> Orders.unordered(this, operation, other) && writes(other, cell))
        .iterator();
  }

  @Override
  public long end(Operation operation) {
    if (operation.isAsked()) {
      return operation.row();
    }
    var replied = operation.replied();
    return replied == null
        ? Long.MAX_VALUE
        : operations.reversed().stream()
            .filter(other -> other.sent().isBefore(replied))
            .mapToLong(other -> other.row() + 1)
            .findFirst()
            .orElse(0);
  }

  @Override
  public Optional<Break> lastBreak(Cell cell, long before) {
    return breaks.reversed().stream().filter(place -> place.row() < before).findFirst();
  }

  private boolean writes(Operation operation, Cell cell) {
    return specification.allTouches(operation).stream()
        .anyMatch(touch -> touch.writes() && touch.cell().overlaps(cell));
  }
}
