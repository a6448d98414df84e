package dev.evergreen.chirper;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** Chirper in a process of its own, as people run it. */
final class ChirperProcess implements AutoCloseable {

  private static final long PATIENCE_SECONDS = 60;
  private static final Pattern NODE = Pattern.compile("Node (\\d+) is process (\\d+) at (.*)");

  private final Process process;
  private final BufferedReader output;
  private final SortedMap<Integer, Node> nodes = new TreeMap<>();
  private String address = "";

  private ChirperProcess(Process process) {
    this.process = process;
    this.output = process.inputReader(StandardCharsets.UTF_8);
  }

  /** Starts it and waits until it answers. */
  static ChirperProcess start(int port, Path data, String... more) throws IOException {
    var arguments = new ArrayList<>(List.of("--port", "" + port, "--data", data.toString()));
    arguments.addAll(Arrays.asList(more));
    var chirper = new ChirperProcess(command(arguments).redirectErrorStream(true).start());
    try {
      chirper.address =
          chirper.await(Chirper.ANNOUNCEMENT).substring(Chirper.ANNOUNCEMENT.length());
    } catch (IOException e) {
      chirper.close();
      throw e;
    }
    return chirper;
  }

  /** Waits until it prints a line that begins so. */
  String await(String beginning) throws IOException {
    var said = new ArrayList<String>();
    for (var line = output.readLine(); line != null; line = output.readLine()) {
      said.add(line);
      var node = NODE.matcher(line);
      if (node.matches()) {
        var process = ProcessHandle.of(Long.parseLong(node.group(2))).orElseThrow();
        nodes.put(Integer.parseInt(node.group(1)), new Node(process, node.group(3)));
      }
      if (line.startsWith(beginning)) {
        return line;
      }
    }
    throw new IOException(
        "Chirper ended before it said '%s'; it said %s".formatted(beginning, said));
  }

  /** Runs it to its end. */
  static Ended run(String... arguments) throws IOException, InterruptedException {
    var process = command(List.of(arguments)).redirectErrorStream(true).start();
    var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    return new Ended(process.waitFor(), output);
  }

  private static ProcessBuilder command(List<String> arguments) {
    var command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "@../../scripts/java.options",
                // These start faster, which is most of what a short life costs.
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                Chirper.class.getName()));
    command.addAll(arguments);
    return new ProcessBuilder(command);
  }

  /** Where its page is, without a slash at the end. */
  String address() {
    return address;
  }

  int port() {
    return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
  }

  /** The processes of {@code --nodes}, by their numbers, as far as it has said. */
  Node node(int number) {
    return Objects.requireNonNull(nodes.get(number), () -> "it did not tell of node " + number);
  }

  /** Asks it to end, as Ctrl-C and {@code kill} do, and waits; the exit code. */
  int end() throws InterruptedException {
    process.destroy();
    if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
      process.destroyForcibly();
      throw new IllegalStateException("Chirper did not end within a minute");
    }
    return process.exitValue();
  }

  /** {@code kill -9}. */
  void kill() {
    process.destroyForcibly().onExit().join();
  }

  @Override
  public void close() {
    kill();
    nodes.values().forEach(Node::kill);
  }

  /** One of the processes of {@code --nodes}, and where its page is. */
  record Node(ProcessHandle process, String address) {

    /** {@code kill -9}. */
    void kill() {
      process.destroyForcibly();
      awaitEnd();
    }

    /** Fails if it does not end. */
    void awaitEnd() {
      process.onExit().orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS).join();
    }
  }

  /** How a run ended. */
  record Ended(int exitCode, String output) {}
}
