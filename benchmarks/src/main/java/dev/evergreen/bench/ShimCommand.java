package dev.evergreen.bench;

import dev.evergreen.bench.RedisArms.Arm;
import dev.evergreen.bench.load.Cores;
import dev.evergreen.bench.load.Programs;
import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.StoredTrace;
import dev.evergreen.provenance.Why;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The paper's experiment with Redis (002), and more loads, beside other relays. */
@Command(
    name = "shim",
    description = {
      "Measures what the recording shim costs a Redis, beside HAProxy and twemproxy.",
      "They take turns, and those that are idle are stopped. The loads are the paper's experiment"
          + " (one client, SETs of one key), pipelining, many clients, and several commands.",
      "Needs redis-server and redis-benchmark; haproxy and nutcracker to compare with them."
    },
    mixinStandardHelpOptions = true)
final class ShimCommand implements Callable<Integer> {
  private static final String BARE = "bare";
  private static final String PLAIN = "not recording";
  private static final String BATCH = "recording, batch";
  private static final String UNIX = "recording, batch, UNIX upstream";

  /** The paper's medians: partial and full recording beside bare. */
  private static final double PAPER_PARTIAL = 0.68;

  private static final double PAPER_FULL = 0.59;

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private CommandSpec spec;

  @Option(
      names = "--repeats",
      paramLabel = "N",
      description = "Of the paper's experiment; ${DEFAULT-VALUE} if not given")
  private int repeats = 20;

  @Option(
      names = "--seconds",
      paramLabel = "SECONDS",
      description = "How long each turn of it is; ${DEFAULT-VALUE} if not given")
  private double seconds = 5;

  @Option(
      names = "--rounds",
      paramLabel = "N",
      description =
          "Of each other load, of a second each; 0 leaves these out; ${DEFAULT-VALUE} if not given")
  private int rounds = 5;

  @Option(names = "--quick", description = "Two or three short rounds of each: some minutes")
  private boolean quick;

  @Mixin
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private ReportOption report;

  private Progress progress = Progress.of(1);

  private final Path folder = Path.of(System.getProperty("java.io.tmpdir"));

  private static final List<Work> WARM_UP =
      List.of(Work.sets(1, 1), Work.sets(16, 16), Work.sets(1, 50));

  private static final List<Work> OTHERS =
      List.of(
          Work.sets(1, 16),
          Work.sets(1, 50),
          Work.sets(16, 1),
          Work.sets(256, 1),
          new Work("mixed commands, 16 clients", 16, 1, "set,get,incr,lpush,sadd,hset", 100_000));

  /**
   * What clients do.
   *
   * @param tests of redis-benchmark; none for SETs of one key with a value of two bytes
   * @param keys of how many the tests take one
   */
  private record Work(String name, int clients, int depth, @Nullable String tests, int keys) {
    static Work sets(int clients, int depth) {
      return new Work(
          "SETs, %d client%s, depth %d".formatted(clients, clients == 1 ? "" : "s", depth),
          clients,
          depth,
          null,
          1);
    }
  }

  /**
   * What a turn found.
   *
   * @param rate operations a second until all was answered, so in the spool
   * @param loaded operations a second until all was in the database
   */
  private record Turn(double rate, double loaded) {
    double micros() {
      return 1e6 / rate;
    }
  }

  @Override
  public Integer call() throws Exception {
    if (quick) {
      repeats = 3;
      rounds = 2;
      seconds = 0.5;
    }
    if (repeats < 1 || rounds < 0 || !(seconds > 0)) {
      throw new ParameterException(
          spec.commandLine(),
          "--repeats and --seconds must be above 0, and --rounds not below; there are --repeats %d, --seconds %s, --rounds %d"
              .formatted(repeats, seconds, rounds));
    }
    var section = report.section("shim");
    var here = Files.createTempDirectory(folder, "bench-shim");
    var lines = new ArrayList<Line>();
    var text = new StringBuilder();
    try (var arms = RedisArms.start(here)) {
      startAll(arms);
      int turns = WARM_UP.size() + 2 * (repeats + OTHERS.size() * rounds);
      progress = Progress.of(turns * arms.all().size() + 1);
      warmUp(arms);
      for (boolean pinned : new boolean[] {false, true}) {
        arms.place(pinned);
        measure(arms, pinned, lines);
      }
      text.append(succinctness(arms));
    } finally {
      Folders.delete(here);
    }
    var table = new Report(lines, rounds == 0 ? repeats : rounds);
    spec.commandLine().getOut().print(table.text() + text);
    spec.commandLine().getOut().flush();
    if (section != null) {
      section.replace(
          table.markdown()
              + "\n![Rates beside bare](figures/shim-free.svg)\n"
              + "![The same, pinned](figures/shim-pinned.svg)\n\n"
              + text);
    }
    return 0;
  }

  private static void startAll(RedisArms arms) throws IOException, InterruptedException {
    arms.bare();
    arms.shim(PLAIN, null, false);
    arms.shim("recording, none", "none", false);
    arms.shim(BATCH, "batch", false);
    arms.shim(UNIX, "batch", true);
    arms.shim("recording, reply", "reply", false);
    if (Programs.has("haproxy")) {
      arms.haproxy();
    }
    if (Programs.has("nutcracker")) {
      arms.twemproxy();
    }
  }

  /** So that the JVMs have compiled what they need. */
  private void warmUp(RedisArms arms) throws IOException, InterruptedException {
    for (var arm : arms.all()) {
      for (var work : WARM_UP) {
        turn(arms, arm, work, false, quick ? 1 : 4);
      }
    }
  }

  private void measure(RedisArms arms, boolean pinned, List<Line> lines)
      throws IOException, InterruptedException {
    var where = pinned ? ", pinned" : "";
    var paper = turns(arms, Work.sets(1, 1), pinned, repeats, seconds);
    lines.addAll(lines("the paper's SETs" + where, paper, true));
    box(paper, pinned);
    for (var work : rounds == 0 ? List.<Work>of() : OTHERS) {
      lines.addAll(
          lines(work.name() + where, turns(arms, work, pinned, rounds, quick ? 0.5 : 1), false));
    }
  }

  /** All arms in turns; each begins a round as often as the others. */
  private Map<String, List<Turn>> turns(
      RedisArms arms, Work work, boolean pinned, int count, double length)
      throws IOException, InterruptedException {
    var all = new ArrayList<>(arms.all());
    var turns = new LinkedHashMap<String, List<Turn>>();
    all.forEach(arm -> turns.put(arm.name(), new ArrayList<>()));
    for (int round = 0; round < count; round++) {
      Collections.rotate(all, 1);
      for (var arm : all) {
        turns.getOrDefault(arm.name(), List.of()).add(turn(arms, arm, work, pinned, length));
      }
    }
    return turns;
  }

  private Turn turn(RedisArms arms, Arm arm, Work work, boolean pinned, double length)
      throws IOException, InterruptedException {
    arms.flush();
    arm.resume();
    try {
      // Begins with a short one, which tells how many make a turn.
      var sample = run(arm, work, pinned, 2_000);
      long count = Math.max(2_000, (long) (sample.rate * length));
      arm.drain();
      var run = run(arm, work, pinned, count);
      double drained = arm.drain();
      return new Turn(run.rate, run.count / (run.count / run.rate + drained));
    } finally {
      arm.pause();
      progress.step(work.name() + (pinned ? ", pinned" : ""));
    }
  }

  private record Run(long count, double rate) {}

  private static Run run(Arm arm, Work work, boolean pinned, long count)
      throws IOException, InterruptedException {
    var command =
        new ArrayList<>(
            List.of(
                "redis-benchmark",
                "--csv",
                "-p",
                Integer.toString(arm.port()),
                "-c",
                Integer.toString(work.clients()),
                "-P",
                Integer.toString(work.depth())));
    long each = count / (work.tests() == null ? 1 : work.tests().split(",", -1).length);
    command.addAll(List.of("-n", Long.toString(each)));
    command.addAll(
        work.tests() == null
            ? List.of("SET", "k", "42")
            : List.of("-d", "100", "-r", Integer.toString(work.keys()), "-t", work.tests()));
    var said = Programs.run(pinned ? Cores.pinned(0, command) : command);
    double time = 0;
    long all = 0;
    for (var line : said.lines().filter(line -> line.startsWith("\"")).toList()) {
      var fields = line.replace("\"", "").split(",", -1);
      if (!fields[0].equals("test")) {
        time += each / Double.parseDouble(fields[1]);
        all += each;
      }
    }
    if (all == 0) {
      throw new IOException("redis-benchmark says something else than expected:\n" + said);
    }
    return new Run(all, all / time);
  }

  private static List<Double> rates(List<Turn> turns) {
    return turns.stream().map(turn -> turn.rate() / 1e3).toList();
  }

  private static List<Line> lines(String what, Map<String, List<Turn>> turns, boolean paper) {
    var lines = new ArrayList<Line>();
    var bare = turns.getOrDefault(BARE, List.of());
    turns.forEach(
        (arm, mine) -> {
          var name = what + ": " + arm;
          if (arm.equals(BARE)) {
            lines.add(Line.alone(name, "k/s", rates(mine)));
            return;
          }
          var ratio = Line.compared(name, "k/s", rates(mine), BARE, rates(bare));
          double goal = goal(what, arm, paper);
          lines.add(goal > 0 ? ratio.ratioAtLeast(goal) : ratio);
          var added = new ArrayList<Double>();
          for (int i = 0; i < mine.size(); i++) {
            added.add(mine.get(i).micros() - bare.get(i).micros());
          }
          if (paper) {
            var line = Line.alone(name + ", added", "µs", added);
            lines.add(arm.equals(BATCH) ? line.atMost(20) : line);
          }
          if (arm.startsWith("recording")) {
            lines.add(
                Line.compared(
                    name + ", all in the database",
                    "k/s",
                    mine.stream().map(turn -> turn.loaded() / 1e3).toList(),
                    BARE,
                    rates(bare)));
          }
        });
    var batch = turns.getOrDefault(BATCH, List.of());
    for (var other : List.of(PLAIN, "HAProxy", "twemproxy")) {
      if (turns.containsKey(other)) {
        var line =
            Line.compared(
                what + ": " + BATCH,
                "k/s",
                rates(batch),
                other,
                rates(turns.getOrDefault(other, List.of())));
        lines.add(
            other.equals(PLAIN) ? line.ratioAtLeast(0.95) : paper ? line.ratioAtLeast(1) : line);
      }
    }
    return lines;
  }

  /** What is wanted of the ratio to bare; 0 if nothing is said. */
  private static double goal(String what, String arm, boolean paper) {
    if (!arm.equals(BATCH) && !arm.equals(UNIX)) {
      return 0;
    }
    if (paper) {
      return arm.equals(UNIX) ? 0.88 : 0.80;
    }
    return what.contains("depth 50") ? 0.5 : what.contains("256 clients") ? 0.75 : 0;
  }

  private void box(Map<String, List<Turn>> turns, boolean pinned) throws IOException {
    var bare = rates(turns.getOrDefault(BARE, List.of()));
    var rows = new LinkedHashMap<String, List<Double>>();
    rows.put("paper, partial", List.of(PAPER_PARTIAL));
    rows.put("paper, full", List.of(PAPER_FULL));
    turns.forEach(
        (arm, mine) -> {
          var ratios = new ArrayList<Double>();
          for (int i = 0; i < mine.size(); i++) {
            ratios.add(mine.get(i).rate() / 1e3 / bare.get(i));
          }
          if (!arm.equals(BARE)) {
            rows.put(arm.replace("recording, ", "").replace(" upstream", ""), ratios);
          }
        });
    new Boxes("SETs of one client beside bare Redis" + (pinned ? ", pinned" : ""), "ratio", rows)
        .write(report.figures(folder).resolve(pinned ? "shim-pinned.svg" : "shim-free.svg"));
  }

  /** How many operations an answer names, of how many that were recorded. */
  private String succinctness(RedisArms arms) throws IOException, InterruptedException {
    var arm = arms.named(BATCH).orElseThrow();
    var work = new Work("few keys", 16, 1, "set,incr,sadd,hset", 100);
    turn(arms, arm, work, false, 1);
    try (var trace = StoredTrace.open(String.valueOf(arm.trace()), Duration.ofSeconds(10))) {
      var text = new StringBuilder("| question | operations that it names | recorded before |\n");
      text.append("| --- | --- | --- |\n");
      long recorded = trace.count(0, Long.MAX_VALUE);
      long epoch = trace.epoch(Long.MAX_VALUE);
      var kind = trace.kind(epoch);
      for (var question :
          List.of(
              "GET key:000000000001",
              "GET counter:000000000001",
              "SISMEMBER myset element:000000000001",
              "HGET myhash element:000000000001",
              "GET nothing")) {
        var words = Stream.of(question.split(" ", -1)).map(Bytes::of).toList();
        var asked = trace.question(Long.MAX_VALUE, epoch, "0", words, null);
        var answer = new Why(kind.specification(), trace).ask(asked, Why.Wish.ONE);
        int entries =
            answer.witnesses().isEmpty() ? 0 : answer.witnesses().getFirst().elements().size();
        text.append("| `%s` | %d | %,d |\n".formatted(question, entries, recorded));
      }
      return text.toString();
    }
  }
}
