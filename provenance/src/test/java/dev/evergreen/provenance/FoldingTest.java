package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

final class FoldingTest {
  private static final Cell CELL = Cell.of("a");

  private final Folding folding = new Folding();

  private static Operation operation(long row, long lane, long sent, long replied) {
    return new Operation(
        row,
        1,
        lane,
        lane,
        "",
        Instant.ofEpochSecond(sent),
        Instant.ofEpochSecond(replied),
        List.of(Bytes.of("set")),
        Bytes.of("ok"));
  }

  private boolean isNeeded(Operation operation, Touch touch) {
    return folding.isNeeded(operation, List.of(touch));
  }

  @Test
  void whatOverlapsItsReplacementIsNeeded() {
    assertTrue(isNeeded(operation(3, 2, 3, 4), Touch.replaces(CELL)));
    assertTrue(isNeeded(operation(2, 1, 2, 5), Touch.replaces(CELL)));
    assertFalse(isNeeded(operation(1, 1, 1, 2), Touch.replaces(CELL)));
  }

  @Test
  void whatIsOfTheLaneOfItsReplacementOnlyMayHaveComeAfterAnother() {
    assertTrue(isNeeded(operation(3, 2, 3, 4), Touch.replaces(CELL)));
    assertTrue(isNeeded(operation(2, 1, 2, 9), Touch.replaces(CELL)));
    assertTrue(isNeeded(operation(1, 1, 1, 8), Touch.replaces(CELL)));
  }
}
