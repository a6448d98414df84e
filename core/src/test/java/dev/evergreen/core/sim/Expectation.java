package dev.evergreen.core.sim;

import dev.evergreen.core.ReadOnlyViolationException;
import java.util.List;
import java.util.concurrent.Callable;

/**
 * What a query must yield in the present states: by fresh calls, which must agree with the model.
 *
 * <p>Where reads go in a circle they differ: a chain of calls ends where it comes back to, and of
 * computations all members of the circle fail. Both are computed by the model, and nothing else is
 * accepted.
 */
final class Expectation {

  private static final String REFUSAL = ReadOnlyViolationException.class.getSimpleName();

  private final App app;
  private final LiveReader calls;
  private final Model model;

  private Expectation(App app, SimNode node, Model model) {
    this.app = app;
    this.calls = new LiveReader(node, app, false);
    this.model = model;
  }

  /** Asks for all states. */
  Expectation(App app, SimNode node) {
    this(app, node, Model.of(app, node));
  }

  /** In the same states, by calls of another node. */
  Expectation by(SimNode node) {
    return new Expectation(app, node, model);
  }

  Model model() {
    return model;
  }

  /** Whether a result is one that a tracker of this query must have last. */
  boolean accepts(Query query, Seen got) {
    return switch (query) {
      case Query.Asks(var program, var what) -> got.equals(asked(program, what));
      case Query.One(var ref) -> read(ref).equals(got);
      case Query.Run(var program) -> run(program).equals(got);
      case Query.VersionOf(var cell) -> got.equals(Seen.value(model.version(cell)));
      case Query.FirstOf(var a, var b) -> acceptsFirst(read(a), read(b), got);
      case Query.Writing writing -> got.text().startsWith(REFUSAL);
      case Query.TwinsOf(var ring) -> acceptsTwins(query, ring, got);
      case Query.RoughOf(var cell) ->
          !got.failed() && Long.parseLong(got.text()) / 10 == model.value(cell) / 10;
      case Query.ParityOf(var ref) -> sameParity(read(ref), got);
    };
  }

  /** As {@link #accepts(Query, Seen)}, of a computation over one read. */
  boolean accepts(Ref ref, String got) {
    return read(ref).text().equals(got);
  }

  /** For a message. */
  String describe(Query query) {
    return switch (query) {
      case Query.Asks(var program, var what) -> asked(program, what).toString();
      case Query.One(var ref) -> describe(ref);
      case Query.Run(var program) -> run(program).toString();
      case Query.VersionOf(var cell) -> "" + model.version(cell);
      case Query.FirstOf(var a, var b) -> describe(a) + " or " + describe(b);
      case Query.Writing writing -> REFUSAL;
      case Query.TwinsOf(var ring) -> model.twins(ring) + " twins";
      case Query.RoughOf(var cell) -> "about " + model.value(cell);
      case Query.ParityOf(var ref) -> "the parity of " + describe(ref);
    };
  }

  String describe(Ref ref) {
    return read(ref).toString();
  }

  private static boolean acceptsFirst(Seen a, Seen b, Seen got) {
    return got.failed() ? a.equals(got) && b.failed() : a.equals(got) || b.equals(got);
  }

  /** Whether several can be told depends on where they are asked for. */
  private boolean acceptsTwins(Query query, String ring, Seen got) {
    int twins = model.twins(ring);
    var called = Seen.of(() -> Queries.run(query, calls));
    return got.equals(called) && (got.equals(Seen.value(twins)) || (twins > 1 && got.failed()));
  }

  private static boolean sameParity(Seen expected, Seen got) {
    if (expected.failed() || got.failed()) {
      return expected.equals(got);
    }
    return ((Long.parseLong(expected.text()) ^ Long.parseLong(got.text())) & 1) == 0;
  }

  private Seen asked(dev.evergreen.core.version.Program program, String what) {
    return Seen.of(() -> Long.parseLong(program.ask(calls.grains(), what)));
  }

  private Seen read(Ref ref) {
    return agreed(() -> model.read(ref), Seen.of(() -> calls.read(ref)), ref);
  }

  private Seen run(List<Step> program) {
    return agreed(
        () -> Program.run(program, Queries.ROOT, 0, model),
        Seen.of(() -> Program.run(program, Queries.ROOT, 0, calls)),
        program);
  }

  private Seen agreed(Callable<Long> read, Seen called, Object what) {
    var modelled = model.called(read);
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
    return model.computed(read);
  }
}
