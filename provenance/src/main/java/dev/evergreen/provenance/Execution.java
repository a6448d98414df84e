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

  /** Of operations, whether all that they write is what their requests say. */
  private final IdentityHashMap<Operation, Boolean> given = new IdentityHashMap<>();

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
        // Either the state is not known, or the model cannot tell what so odd a request does.
      }
    }
    for (var touch : specification.touches(operation)) {
      if (touch.writes()) {
        state.forget(touch.cell());
      }
    }
    return Optional.empty();
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
