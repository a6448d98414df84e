package dev.evergreen.bench;

import dev.evergreen.bench.load.ServerProcess;
import dev.evergreen.bench.load.SoakLoad;
import dev.evergreen.bench.load.SoakSample;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Keeps a memcached server under mixed load, and tells whether what it takes stays the same. */
@Command(
    name = "soak",
    description = {
      "Puts a memcached server under load of all kinds for long, checks every reply, and tells whether its memory is flat.",
      "Text, meta and binary requests, values that grow and shrink, clients that come and go, that read slowly and leave amid a value.",
      "The exit code is 1 if something grew."
    },
    mixinStandardHelpOptions = true)
final class Soak implements Callable<Integer> {

  /** What may grow without being a leak: pages that are touched for the first time late. */
  private static final double SLACK = 1.05;

  private static final int SAMPLES = 30;
  private static final int LEAST_SAMPLES = 9;

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private CommandSpec spec;

  @Option(
      names = "--seconds",
      paramLabel = "SECONDS",
      defaultValue = "600",
      description = "How long; 600 by default")
  private int seconds;

  @Option(
      names = "--server",
      paramLabel = "COMMAND",
      defaultValue = "./evergreen memcached -p {port} -l 127.0.0.1 -m 128 -c 2000",
      description = "How it is started; ours with 128 MiB by default")
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private String command;

  @Mixin
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private ReportOption report;

  /** A column of the table. */
  private record Figure(String name, ToLongFunction<SoakSample> value, long unit, long slack) {

    /** The median of a third of the samples. */
    long median(List<SoakSample> samples, int third) {
      int size = samples.size() / 3;
      var sorted =
          samples.subList(third * size, (third + 1) * size).stream()
              .mapToLong(value)
              .sorted()
              .toArray();
      return sorted[sorted.length / 2];
    }

    /** The first third is the time in which it gets warm. */
    boolean isFlat(List<SoakSample> samples) {
      return median(samples, 2) <= median(samples, 1) * SLACK + slack;
    }
  }

  private static final long MIB = 1 << 20;

  private static final List<Figure> FIGURES =
      List.of(
          new Figure("RSS, MiB", SoakSample::resident, MIB, 8 * MIB),
          new Figure("live heap, MiB", SoakSample::liveHeap, MIB, MIB),
          new Figure("outside the heap, MiB", SoakSample::outside, MIB, 4 * MIB),
          new Figure("descriptors", SoakSample::descriptors, 1, 8),
          new Figure("connections", SoakSample::connections, 1, 8),
          new Figure("held, MiB", SoakSample::held, MIB, 4 * MIB));

  @Override
  public Integer call() throws Exception {
    if (seconds < 1) {
      throw new ParameterException(spec.commandLine(), "--seconds must be positive");
    }
    var section = report.section("soak");
    var samples = new ArrayList<SoakSample>();
    long requests;
    var words = List.of(command.trim().split(" +"));
    try (var server = ServerProcess.memcached(words, 0)) {
      requests = load(server, samples);
      var rest = SoakSample.of(server, seconds);
      say("after the load: " + rest);
    }
    boolean flat = samples.size() >= LEAST_SAMPLES && print(samples, requests, section);
    return flat ? 0 : 1;
  }

  private long load(ServerProcess server, List<SoakSample> samples) throws Exception {
    long begin = System.nanoTime();
    try (var load = SoakLoad.start(server.address())) {
      for (int i = 1; i <= SAMPLES; i++) {
        long due = begin + Duration.ofSeconds(seconds).toNanos() * i / SAMPLES;
        while (System.nanoTime() - due < 0) {
          load.check();
          Thread.sleep(20);
        }
        var sample = SoakSample.of(server, Duration.ofNanos(System.nanoTime() - begin).toSeconds());
        samples.add(sample);
        say(sample + ", " + load.requests() + " requests");
      }
      load.check();
      return load.requests();
    }
  }

  private boolean print(List<SoakSample> samples, long requests, @Nullable Section section)
      throws Exception {
    var table = new StringBuilder("| | ");
    FIGURES.forEach(figure -> table.append(figure.name()).append(" | "));
    table.append("\n|").append(" --- |".repeat(FIGURES.size() + 1)).append('\n');
    for (int i = 0; i < samples.size(); i += Math.max(1, samples.size() / 10)) {
      row(table, "after " + samples.get(i).second() + " s", samples.get(i));
    }
    row(table, "after " + samples.getLast().second() + " s", samples.getLast());
    boolean flat = true;
    table.append("| flat? ");
    for (var figure : FIGURES) {
      flat &= figure.isFlat(samples);
      table.append(figure.isFlat(samples) ? "| yes " : "| **no** ");
    }
    table.append("|\n");
    var text =
        String.format(
            Locale.ROOT,
            "%,d requests in %,d s, all answered as they must be.%n%n%s",
            requests,
            seconds,
            table);
    spec.commandLine().getOut().print(text);
    spec.commandLine().getOut().flush();
    if (section != null) {
      section.replace(text);
    }
    return flat;
  }

  private static void row(StringBuilder table, String name, SoakSample sample) {
    table.append("| ").append(name);
    for (var figure : FIGURES) {
      double value = figure.value().applyAsLong(sample) / (double) figure.unit();
      table
          .append(" | ")
          .append(String.format(Locale.ROOT, figure.unit() == 1 ? "%.0f" : "%.1f", value));
    }
    table.append(" |\n");
  }

  private void say(String text) {
    spec.commandLine().getErr().println(text);
    spec.commandLine().getErr().flush();
  }
}
