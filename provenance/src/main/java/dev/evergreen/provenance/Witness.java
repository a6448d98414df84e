package dev.evergreen.provenance;

import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What made an answer so: a part of the trace that gives the answer again, whatever else of the
 * trace happens too.
 *
 * @param elements in the order of the trace; none if the answer is that of an empty store
 */
public record Witness(List<Element> elements) {
  /** An element of a trace. */
  public sealed interface Element permits Done, Clock {}

  /** An operation was carried out. */
  public record Done(Operation operation) implements Element {}

  /** A moment came: a deadline that an operation had set passed. */
  public record Clock(Moment moment) implements Element {}

  /** Equal ones have the same elements: in which order they came makes it no other one. */
  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Witness witness
        && Set.copyOf(elements).equals(Set.copyOf(witness.elements));
  }

  @Override
  public int hashCode() {
    return Set.copyOf(elements).hashCode();
  }

  /** The rows of the operations, in order, without the clock. */
  public List<Long> rows() {
    return elements.stream()
        .filter(Done.class::isInstance)
        .map(element -> ((Done) element).operation().row())
        .toList();
  }
}
