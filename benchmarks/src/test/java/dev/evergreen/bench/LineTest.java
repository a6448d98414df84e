package dev.evergreen.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.bench.Line.Verdict;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class LineTest {

  private static final Line LINE = Line.alone("time", "µs", List.of(1.0, 2.0, 3.0));

  private static Verdict verdict(Line line) {
    return Objects.requireNonNull(line.budget()).verdict();
  }

  @Test
  void aLimitIsKeptIfTheWholeIntervalKeepsIt() {
    assertEquals(Verdict.MET, verdict(LINE.atMost(3)));
    assertEquals(Verdict.MET, verdict(LINE.atLeast(1)));
  }

  @Test
  void itIsMissedIfTheWholeIntervalMissesIt() {
    assertEquals(Verdict.MISSED, verdict(LINE.atMost(0.9)));
    assertEquals(Verdict.MISSED, verdict(LINE.atLeast(3.1)));
  }

  @Test
  void aLimitInsideTheIntervalIsUndecided() {
    assertEquals(Verdict.UNDECIDED, verdict(LINE.atMost(2)));
    assertEquals(Verdict.UNDECIDED, verdict(LINE.atLeast(2)));
  }

  @Test
  void ratiosAreOfTheSameRound() {
    var compared = Line.compared("time", "µs", List.of(1.0, 2.0), "another", List.of(2.0, 4.0));
    assertEquals(Verdict.MET, verdict(compared.ratioAtMost(0.5)));
    assertEquals(Verdict.MISSED, verdict(compared.ratioAtLeast(0.6)));
  }

  @Test
  void nothingBesideNothingIsNone() {
    var lost = Line.compared("lost", "requests", List.of(0.0, 0.0), "another", List.of(0.0, 2.0));
    assertEquals("0 (0–0)", String.valueOf(lost.ratio()));
  }
}
