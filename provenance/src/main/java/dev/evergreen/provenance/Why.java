package dev.evergreen.provenance;

import dev.evergreen.provenance.Answer.Certainty;
import dev.evergreen.provenance.Specification.Knowledge;
import dev.evergreen.provenance.Witness.Clock;
import dev.evergreen.provenance.Witness.Done;
import dev.evergreen.provenance.Witness.Element;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Answers why a store answered as it did, from a trace and a specification.
 *
 * <p>First the trace is walked backwards along what the answer depends on ({@link Walk}). What is
 * found is a closed witness, and all there is to say if it is long or if the specification brings
 * no model. Else the operations that could have had a part in it are run on the model, in every
 * order that explains their replies ({@link Orders}), and the closed witness is made minimal
 * ({@link Closures}).
 */
public final class Why {
  /**
   * So many operations that could have had a part in an answer are run on the model. If the walk
   * gives more causes, they are the answer, which says that it is {@linkplain Answer#truncated()
   * truncated}.
   */
  public static final int MOST_RUN = 120;

  /** The same if all witnesses are asked for. */
  public static final int MOST_RUN_FOR_ALL = 300;

  /** So many bytes of requests and replies are held for an answer, beside its newest cause. */
  private static final long MOST_BYTES = 64 << 20;

  /** Operations with so many words on average take twice as long as others to be run. */
  private static final int MANY_WORDS = 32;

  private static final String UNTRIED = "not all orders of overlapping operations were tried";

  private static final String UNDER_WAY =
      "something was under way where the record is not whole, and may have come since";

  private static final Comparator<Operation> BY_ROW = Comparator.comparingLong(Operation::row);

  private final Specification specification;
  private final Trace trace;
  private final Effort effort;

  /**
   * How much is tried.
   *
   * @param orders so many orders of operations that overlapped
   * @param steps so often an operation is run on a state
   * @param stepsForAll the same if all witnesses are asked for
   */
  record Effort(int orders, long steps, long stepsForAll) {
    static final Effort USUAL = new Effort(32, 20_000, 200_000);
  }

  /** Questions about this trace of such a store. */
  public Why(Specification specification, Trace trace) {
    this(specification, trace, Effort.USUAL);
  }

  Why(Specification specification, Trace trace, Effort effort) {
    this.specification = specification;
    this.trace = trace;
    this.effort = effort;
  }

  /**
   * What is asked for.
   *
   * @param all every minimal witness, not one
   * @param witnesses the most witnesses that are given
   * @param elements the most elements of a witness that are given; of a longer one these are the
   *     newest
   * @param part for an operation with parts, the number of the one that is asked about, from 0; -1
   *     for the last
   */
  public record Wish(boolean all, int witnesses, int elements, int part) {
    /** One witness, up to 10,000 elements of it. */
    public static final Wish ONE = new Wish(false, 1, 10_000, -1);

    /** All witnesses, up to 64. */
    public static final Wish ALL = new Wish(true, 64, 10_000, -1);
  }

  /**
   * The operations that made the answer so, the newest first as a rule, read from the trace as the
   * iterator goes on. Together they are a closed witness, which need not be minimal: the answer to
   * questions whose witnesses are too long to be held at once.
   */
  public Iterator<Operation> chain(Operation question) {
    return trace.atOnce(
        () -> Walk.from(specification, trace, question, Walk.parts(question), false));
  }

  /**
   * Why the operation's reply is as it is. Operations from the question's row on are no causes; a
   * question of now has a row above all others. If the question has no reply, it is answered what
   * the reply would be.
   *
   * @throws IllegalArgumentException if it has no part of the number that is wished for
   */
  public Answer ask(Operation question, Wish wish) {
    return trace.atOnce(
        () -> {
          var answer = answer(question, wish);
          return question.row() < trace.folded() ? answer.folded() : answer;
        });
  }

  private Answer answer(Operation question, Wish wish) {
    var parts = Walk.parts(question);
    if (wish.part() >= parts.size()) {
      throw new IllegalArgumentException(
          "%s has %d parts, counted from 0: there is no part %d"
              .formatted(question.request().getFirst(), parts.size(), wish.part()));
    }
    parts = wish.part() < 0 ? parts : parts.subList(0, wish.part() + 1);
    if (specification.knowledge(parts.getLast()) == Knowledge.NONE) {
      return new Answer(
          question,
          parts.getLast().reply(),
          Certainty.NO_SPECIFICATION,
          List.of(),
          false,
          false,
          "no specification speaks of " + question.request().getFirst());
    }
    var walk = Walk.from(specification, trace, question, parts, false);
    var causes = new ArrayList<Operation>();
    long bytes = 0;
    while (causes.size() < wish.elements() && bytes < MOST_BYTES && walk.hasNext()) {
      var cause = walk.next();
      bytes += cause.bytes();
      causes.add(cause);
    }
    causes.sort(BY_ROW);
    var plain = new Plain(question, parts, walk, causes, walk.hasNext(), wish.elements());
    var answer = answer(plain, wish);
    var anew = walk.begunAnew();
    return anew == null
        ? answer
        : answer.noted(
            "the store began anew, with nothing, before row %d: what it had until then was lost, or another has it"
                .formatted(anew.row()));
  }

  private Answer answer(Plain plain, Wish wish) {
    var parts = plain.parts;
    var causes = plain.causes;
    var model = specification.model();
    if (plain.isOutside()) {
      // The model knows nothing of what did not pass the recorder.
      return plain.answer(parts.getLast().reply(), null, "");
    }
    if (model.isEmpty()) {
      return plain.answer(parts.getLast().reply(), null, "");
    }
    if (plain.longer || causes.size() > mostRun(wish)) {
      return plain.untried(parts.getLast().reply(), mostRun(wish));
    }
    return search(plain, new Execution(specification, model.get(), trace, parts), wish);
  }

  private static int mostRun(Wish wish) {
    return wish.all() ? MOST_RUN_FOR_ALL : MOST_RUN;
  }

  /** So often one of these is run: less often if they have many words, as that takes longer. */
  private long mostSteps(Wish wish, List<Operation> operations) {
    long words = (long) operations.stream().mapToLong(Why::words).average().orElse(0);
    return (wish.all() ? effort.stepsForAll() : effort.steps()) / (1 + words / MANY_WORDS);
  }

  private static long words(Operation operation) {
    return operation.request().size() + operation.parts().stream().mapToLong(Why::words).sum();
  }

  /** What the walk alone tells. */
  private final class Plain {
    final Operation question;
    final List<Operation> parts;
    final Walk walk;
    final List<Operation> causes;
    final boolean longer;
    private final int most;

    Plain(
        Operation question,
        List<Operation> parts,
        Walk walk,
        List<Operation> causes,
        boolean longer,
        int most) {
      this.question = question;
      this.parts = parts;
      this.walk = walk;
      this.causes = causes;
      this.longer = longer;
      this.most = most;
    }

    /** An answer with what the walk found, as certain as that is or as is said. */
    Answer answer(@Nullable Object reply, @Nullable Certainty certainty, String note) {
      return answer(reply, certainty, longer || walk.unordered(), note);
    }

    /** An answer that nobody can tell, as a value is hidden that decides it. */
    Answer hidden() {
      var certainty = certainty();
      boolean known = certainty == Certainty.CERTAIN || certainty == Certainty.ONE_OF;
      return answer(null, known ? Certainty.OPAQUE : certainty, "a hidden value decides it");
    }

    /** The same, where the model was not asked because there is too much for it. */
    Answer untried(@Nullable Object reply, int most) {
      return answer(
          reply,
          null,
          true,
          "of more than %d operations it was not tried what can be left out".formatted(most));
    }

    private Answer answer(
        @Nullable Object reply, @Nullable Certainty certainty, boolean truncated, String note) {
      var named = walk.unordered() ? withThoseBeside() : causes;
      var elements = inOrder(named, clocks(named, question));
      return new Answer(
          question,
          reply,
          certainty == null ? certainty() : certainty,
          List.of(new Witness(elements)),
          named.isEmpty(),
          truncated,
          longer ? cut() : note);
    }

    /**
     * The causes, and the newest of those that were under way together with the question and may
     * have come before it: of one that has waited they tell for what.
     */
    private List<Operation> withThoseBeside() {
      var beside = new TreeSet<>(BY_ROW);
      // They leave room for the causes, of which at least the newer half is named.
      int room = Math.max(most - causes.size(), most / 2);
      var rest = Walk.from(specification, trace, question, parts, true);
      long bytes = causes.stream().mapToLong(Operation::bytes).sum();
      for (int i = 0; i < most && bytes < MOST_BYTES && rest.hasNext(); i++) {
        var other = rest.next();
        if (other.row() < question.row() || beside.size() >= room) {
          break;
        }
        bytes += other.bytes();
        if (other.row() != question.row() && mayHaveWritten(other)) {
          beside.add(other);
        }
      }
      var all = new TreeSet<>(BY_ROW);
      causes.stream()
          .sorted(BY_ROW)
          .skip(Math.max(0, causes.size() + beside.size() - (long) most))
          .forEach(all::add);
      all.addAll(beside);
      return List.copyOf(all);
    }

    private boolean mayHaveWritten(Operation other) {
      return specification.allTouches(other).stream()
          .anyMatch(touch -> touch.writes() && touch.effect() != Touch.Effect.NO);
    }

    /** How certain it is depends on what may be behind that. */
    private String cut() {
      return "only the newest %d of its causes were looked at, as that is the limit"
          .formatted(causes.size());
    }

    boolean isOutside() {
      return walk.reached() != null && walk.reached().kind() == Trace.Break.Kind.OUTSIDE;
    }

    /** Whether other causes are as possible, for all that the walk has seen. */
    boolean isOneOf() {
      return walk.unordered()
          || causes.stream().anyMatch(Operation::outcomeUnknown)
          || (question.isAsked()
              && clocks(causes, question).stream()
                  .anyMatch(clock -> !clock.moment().precedes(question)));
    }

    Certainty certainty() {
      var knowledge = specification.knowledge(parts.getLast());
      if (knowledge != Knowledge.SPECIFIED) {
        return knowledge == Knowledge.OPAQUE ? Certainty.OPAQUE : Certainty.NO_SPECIFICATION;
      }
      if (specification.mayBeNoFunction(parts.getLast())) {
        return Certainty.NO_SPECIFICATION;
      }
      // Of what was not walked, a break that is ahead counts as reached.
      var place = longer ? walk.reachedOrAhead() : walk.reached();
      if (place != null) {
        return switch (place.kind()) {
          case BEGINNING -> Certainty.BEFORE_RECORDING;
          case GAP -> Certainty.GAP;
          case OUTSIDE -> Certainty.OUTSIDE;
          case EMPTY -> throw new IllegalStateException("nothing is missing at " + place);
        };
      }
      if (walk.hidden()) {
        return Certainty.OPAQUE;
      }
      return isOneOf() ? Certainty.ONE_OF : Certainty.CERTAIN;
    }
  }

  private Answer search(Plain plain, Execution execution, Wish wish) {
    var asked = plain.parts.getLast();
    var recorded = execution.recorded(asked);
    if (plain.walk.crossed()) {
      // Not even the reply: what the model would be shown is not all that happened.
      return plain.answer(recorded.orElse(null), null, true, UNDER_WAY);
    }
    var walk = Walk.from(specification, trace, plain.question, plain.parts, true);
    var operations = new ArrayList<Operation>();
    long bytes = 0;
    while (operations.size() < mostRun(wish) && bytes < MOST_BYTES && walk.hasNext()) {
      operations.add(walk.next());
      bytes += operations.getLast().bytes();
    }
    // What is certainly behind the question came along with what may be before it, and so did the
    // question itself.
    operations.removeIf(
        operation ->
            operation.row() == plain.question.row()
                || Orders.precedes(trace, plain.question, operation));
    operations.sort(BY_ROW);
    boolean cut = walk.hasNext() || walk.reached() != null;
    if (!operations.containsAll(plain.causes)) {
      return plain.answer(recorded.orElse(null), null, "");
    }
    if (walk.crossed()) {
      return plainly(plain, execution, State.initial(false), recorded, wish, UNDER_WAY);
    }
    var start = State.initial(!cut);
    long steps = mostSteps(wish, operations);
    var orders =
        new Orders(
            execution,
            plain.question,
            operations,
            operations.stream().filter(walk::covers).collect(Collectors.toSet()),
            clocks(operations, plain.question),
            recorded,
            effort.orders(),
            steps);
    var found = orders.from(start.copy());
    if (found.isEmpty()) {
      return orders.truncated()
          ? plain.untried(recorded.orElse(null), operations.size())
          : plain.answer(
              recorded.orElse(null),
              Certainty.OUTSIDE,
              "no order of the recorded operations explains the replies");
    }
    if (orders.truncated() && !plain.isOneOf()) {
      return plainly(plain, execution, start, recorded, wish, UNTRIED);
    }
    // Orders that were not tried may lead elsewhere.
    boolean untried = (orders.truncated() || cut) && plain.isOneOf();
    var result = new Result(recorded.orElse(null), orders.truncated(), untried, !plain.isOneOf());
    var causes = Set.copyOf(plain.causes);
    for (var order : found) {
      var end = start.copy();
      order.forEach(element -> execution.run(element, end));
      var reply = execution.reply(end);
      if (reply.isEmpty()) {
        return recorded.isEmpty() && execution.metHidden()
            ? plain.hidden()
            : plain.answer(recorded.orElse(null), null, "");
      }
      result.add(
          new Closures(execution, order, start, reply.get(), steps), reply.get(), causes, wish);
    }
    return result.answer(plain.question, wish, cut || trace.folded() > 0);
  }

  /**
   * What the walk found where not all orders were tried, or not all that is in them is known: in
   * another order less of it may be needed, but all of it is enough in each. So it alone tells the
   * reply, if the order in it does not matter.
   */
  private Answer plainly(
      Plain plain,
      Execution execution,
      State start,
      Optional<Object> recorded,
      Wish wish,
      String note) {
    if (recorded.isPresent()) {
      return plain.answer(recorded.get(), null, true, note);
    }
    var orders =
        new Orders(
            execution,
            plain.question,
            plain.causes,
            Set.of(),
            clocks(plain.causes, plain.question),
            recorded,
            effort.orders(),
            mostSteps(wish, plain.causes));
    var replies = new HashSet<Optional<Object>>();
    for (var order : orders.from(start.copy())) {
      var end = start.copy();
      order.forEach(element -> execution.run(element, end));
      replies.add(execution.reply(end));
    }
    boolean same = !orders.truncated() && replies.size() == 1;
    if (execution.metHidden() && replies.contains(Optional.<Object>empty())) {
      return plain.hidden();
    }
    return plain.answer(
        same ? replies.iterator().next().orElse(null) : null,
        same ? null : Certainty.ONE_OF,
        true,
        note);
  }

  /** The witnesses of all orders together. */
  private static final class Result {
    private final Set<Witness> witnesses = new LinkedHashSet<>();
    private final Set<Object> replies = new LinkedHashSet<>();
    private final List<Set<Witness>> perOrder = new ArrayList<>();
    private @Nullable Object reply;
    private final boolean untried;
    private final boolean walked;
    private boolean truncated;
    private boolean minimal = true;

    /**
     * No witnesses yet.
     *
     * @param untried whether there may be orders that were not tried, and lead elsewhere
     * @param walked whether the walk's causes are closed in whatever order
     */
    Result(@Nullable Object reply, boolean truncated, boolean untried, boolean walked) {
      this.reply = reply;
      this.untried = untried;
      this.walked = walked;
      this.truncated = truncated || untried;
    }

    void add(Closures closures, Object reply, Set<Operation> causes, Wish wish) {
      var chain = closures.part(causes);
      var whole = closures.part(closures.operations());
      var order = closures.order(chain);
      boolean closed = closures.closed(chain);
      // What was folded hides that it is closed, but not from the walk.
      boolean hidden = !closed && walked && closures.closedAsIfWhole(chain);
      var first = hidden ? chain : closures.shrink(closed ? chain : whole, order);
      var mine = new LinkedHashSet<Witness>();
      for (var part :
          wish.all() ? closures.all(first, order, wish.witnesses() + 1) : Set.of(first)) {
        mine.add(closures.witness(part));
      }
      // An order in which a witness of another order is one too adds no other possibility.
      var same = wish.all() ? null : closures.firstClosed(witnesses);
      if (same == null) {
        witnesses.addAll(mine);
        perOrder.add(mine);
      } else {
        minimal &= same.equals(first) || closures.shrink(same, order).equals(same);
      }
      replies.add(reply);
      this.reply = this.reply == null ? reply : this.reply;
      minimal &=
          !hidden && !closures.exhausted() && !closures.mayHoldMore(same == null ? first : same);
      minimal &= !closures.isGuessed();
      truncated |= wish.all() && closures.exhausted();
    }

    Answer answer(Operation question, Wish wish, boolean cut) {
      boolean several = untried || replies.size() > 1 || perOrder.stream().distinct().count() > 1;
      truncated |= wish.all() && (cut || witnesses.size() > wish.witnesses());
      var given =
          witnesses.stream()
              .limit(wish.all() ? wish.witnesses() : Math.max(wish.witnesses(), perOrder.size()))
              .toList();
      return new Answer(
          question,
          reply,
          several ? Certainty.ONE_OF : Certainty.CERTAIN,
          given,
          minimal,
          truncated,
          replies.size() > 1 ? "possible replies: " + replies : "");
    }
  }

  /** The deadlines that these operations set and that may have passed before the question. */
  private List<Clock> clocks(List<Operation> operations, Operation question) {
    var moments =
        new TreeSet<>(
            Comparator.comparing(Moment::latest)
                .thenComparing(Moment::earliest)
                .thenComparing(Moment::by)
                .thenComparing(Moment::part));
    for (var operation : operations) {
      for (var part : Walk.parts(operation)) {
        moments.addAll(specification.deadlines(part));
      }
    }
    return moments.stream().filter(moment -> !moment.follows(question)).map(Clock::new).toList();
  }

  private static List<Element> inOrder(List<Operation> operations, List<Clock> clocks) {
    var elements = new ArrayList<Element>();
    var rest = new ArrayList<>(clocks);
    for (var operation : operations) {
      while (!rest.isEmpty() && rest.getFirst().moment().precedes(operation)) {
        elements.add(rest.removeFirst());
      }
      elements.add(new Done(operation));
    }
    elements.addAll(rest);
    return elements;
  }
}
