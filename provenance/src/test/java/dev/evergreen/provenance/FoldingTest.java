package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Instant;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class FoldingTest {
  private static final Cell CELL = Cell.of("a");

  /** With room for three cells that are replaced, and for three that are looked at. */
  private final Folding folding = new Folding(6 * Folding.weight(Cell.of("n1")));

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
    return folding.isNeeded(operation, List.of(touch), true);
  }

  @Test
  void whatOverlapsItsReplacementIsNeeded() {
    assertTrue(isNeeded(operation(3, 2, 3, 4), Touch.replaces(CELL)));
    assertTrue(isNeeded(operation(2, 1, 2, 5), Touch.replaces(CELL)));
    assertFalse(isNeeded(operation(1, 1, 1, 2), Touch.replaces(CELL)));
  }

  /** Without the first of those that have replaced it, it would be there. */
  @Test
  void tellsWhatCoversWhatIsNotNeeded() {
    assertTrue(isNeeded(operation(9, 1, 9, 9), Touch.replaces(CELL)));
    assertFalse(isNeeded(operation(8, 1, 8, 8), Touch.replaces(CELL)));
    assertTrue(isNeeded(operation(7, 1, 7, 7), Touch.replaces(Cell.ALL)));
    assertFalse(isNeeded(operation(6, 1, 6, 6), Touch.changes(CELL).effect(false)));
    assertFalse(isNeeded(operation(5, 1, 5, 5), Touch.reads(CELL)));
    assertEquals(
        Set.of(new Folding.Cover(9, CELL), new Folding.Cover(7, Cell.ALL)), folding.takeCovers());
    assertEquals(Set.of(), folding.takeCovers());
  }

  @Test
  void whatIsOfTheLaneOfItsReplacementOnlyMayHaveComeAfterAnother() {
    assertTrue(isNeeded(operation(3, 2, 3, 4), Touch.replaces(CELL)));
    assertTrue(isNeeded(operation(2, 1, 2, 9), Touch.replaces(CELL)));
    assertTrue(isNeeded(operation(1, 1, 1, 8), Touch.replaces(CELL)));
  }

  @Test
  void whatOneUnderWayMayHaveLookedAtIsNeeded() {
    assertTrue(isNeeded(operation(6, 2, 6, 7), Touch.replaces(CELL)));
    folding.underWay(operation(1, 1, 1, 8), List.of(Touch.replaces(Cell.of("b")).from(CELL)));
    assertTrue(isNeeded(operation(4, 2, 4, 5), Touch.replaces(CELL)));
    assertFalse(isNeeded(operation(3, 1, 3, 4), Touch.replaces(CELL)), "it is of the same lane");
    assertTrue(isNeeded(operation(1, 1, 1, 8), Touch.replaces(Cell.of("b")).from(CELL)));
  }

  @Test
  void whatDidNotEndBeforeOthersAreSentReplacesNothing() {
    var late = List.of(Touch.replaces(CELL));
    assertTrue(folding.isNeeded(operation(3, 1, 3, 9), late, false));
    assertTrue(isNeeded(operation(1, 1, 1, 2), Touch.replaces(CELL)));
  }

  /** It was once a million cells, which are more than a gigabyte. */
  @Test
  void holdsAboutAsManyBytesOfCellsAsItMay() {
    var few = new Folding(4 << 20);
    long before = used();
    for (int i = 0; i < 50_000; i++) {
      var all =
          List.of(
              Touch.replaces(Cell.of("k" + i)),
              Touch.changes(Cell.of("h" + i, "f")).from(Cell.of("h" + i, "t")));
      assertTrue(few.isNeeded(operation(100_000 - i, 1, 9, 9), all, true));
      few.underWay(operation(-i, 2, 1, 9), all);
    }
    long held = used() - before;
    // All of it is behind what it holds.
    assertTrue(few.isNeeded(operation(-50_000, 1, 1, 1), List.of(Touch.replaces(CELL)), true));
    assertTrue(held < 24 << 20, () -> (held >> 10) + " KiB are held");
  }

  private static long used() {
    for (int i = 0; i < 3; i++) {
      System.gc();
    }
    var runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }

  @Test
  void withMoreCellsThanItHoldsMoreIsKeptAndNeverLess() {
    for (int i = 0; i < 9; i++) {
      assertTrue(isNeeded(operation(50 - i, 1, 50, 50), Touch.changes(Cell.of("n" + i))));
    }
    assertTrue(isNeeded(operation(40, 1, 40, 40), Touch.changes(CELL)));
    // All is demanded from there on, until something replaces all.
    assertTrue(isNeeded(operation(39, 1, 39, 39), Touch.replaces(CELL)));
    assertTrue(isNeeded(operation(38, 1, 38, 38), Touch.replaces(CELL)));
    assertTrue(isNeeded(operation(37, 1, 37, 37), Touch.replaces(Cell.ALL)));
    assertFalse(isNeeded(operation(36, 1, 36, 36), Touch.replaces(CELL)));
  }
}
