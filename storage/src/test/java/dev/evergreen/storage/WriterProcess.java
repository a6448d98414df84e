package dev.evergreen.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.RevisionConflictException;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.Storage.Stored;
import dev.evergreen.core.spi.StorageException;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A process that increments counters in a storage from several threads and tells of each
 * acknowledged save on its standard output, until its standard input ends or it is killed.
 */
final class WriterProcess implements AutoCloseable {

  static final int THREADS = 6;
  private static final int GRAINS_PER_THREAD = 5;
  private static final int LIFETIME_SECONDS = 100;

  /** Whose nodes save. */
  static final String CLUSTER = "cluster";

  /** What a writer tells. */
  sealed interface Told {

    /** A save returned this revision. */
    record Saved(GrainId grain, long revision) implements Told {}

    /** A save or load failed. */
    record Failed(String message) implements Told {}
  }

  private final Process process;
  private final BufferedReader output;

  private WriterProcess(Process process) {
    this.process = process;
    this.output = process.inputReader();
  }

  /**
   * Starts one that lives for at most 100 seconds; its errors go to this process's.
   *
   * @param place the URL of a PostgreSQL database or the path of an SQLite file
   */
  static WriterProcess start(String place) throws IOException {
    return start(place, List.of());
  }

  /** Starts one that saves as a node, which it lets join. */
  static WriterProcess start(String place, NodeId node) throws IOException {
    return start(place, List.of(node.address(), Long.toString(node.incarnation())));
  }

  private static WriterProcess start(String place, List<String> node) throws IOException {
    var command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-Xmx256m",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                WriterProcess.class.getName(),
                place));
    command.addAll(node);
    var process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    // Who waits for a process that tells nothing more shall not wait for ever.
    CompletableFuture.delayedExecutor(LIFETIME_SECONDS, TimeUnit.SECONDS)
        .execute(process::destroyForcibly);
    return new WriterProcess(process);
  }

  /** Waits for what it tells next; null when it has ended. */
  @Nullable Told next() throws IOException {
    var line = output.readLine();
    // A line that was cut off by a kill was not told.
    if (line == null || !line.endsWith(" .")) {
      return null;
    }
    var words = line.split(" ", 4);
    return words[0].equals("saved")
        ? new Told.Saved(new GrainId("Counter", words[1]), Long.parseLong(words[2]))
        : new Told.Failed(line);
  }

  /** Asks it to stop what it does, to close its storage and to end; what it told is still there. */
  void finish() throws IOException {
    process.getOutputStream().close();
  }

  /** Kills it with no chance to do anything more. */
  void kill() throws InterruptedException {
    // Not through the process itself: that would close the pipe, and what is still in it counts.
    process.toHandle().destroyForcibly();
    assertTrue(process.waitFor(30, TimeUnit.SECONDS), "it did not die");
    assertEquals(128 + 9, process.exitValue(), "it ended before it was killed");
  }

  /** Sends a signal by its name. */
  void signal(String signal) throws IOException, InterruptedException {
    var kill = new ProcessBuilder("kill", "-" + signal, Long.toString(pid())).start();
    assertEquals(0, kill.waitFor(), "the signal could not be sent");
  }

  long pid() {
    return process.pid();
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }

  /** Fails unless the counter holds exactly what was written with its revision. */
  static void assertIntact(GrainId grain, Stored stored) {
    assertArrayEquals(state(grain, stored.revision()), stored.state(), grain::toString);
  }

  /** Increments counters, each known by one thread only, until it is told to stop. */
  static void increment(Storage storage, AtomicBoolean stop, Consumer<Told> tell) {
    try (var executor = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int thread = 0; thread < THREADS; thread++) {
        int first = thread * GRAINS_PER_THREAD;
        executor.execute(
            () -> {
              for (int i = 0; !stop.get(); i = (i + 1) % GRAINS_PER_THREAD) {
                tell(storage, grain(first + i), tell);
              }
            });
      }
    }
  }

  /** The counters. */
  static List<GrainId> grains() {
    return IntStream.range(0, THREADS * GRAINS_PER_THREAD).mapToObj(WriterProcess::grain).toList();
  }

  private static GrainId grain(int number) {
    return new GrainId("Counter", "counter-" + number);
  }

  private static void tell(Storage storage, GrainId grain, Consumer<Told> tell) {
    try {
      var before = storage.load(grain);
      before.ifPresent(stored -> assertIntact(grain, stored));
      long revision = before.map(Stored::revision).orElse(Storage.NONE);
      tell.accept(new Told.Saved(grain, storage.save(grain, revision, state(grain, revision + 1))));
    } catch (RevisionConflictException e) {
      // Another process was faster.
    } catch (StorageException | AssertionError e) {
      tell.accept(new Told.Failed(e.toString()));
    }
  }

  /** Up to 16 KiB that are different for each revision, so that torn states are seen. */
  private static byte[] state(GrainId grain, long revision) {
    var random = new Random(grain.stableHash() + revision);
    var state = new byte[Long.BYTES + random.nextInt(16 << 10)];
    random.nextBytes(state);
    return ByteBuffer.wrap(state).putLong(revision).array();
  }

  /** The process. */
  public static void main(String[] arguments) throws IOException {
    var stop = new AtomicBoolean();
    Thread.ofPlatform()
        .daemon()
        .start(
            () -> {
              try {
                System.in.readAllBytes();
              } catch (IOException e) {
                System.err.println(e);
              }
              stop.set(true);
            });
    try (var storage = open(arguments[0])) {
      var used = arguments.length == 1 ? storage : asNode(storage, arguments);
      increment(used, stop, WriterProcess::print);
    }
  }

  private static Storage asNode(Storage storage, String[] arguments) {
    var fence = storage.fence(CLUSTER).orElseThrow();
    var node = new NodeId(arguments[1], Long.parseLong(arguments[2]));
    fence.join(node);
    return fence.storageOf(node);
  }

  private static Storage open(String place) {
    return place.startsWith("jdbc:")
        ? PostgresStorage.open(place)
        : SqliteStorage.open(Path.of(place));
  }

  private static void print(Told told) {
    System.out.println(
        switch (told) {
          case Told.Saved(var grain, long revision) ->
              "saved " + grain.key() + " " + revision + " .";
          case Told.Failed(var message) -> "failed " + message.replace('\n', ' ') + " .";
        });
  }
}
