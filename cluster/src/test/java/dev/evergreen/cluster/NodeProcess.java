package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** A child process that runs {@link LedgerNode}, and what it has told so far. */
final class NodeProcess implements AutoCloseable {

  private static final long PATIENCE_SECONDS = 120;
  private static final long LIFETIME_MINUTES = 30;

  private final String name;
  private final Process process;
  private final List<String> told = new ArrayList<>(); // guarded by itself

  @GuardedBy("told")
  private final Map<String, Map<String, Long>> acked = new HashMap<>();

  @GuardedBy("told")
  private boolean ended;

  private NodeProcess(String name, Process process) {
    this.name = name;
    this.process = process;
    Thread.ofPlatform().daemon().name("output-of-" + name).start(this::listen);
  }

  /** Starts one; see {@link LedgerNode#main} for the arguments. */
  static NodeProcess start(List<String> prefix, String name, List<String> arguments) {
    var command = new ArrayList<>(prefix);
    command.addAll(SharedClasses.command());
    command.add(name);
    command.addAll(arguments);
    try {
      var process =
          new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
      // Whatever becomes of the test, the process ends.
      CompletableFuture.delayedExecutor(LIFETIME_MINUTES, TimeUnit.MINUTES)
          .execute(process::destroyForcibly);
      return new NodeProcess(name, process);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void listen() {
    try (var output = process.inputReader()) {
      for (var line = output.readLine(); line != null; line = output.readLine()) {
        // A line that was cut off by a kill was not told.
        if (line.endsWith(" .")) {
          take(line.substring(0, line.length() - 2));
        }
      }
    } catch (IOException e) {
      // The process is gone.
    }
    synchronized (told) {
      ended = true;
      told.notifyAll();
    }
  }

  private void take(String line) {
    var words = line.split(" ", -1);
    synchronized (told) {
      if (words[0].equals("acked")) {
        acked
            .computeIfAbsent(words[1], ledger -> new HashMap<>())
            .merge(words[2], Long.parseLong(words[3]), Math::max);
      } else {
        told.add(line);
      }
      told.notifyAll();
    }
  }

  String name() {
    return name;
  }

  long pid() {
    return process.pid();
  }

  boolean alive() {
    return process.isAlive();
  }

  /** Waits until it has ended, and all it told has been read. */
  int exitValue() throws IOException, InterruptedException {
    if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
      showThreads();
      fail(name + " did not end; its threads stand above");
    }
    awaitEnd();
    return process.exitValue();
  }

  private void showThreads() throws IOException, InterruptedException {
    var jstack = Path.of(System.getProperty("java.home"), "bin", "jstack").toString();
    new ProcessBuilder(jstack, Long.toString(pid())).inheritIO().start().waitFor();
  }

  /** Tells it what to do. */
  void tell(String command) {
    try {
      var input = process.outputWriter();
      input.write(command + "\n");
      input.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(name + " is gone", e);
    }
  }

  /** Tells it something and waits for its answer, which begins with a word. */
  String ask(String command, String answer) {
    int from = mark();
    tell(command);
    return await(from, line -> line.startsWith(answer));
  }

  /** What it will tell from now on comes after this. */
  int mark() {
    synchronized (told) {
      return told.size();
    }
  }

  /** Waits for a line. */
  String await(int from, Predicate<String> wanted) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    synchronized (told) {
      for (int next = from; ; next++) {
        while (next == told.size()) {
          long left = deadline - System.nanoTime();
          if (left <= 0 || ended) {
            fail(name + (ended ? " ended" : " said nothing of it in time") + "; it told " + tail());
          }
          try {
            TimeUnit.NANOSECONDS.timedWait(told, left);
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
        }
        if (wanted.test(told.get(next))) {
          return told.get(next);
        }
      }
    }
  }

  @GuardedBy("told")
  private List<String> tail() {
    return told.subList(Math.max(0, told.size() - 30), told.size());
  }

  /** What it told of something since a mark. */
  List<String> toldSince(int from, String beginning) {
    synchronized (told) {
      return told.subList(from, told.size()).stream()
          .filter(line -> line.startsWith(beginning))
          .toList();
    }
  }

  /** The last number that was acknowledged, by ledger and writer. */
  Map<String, Map<String, Long>> acked() {
    synchronized (told) {
      var copy = new HashMap<String, Map<String, Long>>();
      acked.forEach((ledger, numbers) -> copy.put(ledger, Map.copyOf(numbers)));
      return copy;
    }
  }

  /** What its report says of ledgers, by what it begins with. */
  Map<String, String> report(String kind) {
    int from = mark();
    ask("report", "reported");
    var lines = new HashMap<String, String>();
    for (var line : toldSince(from, kind + " ")) {
      var words = line.split(" ", 3);
      lines.put(words[1], words[2]);
    }
    return lines;
  }

  /** Kills it with no chance to do anything more. */
  void kill() throws InterruptedException {
    process.toHandle().destroyForcibly();
    assertTrue(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS), "it did not die");
    awaitEnd();
  }

  /**
   * Stops it at a moment when it saves nothing: a process that is stopped with SQLite's lock in its
   * hands stops all who share the file.
   */
  void pause() throws IOException, InterruptedException {
    ask("hold", "held");
    signal("STOP");
  }

  /** Lets it go on after {@link #pause}. */
  void resume() throws IOException, InterruptedException {
    tell("go");
    signal("CONT");
  }

  /** Sends a signal by its name. */
  void signal(String signal) throws IOException, InterruptedException {
    var kill = new ProcessBuilder("kill", "-" + signal, Long.toString(pid())).start();
    assertTrue(kill.waitFor() == 0, "the signal could not be sent");
  }

  /** Has it leave the cluster and end, and waits for that. */
  void leave() throws IOException, InterruptedException {
    beginToLeave();
    exitValue();
  }

  /** Has it leave the cluster and end. */
  void beginToLeave() throws IOException {
    process.getOutputStream().close();
  }

  /** Everything it told has been read afterwards. */
  private void awaitEnd() throws InterruptedException {
    synchronized (told) {
      while (!ended) {
        told.wait();
      }
    }
  }

  static @Nullable Long number(String report, String writer) {
    for (var word : report.split(" ", -1)) {
      if (word.startsWith(writer + "=")) {
        return Long.parseLong(word.substring(writer.length() + 1));
      }
    }
    return null;
  }

  /** It has written the last when this returns. */
  @Override
  public void close() {
    process.destroyForcibly().onExit().join();
  }
}
