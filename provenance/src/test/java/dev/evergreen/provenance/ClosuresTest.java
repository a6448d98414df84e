package dev.evergreen.provenance;

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

  private static final String HALF_OF_TOO_MUCH = "x".repeat((int) (Execution.MOST_BYTES / 2));

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
            "set c " + HALF_OF_TOO_MUCH,
            "set d " + HALF_OF_TOO_MUCH,
            "add n"));
  }
}
