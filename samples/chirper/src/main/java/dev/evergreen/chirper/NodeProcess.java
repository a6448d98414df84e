package dev.evergreen.chirper;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** A process that runs {@link ChirperNode}, from its start to its end. */
final class NodeProcess {

  private final int number;
  private final Path log;
  private final Process process;

  private NodeProcess(int number, Path log, Process process) {
    this.number = number;
    this.log = log;
    this.process = process;
  }

  /**
   * Starts one, with the flags of this JVM and some more.
   *
   * @param number from 1
   * @param log takes what it complains of
   * @param events told by another thread that it answers, and in the end that it has ended
   */
  static NodeProcess start(
      int number,
      Path log,
      List<String> flags,
      List<String> options,
      Consumer<Launcher.Event> events)
      throws IOException {
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    command.addAll(flags);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Chirper.class.getName()));
    command.add("node");
    command.addAll(options);
    var process =
        new ProcessBuilder(command).redirectError(Redirect.appendTo(log.toFile())).start();
    var started = new NodeProcess(number, log, process);
    Thread.ofVirtual().start(() -> started.follow(events));
    return started;
  }

  private void follow(Consumer<Launcher.Event> events) {
    try (var lines = process.inputReader(StandardCharsets.UTF_8)) {
      for (var line = lines.readLine(); line != null; line = lines.readLine()) {
        if (line.startsWith(Chirper.ANNOUNCEMENT)) {
          events.accept(
              new Launcher.Event.Answers(this, line.substring(Chirper.ANNOUNCEMENT.length())));
        }
      }
    } catch (IOException e) {
      // It says no more: it has ended or is about to.
    }
    events.accept(new Launcher.Event.Ended(this, process.onExit().join().exitValue()));
  }

  int number() {
    return number;
  }

  long pid() {
    return process.pid();
  }

  /** Where it says what it has to complain of. */
  Path log() {
    return log;
  }

  /** What it wrote to its log last, but for where in its code it was: why it did not start. */
  String lastWords() {
    try (var lines = Files.lines(log)) {
      return lines
          .filter(line -> !line.isBlank() && !line.startsWith("\t"))
          .reduce((_, later) -> later)
          .orElse("it did not say why");
    } catch (IOException e) {
      return "what it said is not to be read: " + e.getMessage();
    }
  }

  /** Has it leave the cluster and end, and waits for that; kills it if that takes too long. */
  void end() {
    try {
      // Unlike the process's own destroy(), which would close its standard input as well.
      process.toHandle().destroy();
      if (process.waitFor(ChirperNode.END_WITHIN.toSeconds(), TimeUnit.SECONDS)) {
        return;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    kill();
  }

  /** Kills it at once. */
  void kill() {
    process.destroyForcibly().onExit().join();
  }
}
