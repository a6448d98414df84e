package dev.evergreen.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** That everything can be measured; how fast it is, no test says. */
class MicroTest {

  private static final List<String> LINES =
      List.of(
          "call of a read",
          "call of a write",
          "call of a read, from a platform thread",
          "call of a write, from a platform thread",
          "starting a virtual thread and parking",
          "64 callers read a grain each",
          "64 callers write to a grain each",
          "64 callers read one grain",
          "64 callers write to one grain",
          "cached read, again in one run",
          "cached read, again, with an argument",
          "cached read, first of its key in a run",
          "reactive query, sequential, nothing cached",
          "reactive query, parallel, nothing cached",
          "reactive query, sequential, items cached",
          "reactive query, parallel, items cached",
          "items that a query with nothing cached executes",
          "propagation, p50",
          "propagation, p50, more than by hand",
          "propagation, p99",
          "propagation, p99, more than by hand",
          "answer to the mutation, p50",
          "idle subscription: computation, cache and summary",
          "one more computation on the same key",
          "one more cache and summary that a computation reads");

  private static final String NUMBER = "-?\\d+(\\.\\d+)?";
  private static final Pattern SPREAD =
      Pattern.compile(NUMBER + " \\(" + NUMBER + "–" + NUMBER + "\\)");

  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int run(String... arguments) {
    return new CommandLine(new Main())
        .setOut(new PrintWriter(out))
        .setErr(new PrintWriter(err))
        .execute(arguments);
  }

  @Test
  void everyLineAppearsWithFiniteNumbers(@TempDir Path folder) throws Exception {
    var file = folder.resolve("micro.md");
    assertEquals(0, run("micro", "--quick", "--out", file.toString()), err::toString);
    var rows =
        Files.readAllLines(file).stream()
            .filter(line -> line.startsWith("| "))
            .map(line -> List.of(line.split(" *\\| *", -1)))
            .toList();
    assertEquals(LINES, rows.stream().skip(2).map(row -> row.get(1)).toList());
    for (var row : rows.subList(2, rows.size())) {
      assertTrue(SPREAD.matcher(row.get(3)).matches(), row::toString);
      if (!row.get(4).isEmpty()) {
        assertTrue(SPREAD.matcher(row.get(5)).matches(), row::toString);
        assertTrue(SPREAD.matcher(row.get(6)).matches(), row::toString);
      }
      assertEquals(row.get(7).isEmpty(), row.get(8).isEmpty(), row::toString);
    }
    for (var name : LINES) {
      assertTrue(out.toString().contains(name), () -> name + " is missing in\n" + out);
    }
  }

  @Test
  void anUnknownExperimentIsRefusedWithTheNamesThatThereAre() {
    assertEquals(2, run("micro", "--only", "nothing"));
    assertTrue(err.toString().contains("'nothing'"), err::toString);
    assertTrue(err.toString().contains("cached-read"), err::toString);
    assertFalse(out.toString().contains("budget"), "nothing should be measured");
  }
}
