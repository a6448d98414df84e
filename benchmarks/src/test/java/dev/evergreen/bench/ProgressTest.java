package dev.evergreen.bench;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import org.junit.jupiter.api.Test;

final class ProgressTest {
  private final ByteArrayOutputStream said = new ByteArrayOutputStream();

  private Progress progress(int steps, boolean terminal) {
    return new Progress(steps, new PrintStream(said, true, UTF_8), terminal);
  }

  @Test
  void aLogHasALineForEachTenth() {
    var progress = progress(200, false);
    for (int i = 0; i < 200; i++) {
      progress.step("turn " + i);
    }
    var lines = said.toString(UTF_8).lines().toList();
    assertEquals(10, lines.size(), lines::toString);
    assertTrue(lines.getFirst().matches(" 10 %, about \\d+ s left \\(turn 19\\)"), lines::getFirst);
    assertEquals("100 %, done (turn 199)", lines.getLast());
  }

  @Test
  void fewStepsHaveALineEach() {
    var progress = progress(3, false);
    for (int i = 0; i < 3; i++) {
      progress.step("turn");
    }
    assertEquals(3, said.toString(UTF_8).lines().count());
  }

  @Test
  void aTerminalHasOneLineThatIsDrawnAnewAndEndsWithTheWork() {
    var progress = progress(2, true);
    progress.step("one");
    assertTrue(said.toString(UTF_8).startsWith("\r[###############...............]  50 %"));
    assertEquals(1, said.toString(UTF_8).lines().filter(line -> !line.isEmpty()).count());
    progress.step("two");
    assertTrue(said.toString(UTF_8).endsWith("100 %, done (two)\033[K\n"));
  }

  @Test
  void stepsBeyondTheLastSayNoMoreThanDone() {
    var progress = progress(1, false);
    progress.step("one");
    progress.step("two");
    assertEquals("100 %, done (one)\n", said.toString(UTF_8));
  }

  @Test
  void noStepsAreRefused() {
    assertThrows(IllegalArgumentException.class, () -> progress(0, false));
  }
}
