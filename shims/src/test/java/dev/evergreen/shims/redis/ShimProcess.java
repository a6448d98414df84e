package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Durability;
import dev.evergreen.provenance.Recording;
import dev.evergreen.provenance.Redactor;
import dev.evergreen.provenance.Retention;
import dev.evergreen.provenance.SpoolSettings;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A shim in a process of its own, to be killed or counted. */
final class ShimProcess implements AutoCloseable {
  final int port;
  private final Process process;
  private final BufferedReader said;

  private ShimProcess(Process process) throws IOException {
    this.process = process;
    said = process.inputReader(StandardCharsets.UTF_8);
    port = Integer.parseInt(String.valueOf(said.readLine()));
  }

  /**
   * Starts one.
   *
   * @param trace where it records, or null
   * @param options of the JVM
   */
  static ShimProcess start(
      RedisServer redis, @Nullable Path trace, Durability durability, String... options)
      throws IOException {
    var command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--add-opens=java.base/java.lang=ALL-UNNAMED",
                "--enable-native-access=ALL-UNNAMED",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1"));
    command.addAll(List.of(options));
    command.addAll(
        List.of(
            "-cp",
            System.getProperty("java.class.path"),
            ShimProcess.class.getName(),
            "127.0.0.1:" + redis.port,
            trace == null ? "-" : trace.toString(),
            durability.name()));
    return new ShimProcess(
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start());
  }

  /**
   * What it is in a process of its own. Says its port, and its fibers and heap when a line comes.
   */
  public static void main(String[] words) throws IOException {
    var settings = Shimmed.settings(words[0]);
    if (!words[1].equals("-")) {
      var trace = Path.of(words[1]);
      var recording =
          Recording.open(
              trace,
              "",
              SpoolSettings.DEFAULT
                  .withSegmentBytes(4 << 20)
                  .withDurability(Durability.valueOf(words[2])),
              Redactor.open(trace, List.of()),
              Retention.ALL);
      settings = settings.withSpool(recording.spool()).withRedactor(recording.redactor());
    }
    var shim = RedisShim.start(settings);
    System.out.println(((InetSocketAddress) shim.address()).getPort());
    var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    while (in.readLine() != null) {
      System.gc();
      System.gc();
      var runtime = Runtime.getRuntime();
      System.out.println(shim.fibers().fibers());
      System.out.println(runtime.totalMemory() - runtime.freeMemory());
    }
  }

  /**
   * How it is.
   *
   * @param fibers how many there are, those of clients among them
   * @param heap the bytes that are in use
   */
  record State(int fibers, long heap) {}

  State state() throws IOException {
    var out = process.getOutputStream();
    out.write('\n');
    out.flush();
    return new State(Integer.parseInt(said.readLine()), Long.parseLong(said.readLine()));
  }

  /** As kill -9 does. */
  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  @Override
  public void close() {
    try {
      kill();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
