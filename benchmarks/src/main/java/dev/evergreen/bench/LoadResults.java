package dev.evergreen.bench;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;

/**
 * The runs that are finished, kept in a file with a line each, so that an evaluation of hours can
 * be ended at any time and goes on where it was.
 */
final class LoadResults {

  /** A line is whole if it has them all and its end. */
  private static final int COLUMNS = 9;

  /**
   * What came of a run.
   *
   * @param target requests a second that were aimed at; 0 in closed loop
   * @param rate requests a second that were answered
   * @param serverMicros processor time of the server for each
   * @param generatorShare how busy the generator was; 1 for all the time
   * @param p50 microseconds
   * @param p99 microseconds
   * @param misses gets that found nothing, although all keys were set before
   * @param errors requests that were answered with an error
   */
  record Result(
      double target,
      double rate,
      double serverMicros,
      double generatorShare,
      double p50,
      double p99,
      long misses,
      long errors) {

    boolean generatorBound() {
      return generatorShare >= 0.9;
    }
  }

  private final Path file;
  private final Map<String, Result> results = new LinkedHashMap<>();

  private LoadResults(Path file) {
    this.file = file;
  }

  /** Reads a file, or will make it if there is none. */
  static LoadResults open(Path file) throws IOException {
    var results = new LoadResults(file);
    if (Files.exists(file)) {
      var text = Files.readString(file);
      int whole = text.lastIndexOf('\n') + 1;
      text.substring(0, whole).lines().forEach(results::read);
      if (whole < text.length()) {
        // The last run was cut off while it was written.
        Files.writeString(file, text.substring(0, whole));
      }
    } else if (file.toAbsolutePath().getParent() != null) {
      Files.createDirectories(file.toAbsolutePath().getParent());
    }
    return results;
  }

  private void read(String line) {
    var cells = line.split("\t", -1);
    if (cells.length != COLUMNS) {
      throw new IllegalArgumentException(
          file + " has a line that is no run; remove the file to begin anew: " + line);
    }
    results.put(
        cells[0],
        new Result(
            Double.parseDouble(cells[1]),
            Double.parseDouble(cells[2]),
            Double.parseDouble(cells[3]),
            Double.parseDouble(cells[4]),
            Double.parseDouble(cells[5]),
            Double.parseDouble(cells[6]),
            Long.parseLong(cells[7]),
            Long.parseLong(cells[8])));
  }

  void add(LoadRun run, Result result) throws IOException {
    results.put(run.toString(), result);
    var cells =
        List.of(
            run.toString(),
            result.target + "",
            result.rate + "",
            result.serverMicros + "",
            result.generatorShare + "",
            result.p50 + "",
            result.p99 + "",
            result.misses + "",
            result.errors + "");
    Files.writeString(
        file,
        String.join("\t", cells) + "\n",
        StandardCharsets.UTF_8,
        StandardOpenOption.CREATE,
        StandardOpenOption.APPEND);
  }

  /** Those of the runs that are not finished. */
  List<LoadRun> pending(List<LoadRun> runs) {
    return runs.stream().filter(run -> !results.containsKey(run.toString())).toList();
  }

  int size() {
    return results.size();
  }

  /** The results of a server under a load, by round. */
  Map<Integer, Result> of(String server, LoadRun.Setting load) {
    var found = new TreeMap<Integer, Result>();
    int missing = 0;
    // Rounds are run in order, but some may be missing of a server that could not be started.
    for (int round = 0; missing < 100; round++) {
      var result = results.get(new LoadRun(server, load, round).toString());
      if (result == null) {
        missing++;
      } else {
        found.put(round, result);
      }
    }
    return found;
  }

  /** The values of two that took turns, of the rounds that both have. */
  Optional<Pair> pair(
      String server,
      LoadRun.Setting load,
      String other,
      LoadRun.Setting otherLoad,
      ToDoubleFunction<Result> value) {
    var ours = new ArrayList<Double>();
    var theirs = new ArrayList<Double>();
    int bound = 0;
    var others = of(other, otherLoad);
    for (var entry : of(server, load).entrySet()) {
      var that = others.get(entry.getKey());
      if (that != null) {
        ours.add(value.applyAsDouble(entry.getValue()));
        theirs.add(value.applyAsDouble(that));
        bound += entry.getValue().generatorBound() ? 1 : 0;
      }
    }
    return ours.isEmpty() ? Optional.empty() : Optional.of(new Pair(ours, theirs, bound));
  }

  /**
   * Values by round.
   *
   * @param bound in how many of ours the generator had no time left
   */
  record Pair(List<Double> ours, List<Double> theirs, int bound) {}

  /** How many requests of all runs were not answered as they should have been. */
  long failures() {
    return results.values().stream().mapToLong(result -> result.misses + result.errors).sum();
  }
}
