package dev.evergreen.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A child process that runs {@link HostProgram}. For one thread at a time. */
final class HostProcess implements AutoCloseable {

  private static final long SECONDS_TO_END = 10;

  private final Process process;
  private final BufferedReader output;
  private int floorPort;
  private int linksPort;

  private HostProcess(Process process) {
    this.process = process;
    this.output = process.inputReader();
  }

  /** Starts one; see {@link HostProgram#main} for the arguments. */
  static HostProcess start(String... arguments) throws IOException {
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(BenchCluster.JVM_OPTIONS);
    command.addAll(
        List.of("-cp", System.getProperty("java.class.path"), HostProgram.class.getName()));
    command.addAll(List.of(arguments));
    return new HostProcess(
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start());
  }

  /** Waits until it can be called. */
  void awaitReady() {
    var words = await("ready");
    floorPort = Integer.parseInt(words[1]);
    linksPort = Integer.parseInt(words[2]);
  }

  /** Tells it a word, and waits for the line that begins with the same word. */
  String[] ask(String word) {
    try {
      var input = process.outputWriter();
      input.write(word + "\n");
      input.flush();
    } catch (IOException e) {
      throw new UncheckedIOException("process " + pid() + " is gone", e);
    }
    return await(word);
  }

  private String[] await(String word) {
    try {
      for (var line = output.readLine(); line != null; line = output.readLine()) {
        var words = line.split(" ", -1);
        if (words[0].equals(word)) {
          return words;
        }
        System.err.println(pid() + ": " + line);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    throw new IllegalStateException(
        "process " + pid() + " ended before it said '" + word + "'; its reason stands above");
  }

  long pid() {
    return process.pid();
  }

  boolean alive() {
    return process.isAlive();
  }

  int floorPort() {
    return floorPort;
  }

  int linksPort() {
    return linksPort;
  }

  /** The processor time that it has used so far. */
  Duration processorTime() {
    return process.info().totalCpuDuration().orElse(Duration.ZERO);
  }

  /** Ends its standard input; returns whether it then ended in time. */
  boolean endsWithItsInput() throws InterruptedException {
    try {
      process.getOutputStream().close();
    } catch (IOException e) {
      return !process.isAlive();
    }
    return process.waitFor(SECONDS_TO_END, TimeUnit.SECONDS);
  }

  /** Ends it. */
  @Override
  public void close() {
    try {
      if (!endsWithItsInput()) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
