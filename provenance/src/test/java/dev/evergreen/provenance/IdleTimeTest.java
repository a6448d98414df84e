package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What is loaded in time that nobody else wants. */
@Timeout(120)
class IdleTimeTest {

  @TempDir Path directory;

  @Test
  void givesWay() throws Exception {
    var stat = IdleTime.call(() -> Files.readString(Path.of("/proc/thread-self/stat")));
    // Behind the name in parentheses the policy is the 39th word.
    assertEquals("5", stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1)[38], "SCHED_IDLE");
  }

  static Stream<Throwable> failures() {
    return Stream.of(
        new SQLException("full"),
        new IOException("gone"),
        new TraceException("strange"),
        new LinkageError("missing"));
  }

  @ParameterizedTest
  @MethodSource("failures")
  void failsAsTheWorkDoes(Throwable failure) {
    Callable<Integer> work =
        () -> {
          if (failure instanceof Error e) {
            throw e;
          }
          throw (Exception) failure;
        };
    assertSame(failure, assertThrows(Throwable.class, () -> IdleTime.call(work)));
  }

  /** In idle time alone this would take minutes, as there is none. */
  @Test
  void whatSomebodyWaitsForIsLoadedWhileOthersWantAllProcessors() throws Exception {
    var over = new AtomicBoolean();
    for (int i = 0; i < Runtime.getRuntime().availableProcessors(); i++) {
      Thread.ofPlatform()
          .daemon()
          .start(
              () -> {
                while (!over.get()) {
                  Thread.onSpinWait();
                }
              });
    }
    var redactor = Redactor.open(directory, List.of());
    try (var recording =
        Recording.open(directory, "", SpoolSettings.DEFAULT, redactor, Retention.ALL)) {
      var line = TraceStoreConformance.Line.open(recording);
      for (int i = 0; i < 20_000; i++) {
        line.exchange("set key" + i % 50 + " " + i, "ok");
      }
      assertTrue(recording.awaitLoaded(Duration.ofSeconds(30)));
    } finally {
      over.set(true);
    }
  }
}
