package dev.evergreen.core.sim;

import dev.evergreen.core.Grains;
import dev.evergreen.core.ReadOnlyViolationException;
import java.util.List;

/**
 * What a query must yield in the present states: by fresh calls, which must agree with the model.
 * Queries that lead into a cycle of reads may yield anything.
 */
final class Expectation {

  private static final String REFUSAL = ReadOnlyViolationException.class.getSimpleName();

  private final App app;
  private final LiveReader calls;
  private final Model model;

  Expectation(App app, Grains grains) {
    this.app = app;
    this.calls = new LiveReader(app, grains, false);
    this.model = Model.of(app, grains);
  }

  Model model() {
    return model;
  }

  /** How a result relates to what it must be. */
  enum Judgement {
    RIGHT,
    WRONG,
    /** The query leads into a cycle of reads: anything goes. */
    CYCLIC
  }

  /** Judges a tracker's last result. */
  Judgement judge(Query query, Seen got) {
    try {
      return accepts(query, got) ? Judgement.RIGHT : Judgement.WRONG;
    } catch (Model.Cycle e) {
      return Judgement.CYCLIC;
    }
  }

  /** Judges a computation over one read. */
  Judgement judge(Ref ref, String got) {
    try {
      return read(ref).text().equals(got) ? Judgement.RIGHT : Judgement.WRONG;
    } catch (Model.Cycle e) {
      return Judgement.CYCLIC;
    }
  }

  private boolean accepts(Query query, Seen got) {
    return switch (query) {
      case Query.One(var ref) -> got.equals(read(ref));
      case Query.Run(var program) -> got.equals(run(program));
      case Query.VersionOf(var cell) -> got.equals(Seen.value(model.version(cell)));
      case Query.FirstOf(var a, var b) -> acceptsFirst(read(a), read(b), got);
      case Query.Writing writing -> got.text().startsWith(REFUSAL);
      case Query.RoughOf(var cell) ->
          !got.failed() && Long.parseLong(got.text()) / 10 == model.value(cell) / 10;
      case Query.ParityOf(var ref) -> acceptsParity(read(ref), got);
    };
  }

  /** For a message. */
  String describe(Query query) {
    return switch (query) {
      case Query.One(var ref) -> describe(ref);
      case Query.Run(var program) -> run(program).toString();
      case Query.VersionOf(var cell) -> "" + model.version(cell);
      case Query.FirstOf(var a, var b) -> describe(a) + " or " + describe(b);
      case Query.Writing writing -> REFUSAL;
      case Query.RoughOf(var cell) -> "about " + model.value(cell);
      case Query.ParityOf(var ref) -> "the parity of " + describe(ref);
    };
  }

  String describe(Ref ref) {
    return read(ref).toString();
  }

  private static boolean acceptsFirst(Seen a, Seen b, Seen got) {
    if (a.failed() && b.failed()) {
      return got.equals(a);
    }
    return (!a.failed() && got.equals(a)) || (!b.failed() && got.equals(b));
  }

  private static boolean acceptsParity(Seen expected, Seen got) {
    if (expected.failed() || got.failed()) {
      return expected.equals(got);
    }
    return ((Long.parseLong(expected.text()) ^ Long.parseLong(got.text())) & 1) == 0;
  }

  private Seen read(Ref ref) {
    return agreed(Seen.of(() -> model.read(ref)), Seen.of(() -> calls.read(ref)), ref);
  }

  private Seen run(List<Step> program) {
    return agreed(
        Seen.of(() -> Program.run(program, Queries.ROOT, 0, model)),
        Seen.of(() -> Program.run(program, Queries.ROOT, 0, calls)),
        program);
  }

  private Seen agreed(Seen modelled, Seen called, Object what) {
    if (!modelled.equals(called)) {
      app.violation(
          "1: a fresh call of "
              + what
              + " yields "
              + called
              + ", but by the states it is "
              + modelled
              + "; states: "
              + model.states());
    }
    return called;
  }
}
