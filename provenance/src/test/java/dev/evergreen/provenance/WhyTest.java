package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Answer.Certainty;
import dev.evergreen.provenance.Trace.Break;
import java.time.Instant;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Answers where the record says less than all, and where there is much of it. The store is the
 * example's keeper.
 */
class WhyTest {
  private final KeeperSpecification keeper = new KeeperSpecification();
  private final MemoryTrace trace = new MemoryTrace(keeper);
  private final Why why = new Why(keeper, trace);

  private static Operation operation(
      long row, long lane, int sent, int replied, String request, @Nullable String reply) {
    return new Operation(
        row,
        1,
        lane,
        lane,
        "",
        Instant.EPOCH.plusMillis(sent),
        reply == null ? null : Instant.EPOCH.plusMillis(replied),
        Arrays.stream(request.split(" ", -1)).map(Bytes::of).toList(),
        reply == null ? null : Bytes.of(reply));
  }

  private Answer ask(String request, @Nullable String reply) {
    return why.ask(operation(1000, 1, 1000, 1001, request, reply), Why.Wish.ALL);
  }

  private static Set<List<Long>> rows(Answer answer) {
    return answer.witnesses().stream().map(Witness::rows).collect(Collectors.toSet());
  }

  @Test
  void operationsThatOverlapAreAnsweredAsEachPossibility() {
    trace
        .add(operation(1, 1, 1, 9, "PUT a 1", "kept"))
        .add(operation(2, 2, 2, 8, "PUT a 2", "kept"));
    var later = ask("GET a", null);
    assertEquals(Certainty.ONE_OF, later.certainty());
    assertEquals(Set.of(List.of(1L), List.of(2L)), rows(later));
  }

  @Test
  void aReplyTellsWhichOfTheOrdersItWas() {
    trace
        .add(operation(1, 1, 1, 9, "PUT a 1", "kept"))
        .add(operation(2, 2, 2, 8, "PUT a 2", "kept"));
    assertEquals(Certainty.CERTAIN, ask("GET a", "1").certainty());
    assertEquals(Set.of(List.of(1L)), rows(ask("GET a", "1")));
    trace.add(operation(3, 3, 3, 7, "ADD a", "3"));
    // The count of 3 came from the 2, so the 1 was put before that or after all.
    assertEquals(Set.of(List.of(2L, 3L)), rows(ask("GET a", "3")));
    assertEquals(Set.of(List.of(1L)), rows(ask("GET a", "1")));
  }

  @Test
  void whatHadItsReplyBeforeTheOtherWasSentCameFirst() {
    trace
        .add(operation(1, 1, 1, 2, "PUT a 1", "kept"))
        .add(operation(2, 2, 3, 4, "PUT a 2", "kept"));
    assertEquals(Certainty.CERTAIN, ask("GET a", null).certainty());
    assertEquals(Set.of(List.of(2L)), rows(ask("GET a", null)));
  }

  @Test
  void anOperationWithoutReplyMayHaveHappenedOrNot() {
    trace.add(operation(1, 1, 1, 2, "PUT a 1", "kept")).add(operation(2, 1, 3, 4, "PUT a 2", null));
    assertEquals(Certainty.ONE_OF, ask("GET a", null).certainty());
    assertEquals(Set.of(List.of(1L), List.of(2L)), rows(ask("GET a", null)));
    assertEquals(Certainty.CERTAIN, ask("GET a", "2").certainty());
    assertEquals(Set.of(List.of(2L)), rows(ask("GET a", "2")));
  }

  /** As of a part whose own reply is not on record, though the whole has one. */
  @Test
  void whatMayNotHaveReplacedAnythingHidesNoOlderWriter() {
    var specification =
        new Specification() {
          @Override
          public String store() {
            return "unsure";
          }

          @Override
          public List<Touch> touches(Operation operation) {
            var cell = Cell.ALL.child(operation.request().get(1));
            return switch (operation.request().getFirst().text()) {
              case "PUT" -> List.of(Touch.replaces(cell));
              case "TRY" -> List.of(Touch.replaces(cell).effect(Touch.Effect.UNKNOWN));
              default -> List.of(Touch.reads(cell));
            };
          }
        };
    var unsure =
        new MemoryTrace(specification)
            .add(operation(1, 1, 1, 1, "PUT a 1", "kept"))
            .add(operation(2, 1, 2, 2, "PUT a 2", "kept"))
            .add(operation(3, 1, 3, 3, "TRY a 3", "done"));
    var answer =
        new Why(specification, unsure)
            .ask(operation(1000, 1, 1000, 1001, "GET a", "2"), Why.Wish.ONE);
    assertEquals(Set.of(List.of(2L, 3L)), rows(answer));
  }

  /** It is on record itself, and would have the same reply if it had been done before, too. */
  @Test
  void theQuestionIsNoCauseOfItself() {
    var asked = operation(3, 1, 5, 6, "DEL a", "none");
    trace
        .add(operation(1, 1, 1, 2, "PUT a 1", "kept"))
        .add(operation(2, 1, 3, 4, "DEL a", "1"))
        .add(asked);
    var answer = why.ask(asked, Why.Wish.ALL);
    assertEquals(Certainty.CERTAIN, answer.certainty());
    assertEquals(Set.of(List.of(2L)), rows(answer));
  }

  /** A switch, which nobody can turn before it is there. */
  private static final class Switch implements Specification, Model {
    private static final Cell CELL = Cell.of("switch");

    @Override
    public String store() {
      return "switch";
    }

    @Override
    public List<Touch> touches(Operation operation) {
      return switch (operation.text()) {
        case "OFF" -> List.of(Touch.replaces(CELL));
        case "TURN" -> List.of(Touch.changes(CELL));
        default -> List.of(Touch.reads(CELL));
      };
    }

    @Override
    public Optional<Model> model() {
      return Optional.of(this);
    }

    @Override
    public Object run(Operation operation, State state) {
      var position = state.get(CELL);
      if (operation.text().equals("OFF")) {
        state.put(CELL, "off");
      } else if (operation.text().equals("TURN") && position != null) {
        state.put(CELL, position.equals("off") ? "on" : "off");
      }
      return Bytes.of(operation.text().equals("GET") ? String.valueOf(position) : "done");
    }
  }

  /** If both turns came before the switch was there they are no causes, else they are. */
  @Test
  void whatIsNeededInOneOrderOnlyIsNotCalledMinimal() {
    var turned =
        new MemoryTrace(new Switch())
            .add(operation(1, 1, 1, 9, "OFF", "done"))
            .add(operation(2, 2, 2, 8, "TURN", "done"))
            .add(operation(3, 2, 3, 8, "TURN", "done"));
    var answer =
        new Why(new Switch(), turned)
            .ask(operation(1000, 1, 1000, 1001, "GET", "off"), Why.Wish.ONE);
    assertEquals(Certainty.CERTAIN, answer.certainty());
    assertEquals(Set.of(List.of(1L, 2L, 3L)), rows(answer));
    assertFalse(answer.minimal());
  }

  /** Both turns belong to it, whichever came first. */
  @Test
  void theSameElementsInAnotherOrderAreNoOtherWitness() {
    var turned =
        new MemoryTrace(new Switch())
            .add(operation(1, 1, 1, 2, "OFF", "done"))
            .add(operation(2, 1, 3, 9, "TURN", "done"))
            .add(operation(3, 2, 4, 8, "TURN", "done"));
    var answer =
        new Why(new Switch(), turned)
            .ask(operation(1000, 1, 1000, 1001, "GET", "off"), Why.Wish.ALL);
    assertEquals(Certainty.CERTAIN, answer.certainty());
    assertEquals(Set.of(List.of(1L, 2L, 3L)), rows(answer));
    assertTrue(answer.minimal());
  }

  /**
   * A cell that the first step fills, and the second one, unless it was the third that filled it.
   */
  private static final class Cup implements Specification, Model {
    private static final Cell CELL = Cell.of("cup");
    private static final Cell OTHER = Cell.of("other");

    @Override
    public String store() {
      return "cup";
    }

    @Override
    public List<Touch> touches(Operation operation) {
      return switch (operation.text()) {
        case "FIRST" -> List.of(Touch.replaces(CELL));
        case "SECOND" -> List.of(Touch.changes(CELL));
        case "THIRD" -> List.of(Touch.replaces(CELL), Touch.replaces(OTHER));
        default -> List.of(Touch.reads(CELL), Touch.reads(OTHER));
      };
    }

    @Override
    public Optional<Model> model() {
      return Optional.of(this);
    }

    @Override
    public Object run(Operation operation, State state) {
      var text = operation.text();
      if (text.equals("GET")) {
        return Bytes.of(String.valueOf(state.get(CELL)));
      }
      boolean full = "full".equals(state.get(CELL));
      switch (text) {
        case "FIRST" -> state.put(CELL, "half");
        case "SECOND" -> state.put(CELL, full ? "over" : "full");
        default -> state.put(CELL, "full");
      }
      return Bytes.of("done");
    }
  }

  /** In the one order the first is needed; in the other perhaps, as what it replaced is folded. */
  @Test
  void whatMayBeFoldedInOneOrderIsNotCalledMinimal() {
    var cup =
        new MemoryTrace(new Cup())
            .add(operation(1, 2, 1, 9, "THIRD", "done"))
            .add(operation(2, 1, 2, 8, "FIRST", "done"))
            .add(operation(3, 1, 3, 8, "SECOND", "done"));
    var question = operation(1000, 1, 1000, 1001, "GET", "full");
    var whole = new Why(new Cup(), cup).ask(question, Why.Wish.ONE);
    var folded =
        new Limited(cup) {
          @Override
          public long folded() {
            return 4;
          }

          @Override
          public List<Cell> covered(Operation operation) {
            return operation.text().equals("FIRST") ? List.of(Cup.CELL) : List.of();
          }
        };
    var answer = new Why(new Cup(), folded).ask(question, Why.Wish.ONE);
    assertEquals(Certainty.CERTAIN, answer.certainty());
    assertEquals(Set.of(List.of(2L, 3L)), rows(answer));
    assertFalse(answer.minimal());
    assertFalse(whole.minimal());
  }

  /** What is beside the question was kept from writing by what the question itself has written. */
  @Test
  void theQuestionIsNoCauseOfWhatIsBesideIt() {
    var specification =
        new Specification() {
          @Override
          public String store() {
            return "sets";
          }

          @Override
          public List<Touch> touches(Operation operation) {
            var one = Cell.of("a");
            var other = Cell.of("c");
            return switch (operation.text()) {
              case "ADD a" -> List.of(Touch.replaces(one));
              case "REMOVE c" -> List.of(Touch.replaces(other));
              case "UNION c a" -> List.of(Touch.replaces(other).from(one));
              case "MOVE c a" -> List.of(Touch.changes(one).from(other).effect(Touch.Effect.NO));
              default -> List.of();
            };
          }
        };
    var asked = operation(3, 1, 10, 19, "UNION c a", "1");
    var sets =
        new MemoryTrace(specification)
            .add(operation(1, 1, 1, 2, "ADD a", "1"))
            .add(operation(2, 1, 3, 4, "REMOVE c", "1"))
            .add(asked)
            .add(operation(4, 2, 11, 18, "MOVE c a", "0"));
    var answer = new Why(specification, sets).ask(asked, Why.Wish.ONE);
    assertEquals(Certainty.CERTAIN, answer.certainty());
    assertEquals(Set.of(List.of(1L, 2L)), rows(answer));
  }

  /** A reader on its own lane gets the old value while somebody writes, or already the new one. */
  @Test
  void whatOverlapsTheQuestionMayHaveComeBeforeItOrAfter() {
    trace
        .add(operation(1, 1, 1, 2, "PUT a 1", "kept"))
        .add(operation(10, 1, 10, 19, "PUT a 2", "kept"))
        .add(operation(13, 2, 13, 18, "PUT a 3", "kept"));
    for (int value = 1; value <= 3; value++) {
      var answer = why.ask(operation(12, 3, 12, 17, "GET a", "" + value), Why.Wish.ONE);
      assertEquals(Certainty.CERTAIN, answer.certainty());
      long row = List.of(1L, 10L, 13L).get(value - 1);
      assertEquals(Set.of(List.of(row)), rows(answer));
    }
    var other = why.ask(operation(12, 3, 12, 17, "GET a", "4"), Why.Wish.ONE);
    assertEquals(Certainty.OUTSIDE, other.certainty());
    // Of a moment between, nobody knows whether the first had happened.
    var then = why.ask(operation(12, 0, 12, 12, "GET a", null), Why.Wish.ALL);
    assertEquals(Certainty.ONE_OF, then.certainty());
    assertEquals(Set.of(List.of(1L), List.of(10L)), rows(then));
  }

  @Test
  void aChainThatIsNotReadToItsEndIsNotCertainIfSomethingIsMissingThere() {
    for (int i = 1; i <= 400; i++) {
      trace.add(operation(i, 1, i, i, "ADD a", "" + i));
    }
    var question = operation(1000, 1, 1000, 1001, "GET a", "400");
    var few = new Why.Wish(false, 1, 300, -1);
    assertEquals(Certainty.CERTAIN, why.ask(question, few).certainty());
    trace.add(new Break(50, Break.Kind.GAP));
    var answer = why.ask(question, few);
    assertEquals(Certainty.GAP, answer.certainty());
    assertTrue(answer.truncated());
  }

  @Test
  void saysThatNotAllWasTriedWhereThereIsTooMuch() {
    for (int i = 1; i <= Why.MOST_RUN + 1; i++) {
      trace.add(operation(i, 1, i, i, "ADD a", "" + i));
    }
    var question = operation(1000, 1, 1000, 1001, "GET a", "" + (Why.MOST_RUN + 1));
    var answer = why.ask(question, Why.Wish.ONE);
    assertTrue(answer.truncated());
    assertTrue(answer.note().contains("" + Why.MOST_RUN), answer.note());
    assertFalse(why.ask(question, Why.Wish.ALL).truncated(), "up to " + Why.MOST_RUN_FOR_ALL);
  }

  /** Each state of a search has a long text of its own, and there were thousands. */
  @Test
  void holdsNoMoreStatesThanThereIsRoomFor() {
    var steps = new StepsKind();
    var long1 = new MemoryTrace(steps);
    var text = "y".repeat(4 << 20);
    long1.add(operation(1, 1, 1, 1, "set k " + text, "ok"));
    for (int i = 2; i <= 14; i++) {
      long1.add(operation(i, 1, i, i, "push k " + i, "ok"));
    }
    var answer =
        new Why(steps, long1).ask(operation(1000, 1, 1000, 1001, "first k", "y"), Why.Wish.ONE);
    assertEquals(Certainty.CERTAIN, answer.certainty());
    assertEquals(1, answer.witnesses().getFirst().rows().getFirst());
    assertTrue(answer.witnesses().getFirst().rows().size() < 14, answer.witnesses()::toString);
    assertFalse(answer.minimal());
  }

  /** Long requests take long on the model, while nothing is read. */
  @Test
  void isGivenUpAlsoWhileTheModelRuns() {
    for (int i = 1; i <= 20; i++) {
      trace.add(operation(i, 1, i, i, "ADD a", "" + i));
    }
    var question = operation(1000, 1, 1000, 1001, "GET a", "20");
    var limited = new Limited(trace);
    var expected = why.ask(question, Why.Wish.ONE).witnesses();
    assertEquals(expected, new Why(keeper, limited).ask(question, Why.Wish.ONE).witnesses());
    int runs = Integer.MAX_VALUE - limited.left;
    assertTrue(runs >= 20, runs + " runs");
    for (int left : new int[] {0, 1, runs - 1}) {
      limited.left = left;
      var asking = new Why(keeper, limited);
      assertThrows(TraceException.class, () -> asking.ask(question, Why.Wish.ONE));
    }
  }

  /** A trace that lets so many operations be run. */
  private static class Limited implements Trace {
    private final Trace trace;
    private int left = Integer.MAX_VALUE;

    Limited(Trace trace) {
      this.trace = trace;
    }

    @Override
    public Writers writers(Cell cell, long before) {
      return trace.writers(cell, before);
    }

    @Override
    public long end(Operation operation) {
      return trace.end(operation);
    }

    @Override
    public Iterator<Operation> beside(Cell cell, Operation operation) {
      return trace.beside(cell, operation);
    }

    @Override
    public Optional<Break> lastBreak(Cell cell, long before) {
      return trace.lastBreak(cell, before);
    }

    @Override
    public void checkTime() {
      if (left-- <= 0) {
        throw new TraceException("The time is over");
      }
    }
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "EMPTY")
  void noAnswerAcrossABreakIsCertain(Break.Kind kind) {
    trace
        .add(operation(1, 1, 1, 2, "PUT a 1", "kept"))
        .add(new Break(1, kind))
        .add(operation(2, 1, 3, 4, "ADD a", "2"))
        .add(operation(3, 1, 3, 4, "PUT b 2", "kept"));
    var expected =
        switch (kind) {
          case BEGINNING -> Certainty.BEFORE_RECORDING;
          case GAP -> Certainty.GAP;
          case OUTSIDE -> Certainty.OUTSIDE;
          case EMPTY -> throw new AssertionError(kind);
        };
    assertEquals(expected, ask("GET a", "2").certainty());
    assertEquals(expected, ask("LIST *", "a b").certainty());
    var afterwards = ask("GET b", "2");
    assertEquals(Certainty.CERTAIN, afterwards.certainty());
    assertEquals(Set.of(List.of(3L)), rows(afterwards));
  }

  /** Nothing of before is a cause, nor is anything missing. */
  @Test
  void answersEndWhereTheStoreBeganWithNothing() {
    trace
        .add(operation(1, 1, 1, 2, "PUT a 1", "kept"))
        .add(operation(2, 1, 2, 3, "PUT b 1", "kept"))
        .add(new Break(2, Break.Kind.EMPTY))
        .add(operation(3, 1, 3, 4, "ADD a", "1"));
    var answer = ask("GET a", "1");
    assertEquals(Certainty.CERTAIN, answer.certainty());
    assertEquals(Set.of(List.of(3L)), rows(answer));
    assertEquals(Certainty.CERTAIN, ask("LIST *", "a").certainty());
    assertEquals(Set.of(List.of()), rows(ask("GET c", "none")));
    assertEquals(Certainty.OUTSIDE, ask("GET a", "2").certainty());
  }

  /** What is older than the limit lets through may be older than the recording, but need not be. */
  @Test
  void whatTheLimitCutsIsSaid() {
    trace.add(new Break(0, Break.Kind.BEGINNING)).add(operation(1, 1, 1, 1, "PUT a 1", "kept"));
    for (int i = 2; i <= 5; i++) {
      trace.add(operation(i, 1, i, i, "ADD a", "" + i));
    }
    var question = operation(9, 1, 9, 9, "GET a", "5");
    var cut = why.ask(question, new Why.Wish(false, 1, 2, -1));
    assertEquals(Set.of(List.of(4L, 5L)), rows(cut));
    assertTrue(cut.truncated());
    assertTrue(cut.note().contains("the newest 2 of its causes"), cut::note);
    var whole = why.ask(question, new Why.Wish(false, 1, 5, -1));
    assertEquals(Certainty.CERTAIN, whole.certainty());
    assertEquals("", whole.note());
  }

  @Test
  void aReplyThatNothingOnRecordExplainsComesFromOutside() {
    trace.add(operation(1, 1, 1, 2, "PUT a 1", "kept"));
    assertEquals(Certainty.OUTSIDE, ask("GET a", "7").certainty());
  }

  @Test
  void eachPartOfATransactionIsExplainedAlone() {
    trace
        .add(operation(1, 1, 1, 1, "PUT a 1", "kept"))
        .add(operation(2, 1, 2, 2, "PUT b 1", "kept"));
    var parts =
        List.of(
            operation(3, 1, 3, 3, "PUT a 5", "kept"),
            operation(3, 1, 3, 3, "GET a", "5"),
            operation(3, 1, 3, 3, "GET b", "1"));
    var both = operation(3, 1, 3, 3, "BOTH", "").with(parts);
    assertEquals(Set.of(List.of()), rows(why.ask(both, new Why.Wish(true, 9, 99, 1))));
    assertEquals(Set.of(List.of(2L)), rows(why.ask(both, new Why.Wish(true, 9, 99, 2))));
    var none = new Why.Wish(true, 9, 99, 3);
    assertThrows(IllegalArgumentException.class, () -> why.ask(both, none));
    trace.add(both);
    assertEquals(Set.of(List.of(3L)), rows(ask("GET a", "5")));
    assertEquals(Set.of(List.of(2L)), rows(ask("GET b", "1")));
  }

  @Test
  void alternativesAreGivenUpToABound() {
    for (int i = 1; i <= 50; i++) {
      trace.add(operation(i, 1, i, i, "PUT a 1", "kept"));
    }
    var few = why.ask(operation(1000, 1, 1000, 1001, "GET a", "1"), new Why.Wish(true, 10, 99, -1));
    assertEquals(10, few.witnesses().size());
    assertTrue(few.truncated());
    assertFalse(ask("GET a", "1").truncated());
    assertEquals(50, ask("GET a", "1").witnesses().size());
  }

  @Test
  void aLongChainIsReadAsItIsAskedForAndNoFartherThanItsBeginning() {
    var million = new Counting(1_000_000);
    var many = new Why(keeper, million);
    var chain = many.chain(operation(2_000_000, 1, 1, 1, "GET a", "1000000"));
    assertEquals(1_000_000, chain.next().row());
    assertTrue(million.read < 10, "read " + million.read);
    long length = 1;
    while (chain.hasNext()) {
      chain.next();
      length++;
    }
    assertEquals(500_001, length, "from the last PUT on");
    assertTrue(million.read <= 500_002, "read " + million.read);
    var answer = many.ask(operation(2_000_000, 1, 1, 1, "GET a", "1000000"), Why.Wish.ONE);
    assertTrue(answer.truncated());
    assertEquals(10_000, answer.witnesses().getFirst().elements().size());
  }

  /** So many counts of one name, with a PUT in the middle. */
  private static final class Counting implements Trace {
    private final long rows;
    private long read;

    Counting(long rows) {
      this.rows = rows;
    }

    @Override
    public Writers writers(Cell cell, long before) {
      long newest = Math.min(before - 1, rows);
      return Writers.of(
          LongStream.iterate(newest, row -> row > 0, row -> row - 1)
              .peek(row -> read++)
              .mapToObj(
                  row ->
                      operation(row, 1, 1, 1, row == rows / 2 ? "PUT a 500000" : "ADD a", "" + row))
              .iterator());
    }

    @Override
    public long end(Operation operation) {
      return operation.row();
    }

    @Override
    public Iterator<Operation> beside(Cell cell, Operation operation) {
      return List.<Operation>of().iterator();
    }

    @Override
    public Optional<Break> lastBreak(Cell cell, long before) {
      return Optional.empty();
    }
  }
}
