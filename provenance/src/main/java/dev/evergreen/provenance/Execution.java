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

  /** What a word takes beside its bytes. */
  private static final int WORD = 64;

  private final Specification specification;
  private final Model model;
  private final Trace trace;
  private final List<Operation> question;
  private final IdentityHashMap<Operation, Growth> growths = new IdentityHashMap<>();

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

  /**
   * How much a state may become larger by an operation.
   *
   * @param given whether all that is new is what the request says, which all states share
   */
  private record Growth(long bytes, boolean given) {}

  Specification specification() {
    return specification;
  }

  /** Carries out an element. */
  void run(Element element, State state) {
    switch (element) {
      case Clock(var moment) -> state.advance(moment);
      case Done(var operation) -> Walk.parts(operation).forEach(part -> run(part, state));
    }
  }

  /** Carries out an operation and gives its reply; empty if too little is known for one. */
  Optional<Object> run(Operation operation, State state) {
    trace.checkTime();
    var growth = growths.computeIfAbsent(operation, this::growth);
    state.grow(growth.bytes(), growth.given());
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

  private Growth growth(Operation operation) {
    long bytes = operation.request().stream().mapToLong(word -> word.length() + WORD).sum();
    boolean given =
        specification.touches(operation).stream()
            .filter(Touch::writes)
            .allMatch(touch -> touch.kind() == Touch.Kind.REPLACES && touch.from().isEmpty());
    return new Growth(bytes, given);
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
