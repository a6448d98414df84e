package dev.evergreen.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** That saves can be measured, and whose processor time counts; how dear they are, no test says. */
class StorageTest {

  private static final Pattern MEASURED =
      Pattern.compile("(saves behind a fence, .*?)  +(?:µs|1/s) +(\\d\\S*) .*");

  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private void measure(String... options) {
    var arguments = new ArrayList<>(List.of("storage", "--rounds=2", "--millis=50"));
    arguments.addAll(List.of(options));
    int code =
        new CommandLine(new Main())
            .setOut(new PrintWriter(out))
            .setErr(new PrintWriter(err))
            .execute(arguments.toArray(String[]::new));
    assertEquals(0, code, err::toString);
  }

  /** What is in the report of so many callers, by what it is. */
  private double value(String name) {
    return out.toString()
        .lines()
        .map(MEASURED::matcher)
        .filter(line -> line.matches() && line.group(1).equals("saves behind a fence, " + name))
        .mapToDouble(line -> Double.parseDouble(line.group(2)))
        .findFirst()
        .orElseThrow(() -> new AssertionError(name + " is missing in\n" + out));
  }

  @Test
  void ofSqliteTheProcessorTimeIsThatOfTheCallers() {
    measure();
    assertTrue(value("16 callers") > 0);
    assertTrue(value("16 callers, processor time") > 0);
    assertFalse(out.toString().contains("server"), out::toString);
  }

  @Test
  void ofPostgresTheServersIsInIt() {
    assumeTrue(Files.isDirectory(Path.of("/usr/lib/postgresql")), "PostgreSQL is not installed");
    measure("--postgres");
    for (var callers : List.of("1 callers", "16 callers", "256 callers")) {
      assertTrue(value(callers) > 0);
      double server = value(callers + ", of it the server's");
      assertTrue(server > 0 && server < value(callers + ", processor time"), out::toString);
      assertTrue(value(callers + ", of it the callers'") > 0);
    }
  }
}
