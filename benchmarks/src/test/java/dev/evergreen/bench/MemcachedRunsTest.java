package dev.evergreen.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.bench.LoadResults.Result;
import dev.evergreen.bench.LoadRun.Setting;
import dev.evergreen.bench.load.DebianMemcached;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** The evaluation of memcached servers; how fast they are, no test says. */
class MemcachedRunsTest {

  private static final MemcachedRuns.Extent LEAST =
      new MemcachedRuns.Extent(
          2,
          1,
          List.of(0.25, 0.9),
          Duration.ofMillis(100),
          Duration.ofMillis(10),
          Duration.ofMillis(100));

  private static final List<String> SERVERS =
      List.of(Contestant.MEMCACHED, Contestant.EVERGREEN, "another");

  @TempDir private Path folder;

  private Path file() {
    return folder.resolve("runs.tsv");
  }

  private static Result result(double rate, double share) {
    return new Result(0, rate, 10e6 / rate, share, 100, 1000, 0, 0);
  }

  @Test
  void aRunThatIsFinishedIsNotDoneAgain() throws Exception {
    var runs = LEAST.runs(SERVERS);
    var results = LoadResults.open(file());
    assertEquals(runs, results.pending(runs));
    results.add(runs.get(0), result(1000, 0.5));
    results.add(runs.get(2), result(2000, 0.5));
    var later = LoadResults.open(file());
    var pending = later.pending(runs);
    assertEquals(runs.size() - 2, pending.size());
    assertEquals(runs.get(1), pending.getFirst());
    assertFalse(pending.contains(runs.get(2)));
  }

  @Test
  void aRunWhoseLineWasCutOffIsDoneAgain() throws Exception {
    var runs = LEAST.runs(SERVERS);
    var results = LoadResults.open(file());
    results.add(runs.get(0), result(1000, 0.5));
    Files.writeString(file(), runs.get(1) + "\t0.0\t12", StandardOpenOption.APPEND);
    var later = LoadResults.open(file());
    assertEquals(runs.get(1), later.pending(runs).getFirst());
    later.add(runs.get(1), result(1000, 0.5));
    assertEquals(runs.get(2), LoadResults.open(file()).pending(runs).getFirst());
  }

  @Test
  void aFileOfSomethingElseIsRefused() throws Exception {
    Files.writeString(file(), "something else\n");
    assertThrows(IllegalArgumentException.class, () -> LoadResults.open(file()));
  }

  @Test
  void runsHaveNamesOfTheirOwnAndServersFollowEachOther() {
    var runs = LEAST.runs(SERVERS);
    assertEquals(runs.size(), new HashSet<>(runs.stream().map(LoadRun::toString).toList()).size());
    var compared = runs.subList(3, runs.size());
    for (int i = 0; i < compared.size(); i++) {
      assertEquals(SERVERS.get(i % SERVERS.size()), compared.get(i).server());
    }
    int open = 2 * LEAST.targets().size();
    int others = 3 * LEAST.targets().size();
    assertEquals((2 * LoadRun.CLOSED.size() + open + others) * SERVERS.size(), compared.size());
  }

  @Test
  void theTableComparesTheRoundsThatBothHaveAndMarksWhatTheGeneratorBound() throws Exception {
    var results = LoadResults.open(file());
    var load = Setting.closed(512, 1);
    for (int round = 0; round < 3; round++) {
      results.add(new LoadRun(Contestant.MEMCACHED, load, round), result(100e3, 0.5));
    }
    results.add(new LoadRun(Contestant.EVERGREEN, load, 0), result(110e3, 0.95));
    results.add(new LoadRun(Contestant.EVERGREEN, load, 2), result(120e3, 0.5));
    var lines = new MemcachedReport(results, SERVERS, LEAST).lines();
    assertEquals(2, lines.size());
    var rate = lines.get(1);
    assertTrue(rate.name().contains("bound by the generator in 1 of 2"), rate::name);
    assertEquals("1.15 (1.10–1.20)", String.valueOf(rate.ratio()));
    assertEquals(new Line.Budget("≥ 1.00 ×", Line.Verdict.MET), rate.budget());
  }

  @Test
  void othersAreComparedWithTheServerAsShippedToo() throws Exception {
    var load = Setting.closed(512, 1);
    var results = LoadResults.open(file());
    for (var server : SERVERS) {
      results.add(new LoadRun(server, load, 0), result(100e3, 0.5));
    }
    var names = new MemcachedReport(results, SERVERS, LEAST).lines().stream();
    assertEquals(
        List.of("memcached", "memcached", "memcached", "memcached", "another", "another"),
        names.map(Line::against).toList());
  }

  @Test
  void figuresAreDrawnOfWhatThereIs() throws Exception {
    var results = LoadResults.open(file());
    var report = new MemcachedReport(results, SERVERS, LEAST);
    assertEquals(List.of(), report.writeFigures(folder));
    for (double target : LEAST.targets()) {
      for (int round = 0; round < 2; round++) {
        results.add(
            new LoadRun(Contestant.MEMCACHED, Setting.open(3, target), round),
            new Result(target * 1e5, target * 1e5, 10, 0.5, 100, 1e3 * target + round, 0, 0));
      }
    }
    var written = report.writeFigures(folder);
    assertEquals(4, written.size());
    for (var name : written) {
      assertTrue(Files.readString(folder.resolve(name)).contains("<svg"), name);
    }
  }

  @Test
  void aServerIsStartedMeasuredAndEnded() throws Exception {
    Assumptions.assumeTrue(
        DebianMemcached.present(), "memcached is not there (Debian: apt-get install memcached)");
    var results = LoadResults.open(file());
    var contestant = new Contestant(Contestant.MEMCACHED, DebianMemcached.command(256, 2000));
    var run = new LoadRun(Contestant.MEMCACHED, Setting.closed(16, 1), 0);
    try (var runs = new MemcachedRuns(results, LEAST, 1, 0)) {
      runs.start(contestant);
      runs.run(run);
    }
    assertEquals(List.of(), LoadResults.open(file()).pending(List.of(run)));
    assertEquals(0, results.failures());
  }

  @Test
  void whatCannotBeMeasuredIsRefused() {
    assertTrue(refusal("memcached", "--servers", "nothing").contains("'nothing'"));
    assertTrue(refusal("memcached", "--server", "nothing").contains("NAME=COMMAND"));
    assertTrue(refusal("load", "--connections", "0").contains("connections must be"));
    assertTrue(refusal("load", "--processes", "17").contains("processes"));
    assertTrue(refusal("fibers", "--only", "nothing").contains("cycle"));
  }

  private static String refusal(String... arguments) {
    var err = new StringWriter();
    assertEquals(2, new CommandLine(new Main()).setErr(new PrintWriter(err)).execute(arguments));
    return err.toString();
  }
}
