package dev.evergreen.bench;

import dev.evergreen.bench.load.Cores;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Measures hits of the HTTP proxy beside nginx. */
@Command(
    name = "proxy",
    description = {
      "Measures hits of the HTTP proxy and of nginx with open_file_cache, in turns: processor time",
      "of a request, and rate. Each proxy has core 0 and one worker; wrk and the origin, another",
      "nginx, have core 1. Needs nginx and wrk."
    },
    mixinStandardHelpOptions = true)
final class ProxyCommand implements Callable<Integer> {

  private static final int PROXY_CORE = 0;
  private static final int LOAD_CORE = 1;

  /** So that the JVM has compiled what a hit needs. */
  private static final int WARM_UPS = 8;

  private static final List<Integer> SIZES = List.of(1 << 10, 10 << 10, 1 << 20);
  private static final List<Integer> CONNECTIONS = List.of(16, 64, 512);

  /** What design demands of hits of this size at most, in processor time beside nginx's. */
  private static final double MOST_TIME = 0.85;

  private static final Pattern REQUESTS = Pattern.compile("(\\d+) requests in");
  private static final Pattern RATE = Pattern.compile("Requests/sec:\\s+([\\d.]+)");

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

  @Mixin
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private ReportOption report;

  /** What one turn of wrk found. */
  private record Turn(double micros, double rate) {}

  @Override
  public Integer call() throws Exception {
    var section = report.section("proxy");
    var folder = Files.createTempDirectory("bench-proxy");
    var lines = new ArrayList<Line>();
    try (var origin = origin(folder);
        var nginx = nginx(folder, origin.port());
        var evergreen = evergreen(origin.port())) {
      for (int i = 0; i < WARM_UPS; i++) {
        turn(evergreen, SIZES.get(i % SIZES.size()), CONNECTIONS.getFirst());
      }
      for (int size : SIZES) {
        for (int connections : CONNECTIONS) {
          lines.addAll(compare(size, connections, evergreen, nginx));
        }
      }
    } finally {
      delete(folder);
    }
    var table = new Report(lines, rounds);
    spec.commandLine().getOut().print(table.text());
    spec.commandLine().getOut().flush();
    if (section != null) {
      section.replace(table.markdown());
    }
    return 0;
  }

  private List<Line> compare(
      int size, int connections, BackgroundServer evergreen, BackgroundServer nginx)
      throws IOException, InterruptedException {
    var ours = new ArrayList<Turn>();
    var theirs = new ArrayList<Turn>();
    for (int round = -1; round < rounds; round++) {
      boolean oursFirst = round % 2 == 0;
      var first = turn(oursFirst ? evergreen : nginx, size, connections);
      var second = turn(oursFirst ? nginx : evergreen, size, connections);
      if (round >= 0) {
        ours.add(oursFirst ? first : second);
        theirs.add(oursFirst ? second : first);
      }
    }
    var what = "hits of %d KB, %d connections: ".formatted(size >> 10, connections);
    var time =
        Line.compared(
            what + "processor time",
            "µs",
            ours.stream().map(Turn::micros).toList(),
            "nginx",
            theirs.stream().map(Turn::micros).toList());
    var rate =
        Line.compared(
            what + "rate",
            "k/s",
            ours.stream().map(turn -> turn.rate() / 1e3).toList(),
            "nginx",
            theirs.stream().map(turn -> turn.rate() / 1e3).toList());
    boolean limited = size <= 10 << 10;
    return List.of(
        limited ? time.ratioAtMost(MOST_TIME) : time, limited ? rate.ratioAtLeast(1) : rate);
  }

  private Turn turn(BackgroundServer server, int size, int connections)
      throws IOException, InterruptedException {
    var command =
        List.of(
            "wrk",
            "-t1",
            "-c" + connections,
            "-d" + seconds + "s",
            "http://127.0.0.1:%d/%d".formatted(server.port(), size));
    double before = server.processorMicros();
    var wrk = new ProcessBuilder(Cores.pinned(LOAD_CORE, command)).start();
    var said = new String(wrk.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    double used = server.processorMicros() - before;
    if (wrk.waitFor() != 0 || said.contains("Non-2xx") || said.contains("Socket errors")) {
      throw new IOException("not all was answered:\n" + said);
    }
    return new Turn(used / number(REQUESTS, said), number(RATE, said));
  }

  private static double number(Pattern pattern, String said) throws IOException {
    var found = pattern.matcher(said);
    if (!found.find()) {
      throw new IOException("wrk says something else than expected:\n" + said);
    }
    return Double.parseDouble(found.group(1));
  }

  private static BackgroundServer origin(Path folder) throws IOException {
    var www = Files.createDirectories(folder.resolve("www"));
    for (int size : SIZES) {
      Files.write(www.resolve(Integer.toString(size)), new byte[size]);
    }
    return startNginx(
        folder,
        "origin",
        LOAD_CORE,
        "open_file_cache max=64; server { listen 127.0.0.1:%d; root "
            + www
            + "; add_header Cache-Control max-age=36000; }");
  }

  private static BackgroundServer nginx(Path folder, int origin) throws IOException {
    return startNginx(
        folder,
        "nginx",
        PROXY_CORE,
        """
        open_file_cache max=4096; upstream o { server 127.0.0.1:%d; keepalive 512; }
        proxy_cache_path %s keys_zone=z:64m use_temp_path=off;
        server { listen 127.0.0.1:%%d; location / { proxy_pass http://o; proxy_http_version 1.1;
        proxy_set_header Connection ""; proxy_cache z; } }
        """
            .formatted(origin, folder.resolve("cache")));
  }

  private static BackgroundServer startNginx(Path folder, String name, int core, String servers)
      throws IOException {
    int port = BackgroundServer.freePort();
    var user = System.getProperty("user.name").equals("root") ? "user root;" : "";
    var configuration =
        Files.writeString(
            folder.resolve(name + ".conf"),
            """
            daemon off; pid %s; error_log %s; worker_processes 1; %s
            events { worker_connections 8192; }
            http { access_log off; sendfile on; keepalive_requests 1000000000;
            """
                    .formatted(folder.resolve(name + ".pid"), folder.resolve(name + ".log"), user)
                + servers.formatted(port)
                + " }\n");
    return BackgroundServer.start(
        List.of("nginx", "-p", folder.toString(), "-c", configuration.toString()), port, core);
  }

  private static BackgroundServer evergreen(int origin) throws IOException {
    int port = BackgroundServer.freePort();
    return BackgroundServer.start(
        List.of(
            "./evergreen",
            "proxy",
            "--threads",
            "1",
            "--listen",
            "127.0.0.1:" + port,
            "--origin",
            "http://127.0.0.1:" + origin),
        port,
        PROXY_CORE);
  }

  private static void delete(Path folder) throws IOException {
    try (var files = Files.walk(folder)) {
      files
          .sorted(Comparator.reverseOrder())
          .forEach(
              file -> {
                try {
                  Files.delete(file);
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              });
    }
  }
}
