package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Witness.Done;
import dev.evergreen.provenance.Witness.Element;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import org.junit.jupiter.api.Test;

final class ClosuresTest {

  private static final String HALF_OF_TOO_MUCH = "" + Execution.MOST_BYTES / 2;

  private final StepsKind steps = new StepsKind();

  private static Operation operation(long row, String line) {
    var words = Arrays.stream(line.split(" ", 3)).map(Bytes::of).toList();
    var when = Instant.ofEpochMilli(row);
    return new Operation(row, 1, 1, 1, "", when, when, words, Bytes.of("ok"));
  }

  /** Whether what is set first is closed, if others may be done or not. */
  private boolean isClosed(int may, String... lines) {
    var elements = new ArrayList<Element>();
    for (var line : lines) {
      elements.add(new Done(operation(elements.size() + 1, line)));
    }
    var question = List.of(operation(100, "first k"));
    var execution = new Execution(steps, steps, new MemoryTrace(steps), question);
    var closures = new Closures(execution, elements, State.initial(true), Bytes.of("a"), 1_000_000);
    var part = new BitSet();
    part.set(0, lines.length);
    part.clear(may);
    return closures.closed(part);
  }

  @Test
  void whatMayBeDoneTooIsSeen() {
    assertFalse(isClosed(1, "set k a", "set k b", "add n"));
    assertTrue(isClosed(1, "set k a", "set j b", "add n"));
  }

  /** The states that were not reached any more would have told. */
  @Test
  void statesThatAreTooLargeAreNotTakenForAll() {
    assertFalse(
        isClosed(
            1,
            "set k a",
            "set k b",
            "grow c " + HALF_OF_TOO_MUCH,
            "grow d " + HALF_OF_TOO_MUCH,
            "add n"));
  }

  /** What an operation makes counts, not what it says. */
  @Test
  void statesCountByWhatTheyHold() {
    var small = State.initial(true);
    var large = State.initial(true);
    var execution = new Execution(steps, steps, new MemoryTrace(steps), List.of());
    execution.run(operation(1, "grow k 1000000"), large);
    execution.run(operation(1, "set k " + "x".repeat(1_000_000)), small);
    assertTrue(large.own() >= 1_000_000, large::toString);
    assertEquals(0, small.own(), "all have the same request");
    execution.run(operation(2, "push k y"), small);
    assertTrue(small.own() >= 1_000_000);
    execution.run(operation(3, "grow k 10"), small);
    assertTrue(small.own() < 1_000);
    execution.run(operation(4, "del k"), large);
    assertEquals(0, large.own());
  }
}
