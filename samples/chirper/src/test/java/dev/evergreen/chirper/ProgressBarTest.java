package dev.evergreen.chirper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;

final class ProgressBarTest {

  private final ByteArrayOutputStream written = new ByteArrayOutputStream();

  @Test
  void aStateSaysHowMuchIsDoneHowLongItTookAndWhatIsLeft() {
    assertEquals(
        "Importing ███████░░░░░░░░░░░░░░░░░░░░░░░  25 %  1:10, 3:30 left",
        ProgressBar.line("Importing", 25, 100, Duration.ofSeconds(70)));
    assertEquals(
        "Importing " + "░".repeat(30) + "   0 %  0:01",
        ProgressBar.line("Importing", 0, 100, Duration.ofSeconds(1)));
    assertEquals(
        "Importing " + "█".repeat(30) + " 100 %  0:02",
        ProgressBar.line("Importing", 0, 0, Duration.ofSeconds(2)));
  }

  @Test
  void aTerminalGetsOneLineThatIsRedrawnAndNotesAboveIt() {
    try (var bar = new ProgressBar(out(), true, "Importing", 10)) {
      bar.note("something");
      bar.done(10);
    }
    assertTrue(text().startsWith("\rsomething\u001b[K\n"), text());
    assertTrue(text().endsWith("100 %  0:00\u001b[K\n"), text());
  }

  @Test
  void aFileGetsPlainLines() {
    try (var bar = new ProgressBar(out(), false, "Importing", 10)) {
      bar.note("something");
      bar.done(10);
    }
    assertFalse(text().contains("\r") || text().contains("\u001b"), text());
    assertEquals(2, text().lines().count());
  }

  private PrintStream out() {
    return new PrintStream(written, true, StandardCharsets.UTF_8);
  }

  private String text() {
    return written.toString(StandardCharsets.UTF_8);
  }
}
