package dev.evergreen.bench;

import dev.evergreen.bench.Figure.Panel;
import dev.evergreen.bench.Figure.Point;
import dev.evergreen.bench.Figure.Series;
import dev.evergreen.fibers.Fibers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Runs the thesis's micro-benchmarks of fibers beside the JDK's scheduler and goroutines. */
@Command(
    name = "fibers",
    description =
        "Measures fibers, the JDK's virtual threads and goroutines in turns: yield, cycle, churn, locality, transfer.",
    mixinStandardHelpOptions = true)
final class FibersCommand implements Callable<Integer> {

  private static final String OURS = "our processors";
  private static final String JDK = "the JDK's scheduler";
  private static final String GO = "goroutines";

  private static final List<Integer> COUNTS = List.of(8, 64, 512, 4096);

  /**
   * How much is measured.
   *
   * @param rounds how often the variants take turns
   * @param time how long each turn lasts
   */
  private record Extent(int rounds, Duration time) {}

  /** Who has a turn. */
  private interface Variant {
    double perSecond(FiberGame game, int count, Duration time) throws Exception;
  }

  private record Setting(FiberGame game, int count) {}

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private CommandSpec spec;

  @Option(names = "--quick", description = "Takes about a minute, with wider spreads")
  private boolean quick;

  @Option(names = "--only", paramLabel = "NAME", description = "Runs one benchmark only")
  private @Nullable String only;

  @Option(
      names = "--figures",
      paramLabel = "DIR",
      defaultValue = "target/figures",
      description = "Where the figure goes, as SVG; target/figures by default")
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private Path figures;

  @Mixin
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private ReportOption report;

  @Override
  public Integer call() throws Exception {
    var games = games();
    if (report.isGiven() && only != null) {
      throw refuse("--report replaces the whole table, so it needs all benchmarks: omit --only");
    }
    var section = report.section("fibers");
    var extent =
        quick ? new Extent(3, Duration.ofMillis(200)) : new Extent(7, Duration.ofSeconds(1));
    var measured = measure(games, extent);
    var table = new Report(lines(measured), extent.rounds());
    spec.commandLine().getOut().print(table.text());
    spec.commandLine().getOut().flush();
    var folder = report.figures(figures);
    Files.createDirectories(folder);
    figure(games, measured).write(folder.resolve("fibers.svg"));
    if (section != null) {
      section.replace(table.markdown() + "\n![fibers](figures/fibers.svg)\n");
    }
    return 0;
  }

  private List<FiberGame> games() {
    var all = List.of(FiberGame.values());
    var chosen = all.stream().filter(game -> only == null || name(game).equals(only)).toList();
    if (chosen.isEmpty()) {
      throw refuse(
          "knows no benchmark '%s'; there are %s"
              .formatted(only, String.join(", ", all.stream().map(FibersCommand::name).toList())));
    }
    return chosen;
  }

  private ParameterException refuse(String text) {
    return new ParameterException(spec.commandLine(), text);
  }

  private static String name(FiberGame game) {
    return game.name().toLowerCase(Locale.ROOT);
  }

  private Map<Setting, Map<String, List<Double>>> measure(List<FiberGame> games, Extent extent)
      throws Exception {
    var go = Goroutines.build();
    try (var ours = Fibers.builder().mode(Fibers.Mode.PROCESSORS).start();
        var jdk = Fibers.builder().mode(Fibers.Mode.JDK).start()) {
      var variants = new LinkedHashMap<String, Variant>();
      variants.put(OURS, (game, count, time) -> game.perSecond(ours, count, time));
      variants.put(JDK, (game, count, time) -> game.perSecond(jdk, count, time));
      if (go.isPresent()) {
        variants.put(GO, go.get()::perSecond);
      } else {
        say("goroutines are left out: Go is not installed (Debian: apt-get install golang-go)");
      }
      return inTurns(games, variants, extent);
    } finally {
      go.ifPresent(Goroutines::close);
    }
  }

  /** The first round warms up, and does not count. */
  private Map<Setting, Map<String, List<Double>>> inTurns(
      List<FiberGame> games, Map<String, Variant> variants, Extent extent) throws Exception {
    var measured = new LinkedHashMap<Setting, Map<String, List<Double>>>();
    for (var game : games) {
      say("measuring " + name(game) + "…");
      for (int round = 0; round <= extent.rounds(); round++) {
        for (int count : COUNTS.stream().filter(c -> c <= game.mostFibers()).toList()) {
          var values =
              measured.computeIfAbsent(new Setting(game, count), s -> new LinkedHashMap<>());
          for (var variant : variants.entrySet()) {
            double value = variant.getValue().perSecond(game, count, extent.time());
            if (round > 0) {
              values.computeIfAbsent(variant.getKey(), v -> new ArrayList<>()).add(value);
            }
          }
        }
      }
    }
    return measured;
  }

  private static List<Line> lines(Map<Setting, Map<String, List<Double>>> measured) {
    var lines = new ArrayList<Line>();
    measured.forEach(
        (setting, values) -> {
          var name = "%s, %,d fibers".formatted(name(setting.game()), setting.count());
          for (var other : List.of(JDK, GO)) {
            var theirs = values.get(other);
            if (theirs != null) {
              lines.add(
                  Line.compared(
                      name,
                      "k/s",
                      thousands(values.getOrDefault(OURS, List.of())),
                      other,
                      thousands(theirs)));
            }
          }
        });
    return lines;
  }

  private static List<Double> thousands(List<Double> perSecond) {
    return perSecond.stream().map(value -> value / 1e3).toList();
  }

  private static Figure figure(
      List<FiberGame> games, Map<Setting, Map<String, List<Double>>> measured) {
    return new Figure(2, false, games.stream().map(game -> panel(game, measured)).toList());
  }

  private static Panel panel(FiberGame game, Map<Setting, Map<String, List<Double>>> measured) {
    var series = new LinkedHashMap<String, List<Point>>();
    measured.forEach(
        (setting, values) -> {
          if (setting.game() == game) {
            values.forEach(
                (variant, perSecond) ->
                    perSecond.forEach(
                        value ->
                            series
                                .computeIfAbsent(variant, v -> new ArrayList<>())
                                .add(new Point(setting.count(), value / 1e3))));
          }
        });
    return new Panel(
        name(game),
        "fibers",
        "turns, k/s",
        true,
        game == FiberGame.TRANSFER,
        series.entrySet().stream().map(s -> new Series(s.getKey(), s.getValue())).toList());
  }

  private void say(String text) {
    var terminal = spec.commandLine().getErr();
    terminal.println(text);
    terminal.flush();
  }
}
