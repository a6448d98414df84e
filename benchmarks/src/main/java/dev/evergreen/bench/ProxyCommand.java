package dev.evergreen.bench;

import dev.evergreen.bench.load.Cores;
import dev.evergreen.bench.load.Paced;
import dev.evergreen.bench.load.Programs;
import dev.evergreen.bench.load.ServerProcess;
import dev.evergreen.bench.polymix.Workload;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.ToDoubleFunction;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Measures the HTTP proxy beside others. */
@Command(
    name = "proxy",
    description = {
      "Measures the HTTP proxy beside nginx and other proxies, in turns.",
      "It tells the processor time of a request, and the rate. nginx has open_file_cache. Varnish, Apache Traffic Server and HAProxy take part where they are installed.",
      "Each proxy has core 0 and one worker. The load and the origin, another nginx, have core 1.",
      "Needs nginx and wrk; h2load for HTTP/2."
    },
    mixinStandardHelpOptions = true)
final class ProxyCommand implements Callable<Integer> {

  /** So that the JVM has compiled what a hit needs. */
  private static final int WARM_UPS = 8;

  private static final int SMALL = 1 << 10;
  private static final List<Integer> SIZES = List.of(SMALL, 10 << 10, 1 << 20);
  private static final List<Integer> CONNECTIONS = List.of(16, 64, 512);

  /** What design demands of hits of this size at most, in processor time beside nginx's. */
  private static final double MOST_TIME = 0.85;

  private static final int PACED_CONNECTIONS = 64;

  private static final Pattern REQUESTS = Pattern.compile("(\\d+) requests in");
  private static final Pattern RATE = Pattern.compile("Requests/sec:\\s+([\\d.]+)");
  private static final Pattern H2_REQUESTS = Pattern.compile("requests: (\\d+) total");
  private static final Pattern H2_RATE = Pattern.compile("finished in [^,]+, ([\\d.]+) req/s");

  /** Asks for another thing each time. */
  private static final String MISSES =
      """
      i = 0
      request = function()
        i = i + 1
        return wrk.format(nil, "/m/" .. os.time() .. "-" .. i)
      end
      """;

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private CommandSpec spec;

  @Option(names = "--rounds", paramLabel = "N", defaultValue = "7", description = "7 by default")
  private int rounds;

  @Option(
      names = "--seconds",
      paramLabel = "SECONDS",
      defaultValue = "3",
      description = "How long each turn is; 3 by default")
  private int seconds;

  @Option(
      names = "--quick",
      description = "3 rounds of 1 s, and fewer of the combinations: some minutes in all")
  private boolean quick;

  @Option(
      names = "--only",
      paramLabel = "WHAT",
      split = ",",
      description = "Of ${COMPLETION-CANDIDATES}; all by default. Each has a table of its own")
  private List<Part> only = List.of(Part.values());

  @Mixin
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private ReportOption report;

  /** A part of the comparison, by the name that the terminal and the document know it by. */
  private enum Part {
    HITS("hits"),
    PASS("pass"),
    HTTP2("http2"),
    TAIL("tail"),
    OTHERS("others"),
    MISSES("misses"),
    WORKLOAD("workload");

    private final String text;

    Part(String text) {
      this.text = text;
    }

    @Override
    public String toString() {
      return text;
    }
  }

  /** What one turn found. */
  private record Turn(double micros, double rate) {}

  /** What a turn asks, by whatever program, of a server. */
  private interface Load {
    Turn run(ServerProcess server) throws IOException, InterruptedException;
  }

  @Override
  public Integer call() throws Exception {
    if (quick) {
      rounds = 3;
      seconds = 1;
    }
    var sections = new EnumMap<Part, @Nullable Section>(Part.class);
    for (var part : only) {
      sections.put(part, report.section("proxy-" + part));
    }
    var folder = Files.createTempDirectory("bench-proxy");
    var servers = new ProxyServers(folder);
    try (var origin = servers.origin(SIZES);
        var nginx = servers.nginx(origin.port());
        var evergreen = servers.evergreen(origin.port())) {
      var all = new Compared(servers, origin.port(), evergreen, nginx);
      for (int i = 0; i < WARM_UPS; i++) {
        var _ = wrk(evergreen, "/" + SIZES.get(i % SIZES.size()), CONNECTIONS.getFirst(), null);
      }
      for (var part : sections.keySet()) {
        tell(measure(part, all), sections.get(part));
      }
    } finally {
      Folders.delete(folder);
    }
    return 0;
  }

  /** All that takes part. */
  private record Compared(
      ProxyServers servers, int origin, ServerProcess evergreen, ServerProcess nginx) {}

  private Report measure(Part part, Compared all) throws Exception {
    return switch (part) {
      case HITS -> new Report(hits(all), rounds);
      case PASS -> new Report(passed(all), rounds);
      case HTTP2 -> new Report(byHttp2(all), rounds);
      case TAIL -> new Report(tails(all.evergreen(), all.nginx()), tailRounds());
      case OTHERS -> new Report(others(all), rounds);
      case MISSES -> new Report(misses(all), rounds);
      case WORKLOAD -> new Report(workload(all.servers()), workloadRounds());
    };
  }

  private void tell(Report table, @Nullable Section section) throws IOException {
    spec.commandLine().getOut().print(table.text());
    spec.commandLine().getOut().flush();
    if (section != null) {
      section.replace(table.markdown());
    }
  }

  private List<Line> hits(Compared all) throws IOException, InterruptedException {
    var lines = new ArrayList<Line>();
    for (int size : SIZES) {
      for (int connections : quick ? List.of(16, 512) : CONNECTIONS) {
        var what = "hits of %d KB, %d connections".formatted(size >> 10, connections);
        var found = compare(what, all.evergreen(), all.nginx(), load("/" + size, connections));
        boolean limited = size <= 10 << 10;
        lines.add(limited ? found.getFirst().ratioAtMost(MOST_TIME) : found.getFirst());
        lines.add(limited ? found.getLast().ratioAtLeast(1) : found.getLast());
      }
    }
    return lines;
  }

  private List<Line> passed(Compared all) throws IOException, InterruptedException {
    var lines = new ArrayList<Line>();
    for (int connections : quick ? List.of(64) : CONNECTIONS) {
      lines.addAll(passed(all, all.nginx(), connections));
    }
    withOthers(all, other -> lines.addAll(passed(all, other, 64)));
    return lines;
  }

  private List<Line> passed(Compared all, ServerProcess other, int connections)
      throws IOException, InterruptedException {
    var what = "passed on, 1 KB, %d connections".formatted(connections);
    return compare(what, all.evergreen(), other, load("/p/" + SMALL, connections));
  }

  private List<Line> byHttp2(Compared all) throws IOException, InterruptedException {
    if (!Programs.has("h2load")) {
      throw new IOException("h2load is needed for http2; it is in the package nghttp2-client");
    }
    var lines = new ArrayList<Line>();
    try (var nginx = all.servers().nginxByHttp2(all.origin())) {
      for (int size : List.of(SMALL, 10 << 10)) {
        var found = byHttp2(all, nginx, size);
        lines.add(found.getFirst());
        lines.add(found.getLast().ratioAtLeast(1));
      }
    }
    for (var other : all.servers().othersByHttp2()) {
      try (var server = other.start(all.origin())) {
        lines.addAll(byHttp2(all, server, SMALL));
      }
    }
    return lines;
  }

  private List<Line> byHttp2(Compared all, ServerProcess other, int size)
      throws IOException, InterruptedException {
    var what = "hits of %d KB by HTTP/2, 16 × 32 streams".formatted(size >> 10);
    return compare(what, all.evergreen(), other, server -> h2load(server, size));
  }

  /** Hits beside the other proxies, one after the other. */
  private List<Line> others(Compared all) throws IOException, InterruptedException {
    var lines = new ArrayList<Line>();
    withOthers(
        all,
        other -> {
          for (int size : SIZES) {
            for (int connections : quick ? List.of(16) : CONNECTIONS) {
              var what = "hits of %d KB, %d connections".formatted(size >> 10, connections);
              var load = load("/" + size, connections);
              lines.addAll(compare(what, all.evergreen(), other, load));
            }
          }
        });
    return lines;
  }

  /** What is done with another proxy. */
  private interface Comparison {
    void with(ServerProcess other) throws IOException, InterruptedException;
  }

  private static void withOthers(Compared all, Comparison comparison)
      throws IOException, InterruptedException {
    for (var other : all.servers().others()) {
      try (var server = other.start(all.origin())) {
        comparison.with(server);
      }
    }
  }

  /** Stored misses: ours stores them on its disk where the other one does. */
  private List<Line> misses(Compared all) throws IOException, InterruptedException {
    var script = Files.writeString(all.servers().folder().resolve("miss.lua"), MISSES);
    Load misses = server -> wrk(server, "/", 64, script);
    var what = "stored misses of 1 KB, 64 connections";
    var lines = new ArrayList<Line>();
    try (var withDisk = all.servers().evergreenWithDisk(all.origin(), 4L << 30)) {
      for (int i = 0; i < WARM_UPS; i++) {
        var _ = misses.run(all.evergreen());
        var _ = misses.run(withDisk);
      }
      lines.addAll(compare(what + ", on disks", withDisk, all.nginx(), misses));
      withOthers(
          all,
          other -> {
            if (other.name().equals("ats")) {
              var found = compare(what + ", on disks", withDisk, other, misses);
              lines.add(found.getFirst().ratioAtMost(1.2));
              lines.add(found.getLast());
            } else {
              lines.addAll(compare(what + ", in memory", all.evergreen(), other, misses));
            }
          });
    }
    return lines;
  }

  private List<Line> compare(String what, ServerProcess ours, ServerProcess theirs, Load load)
      throws IOException, InterruptedException {
    say(what + " beside " + theirs.name());
    var our = new ArrayList<Turn>();
    var their = new ArrayList<Turn>();
    for (int round = -1; round < rounds; round++) {
      boolean oursFirst = round % 2 == 0;
      var first = load.run(oursFirst ? ours : theirs);
      var second = load.run(oursFirst ? theirs : ours);
      if (round >= 0) {
        our.add(oursFirst ? first : second);
        their.add(oursFirst ? second : first);
      }
    }
    return List.of(
        Line.compared(
            what + ": processor time",
            "µs",
            our.stream().map(Turn::micros).toList(),
            theirs.name(),
            their.stream().map(Turn::micros).toList()),
        Line.compared(
            what + ": rate",
            "k/s",
            our.stream().map(turn -> turn.rate() / 1e3).toList(),
            theirs.name(),
            their.stream().map(turn -> turn.rate() / 1e3).toList()));
  }

  private void say(String what) {
    spec.commandLine().getErr().println("measuring " + what + "…");
    spec.commandLine().getErr().flush();
  }

  private Load load(String path, int connections) {
    return server -> wrk(server, path, connections, null);
  }

  private Turn wrk(ServerProcess server, String path, int connections, @Nullable Path script)
      throws IOException, InterruptedException {
    var command = new ArrayList<>(List.of("wrk", "-t1", "-c" + connections, "-d" + seconds + "s"));
    if (script != null) {
      command.addAll(List.of("-s", script.toString()));
    }
    command.add("http://127.0.0.1:" + server.port() + path);
    double before = server.processorMicros();
    var said = run(command);
    double used = server.processorMicros() - before;
    if (said.contains("Non-2xx") || said.contains("Socket errors")) {
      throw new IOException("not all was answered:\n" + said);
    }
    return new Turn(used / number(REQUESTS, said), number(RATE, said));
  }

  private Turn h2load(ServerProcess server, int size) throws IOException, InterruptedException {
    var uri = "http://127.0.0.1:" + server.port() + "/" + size;
    double before = server.processorMicros();
    var said = run(List.of("h2load", "-t1", "-c16", "-m32", "-D" + seconds, uri));
    double used = server.processorMicros() - before;
    if (!said.contains(" 0 failed, 0 errored")) {
      throw new IOException("not all was answered:\n" + said);
    }
    return new Turn(used / number(H2_REQUESTS, said), number(H2_RATE, said));
  }

  /** The 99th percentiles at three quarters of nginx's peak, as the same generator finds it. */
  private List<Line> tails(ServerProcess evergreen, ServerProcess nginx)
      throws IOException, InterruptedException {
    say("99th percentiles");
    double peak = 0;
    for (int i = 0; i < 3; i++) {
      peak = Math.max(peak, paced(nginx, 0).rate());
    }
    var our = new ArrayList<Paced.Result>();
    var their = new ArrayList<Paced.Result>();
    for (int round = 0; round < tailRounds(); round++) {
      boolean oursFirst = round % 2 == 0;
      (oursFirst ? our : their).add(paced(oursFirst ? evergreen : nginx, 0.75 * peak));
      (oursFirst ? their : our).add(paced(oursFirst ? nginx : evergreen, 0.75 * peak));
    }
    var what = "hits of 1 KB at 75 %% of nginx's peak (%.0f/s): ".formatted(peak);
    return List.of(
        tail(what + "99th percentile", "µs", our, their, Paced.Result::answers).ratioAtMost(1),
        tail(what + "that of the generator's delays", "µs", our, their, Paced.Result::ownDelays),
        tail(what + "how busy the generator was", "%", our, their, r -> 100 * r.busy()));
  }

  private int tailRounds() {
    return quick ? rounds : Math.max(rounds, 15);
  }

  private static Line tail(
      String what,
      String unit,
      List<Paced.Result> ours,
      List<Paced.Result> theirs,
      ToDoubleFunction<Paced.Result> value) {
    return Line.compared(
        what,
        unit,
        ours.stream().map(value::applyAsDouble).toList(),
        "nginx",
        theirs.stream().map(value::applyAsDouble).toList());
  }

  private Paced.Result paced(ServerProcess server, double rate)
      throws IOException, InterruptedException {
    return Paced.Result.parse(
        run(
            List.of(
                ProcessHandle.current().info().command().orElse("java"),
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Paced.class.getName(),
                Integer.toString(server.port()),
                "/" + SMALL,
                Integer.toString(PACED_CONNECTIONS),
                Double.toString(rate),
                Integer.toString(seconds))));
  }

  private List<Line> workload(ProxyServers servers) throws Exception {
    say("the workload after Polymix-3");
    var figures = report.figures(Files.createTempDirectory("bench-proxy-figures"));
    var rates = quick ? List.of(200, 600) : List.of(400, 900, 1450);
    try (var workload = new Workload(quick ? 8 : 40, rates.getLast());
        var evergreen = servers.evergreenWithDisk(workload.port(), Polymix.CACHE);
        var nginx = servers.nginx(workload.port(), Polymix.CACHE)) {
      var polymix = new Polymix(workload, evergreen, nginx);
      polymix.run(rates, workloadRounds());
      Files.createDirectories(figures);
      polymix.figure().write(figures.resolve("proxy-workload.svg"));
      spec.commandLine().getOut().println("figure: " + figures.resolve("proxy-workload.svg"));
      return polymix.lines();
    }
  }

  private int workloadRounds() {
    return quick ? 1 : Math.min(rounds, 3);
  }

  private static String run(List<String> command) throws IOException, InterruptedException {
    return Programs.run(Cores.pinned(ProxyServers.LOAD_CORE, command));
  }

  private static double number(Pattern pattern, String said) throws IOException {
    var found = pattern.matcher(said);
    if (!found.find()) {
      throw new IOException("this was not expected:\n" + said);
    }
    return Double.parseDouble(found.group(1));
  }
}
