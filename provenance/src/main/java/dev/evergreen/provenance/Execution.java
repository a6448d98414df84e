package dev.evergreen.provenance;

import dev.evergreen.provenance.Specification.Knowledge;
import dev.evergreen.provenance.Witness.Clock;
import dev.evergreen.provenance.Witness.Done;
import dev.evergreen.provenance.Witness.Element;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Optional;

/** Runs elements of a trace on a model, and asks a question of the state that comes out. */
final class Execution {
  /** States are held that have so many bytes of their own, beside one. */
  static final long MOST_BYTES = 64 << 20;

  private final Specification specification;
  private final Model model;
  private final Trace trace;
  private final List<Operation> question;

  /** Of operations, what is not known without them. */
  private final IdentityHashMap<Operation, List<Cell>> covered = new IdentityHashMap<>();

  /** Of operations, whether all that they write is what their requests say. */
  private final IdentityHashMap<Operation, Boolean> given = new IdentityHashMap<>();

  private boolean hidden;
  private boolean unmodelled;

  /**
   * Executions for one question.
   *
   * @param trace is asked before each operation whether to go on
   * @param question the operations that are the question, the last of which is asked about
   */
  Execution(Specification specification, Model model, Trace trace, List<Operation> question) {
    this.specification = specification;
    this.model = model;
    this.trace = trace;
    this.question = question;
  }

  Specification specification() {
    return specification;
  }

  Trace trace() {
    return trace;
  }

  /** Whether the model could not tell so far what something does, as a value is hidden. */
  boolean metHidden() {
    return hidden;
  }

  /** Whether there was something so far that the model cannot run in any state like that. */
  boolean metUnmodelled() {
    return unmodelled;
  }

  /** Carries out an element. */
  void run(Element element, State state) {
    switch (element) {
      case Clock(var moment) -> state.pass(moment);
      case Done(var operation) -> Walk.parts(operation).forEach(part -> run(part, state));
    }
  }

  /** Carries out an operation and gives its reply; empty if too little is known for one. */
  Optional<Object> run(Operation operation, State state) {
    trace.checkTime();
    state.given(given.computeIfAbsent(operation, this::isGiven));
    if (specification.knowledge(operation) == Knowledge.SPECIFIED) {
      try {
        return Optional.of(model.run(operation, state));
      } catch (RuntimeException unknown) {
        hidden |= unknown instanceof HiddenException;
        unmodelled |= !(unknown instanceof State.UnknownException);
        // Either the state is not known, or the model cannot tell what so odd a request does.
        if (unknown instanceof State.UnknownException && replaces(operation, state)) {
          return Optional.empty();
        }
      }
    }
    unmodelled |= specification.knowledge(operation) != Knowledge.SPECIFIED;
    for (var touch : specification.touches(operation)) {
      if (touch.writes()) {
        state.forget(touch.cell());
      }
    }
    return Optional.empty();
  }

  /**
   * Carries out an operation that replaces what is not known, if all that it writes depends on
   * nothing of that. Answers whether that could be done.
   */
  private boolean replaces(Operation operation, State state) {
    var writes = specification.touches(operation).stream().filter(Touch::writes).toList();
    var from = writes.stream().flatMap(touch -> touch.from().stream()).toList();
    var free =
        writes.stream()
            .map(Touch::cell)
            .filter(cell -> from.stream().noneMatch(cell::overlaps))
            .toList();
    if (free.isEmpty() || writes.stream().anyMatch(one -> one.kind() != Touch.Kind.REPLACES)) {
      return false;
    }
    free.forEach(state::clear);
    try {
      var _ = model.run(operation, state);
      return true;
    } catch (RuntimeException unknown) {
      return false;
    }
  }

  /** Whether it is not known what would be there without an element. */
  boolean covers(Element element) {
    return !covered(element).isEmpty();
  }

  private List<Cell> covered(Element element) {
    return element instanceof Done(var operation)
        ? covered.computeIfAbsent(operation, trace::covered)
        : List.of();
  }

  /** What is left of a state if an element is left out that covers what is gone. */
  State without(Element element, State state) {
    if (!covers(element)) {
      return state;
    }
    var left = state.copy();
    covered(element).forEach(left::forget);
    return left;
  }

  private boolean isGiven(Operation operation) {
    return specification.touches(operation).stream()
        .filter(Touch::writes)
        .allMatch(touch -> touch.kind() == Touch.Kind.REPLACES && touch.from().isEmpty());
  }

  /** The reply that is on record; empty if there is none, or not the whole of it. */
  Optional<Object> recorded(Operation operation) {
    try {
      return operation.outcomeUnknown() ? Optional.empty() : Optional.of(model.reply(operation));
    } catch (IllegalArgumentException cut) {
      return Optional.empty();
    }
  }

  /** What the question replies in a state, which stays as it is. */
  Optional<Object> reply(State state) {
    var copy = state.copy();
    Optional<Object> reply = Optional.empty();
    for (var part : question) {
      reply = run(part, copy);
    }
    return reply;
  }
}
