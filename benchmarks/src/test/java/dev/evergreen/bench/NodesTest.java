package dev.evergreen.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** That everything can be measured over processes; how fast it is, no test says. */
class NodesTest {

  private static final Effort LEAST =
      new Effort(1, Duration.ofMillis(10), Duration.ofMillis(100), 25, 500);

  @Test
  void everyExperimentOfACallerHasFiniteNumbers() throws Exception {
    measure(
        BenchCluster.Role.CALLER_WITH_PEKKO,
        List.of(
            new RemoteCall(),
            new RemoteRead(),
            new MassSubscription(),
            new IdleNodes(Duration.ofMillis(200))));
  }

  @Test
  void propagationBetweenProcessesHasFiniteNumbers() throws Exception {
    measure(BenchCluster.Role.HOST, List.of(new RemotePropagation()));
  }

  private static void measure(BenchCluster.Role role, List<NodeExperiment> experiments)
      throws Exception {
    var hosts = new ArrayList<HostProcess>();
    try (var cluster = BenchCluster.start(2, role)) {
      hosts.addAll(cluster.hosts());
      for (var experiment : experiments) {
        var lines = experiment.measure(cluster, LEAST);
        assertFalse(lines.isEmpty(), experiment::name);
        for (var line : lines) {
          assertTrue(Double.isFinite(line.value().median()), line::toString);
          var baseline = line.baseline();
          assertTrue(baseline == null || Double.isFinite(baseline.median()), line::toString);
        }
      }
    }
    assertEquals(List.of(), hosts.stream().filter(HostProcess::alive).toList());
  }

  @Test
  void aHostEndsWithTheProcessThatStartedItEvenIfItHasJoinedNoCluster() throws Exception {
    var host = HostProcess.start("127.0.0.1:1", "-");
    assertTrue(host.alive());
    assertTrue(host.endsWithItsInput(), "it should have ended by itself");
  }

  @Test
  void aReportReplacesItsSectionAndNothingElse(@TempDir Path folder) throws Exception {
    var file = folder.resolve("report.md");
    var around = "before\n<!-- begin x -->\n%s<!-- end x -->\nafter\n";
    Files.writeString(file, around.formatted("old\n"));
    Section.of(file, "x").replace("| new |\n");
    assertEquals(around.formatted("\n| new |\n\n"), Files.readString(file));
    Section.of(file, "x").replace("| newer |\n");
    assertEquals(around.formatted("\n| newer |\n\n"), Files.readString(file));
  }

  @Test
  void aReportWithoutAPlaceForItIsRefused(@TempDir Path folder) throws Exception {
    var file = folder.resolve("report.md");
    Files.writeString(file, "<!-- end x -->\n<!-- begin x -->\n");
    var failure = assertThrows(IOException.class, () -> Section.of(file, "x"));
    assertTrue(
        String.valueOf(failure.getMessage()).contains("<!-- begin x -->"), failure::toString);
  }

  @Test
  void whatCannotBeMeasuredIsRefusedBeforeAnythingStarts() {
    assertTrue(refusal("--only", "nothing").contains("'nothing'"));
    assertTrue(refusal("--processes", "1").contains("2 to 16"));
    assertTrue(refusal("--only", "read", "--report").contains("omit --only"));
  }

  private static String refusal(String... arguments) {
    var err = new StringWriter();
    var all = new ArrayList<>(List.of("nodes"));
    all.addAll(List.of(arguments));
    assertEquals(
        2,
        new CommandLine(new Main())
            .setErr(new PrintWriter(err))
            .execute(all.toArray(String[]::new)));
    return err.toString();
  }
}
