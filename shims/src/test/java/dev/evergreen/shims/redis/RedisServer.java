package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.evergreen.settings.FreePorts;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A Redis of its own for a test, in a directory of its own, that ends with it. */
final class RedisServer implements AutoCloseable {
  private static final String PROGRAM = "redis-server";

  final int port;
  final Path socket;
  private final Path directory;
  private final List<String> command = new ArrayList<>();
  private Process process;

  private RedisServer(List<String> more) throws IOException {
    directory = Files.createTempDirectory("shim-redis");
    socket = directory.resolve("redis.sock");
    port = FreePorts.next();
    command.addAll(
        List.of(
            PROGRAM,
            "--bind",
            "127.0.0.1",
            "--port",
            "" + port,
            "--unixsocket",
            socket.toString(),
            "--dir",
            directory.toString(),
            "--save",
            "",
            "--appendonly",
            "no",
            // Else it waits five seconds for other replicas before it serves one.
            "--repl-diskless-sync-delay",
            "0"));
    command.addAll(more);
    process = launch();
  }

  /** Starts one, with more of Redis's options; the test is left out where there is none. */
  static RedisServer start(String... options) throws IOException {
    assumeTrue(isInstalled(), PROGRAM + " is not installed");
    return new RedisServer(List.of(options));
  }

  private static boolean isInstalled() {
    return List.of(System.getenv("PATH").split(":")).stream()
        .anyMatch(folder -> Files.isExecutable(Path.of(folder, PROGRAM)));
  }

  private Process launch() throws IOException {
    var started = new ProcessBuilder(command).redirectErrorStream(true).start();
    // Not closed: what Redis says later is not of interest, and must not block it.
    var out = new BufferedReader(started.inputReader(StandardCharsets.UTF_8));
    var said = new StringBuilder();
    for (var line = out.readLine(); line != null; line = out.readLine()) {
      said.append(line).append('\n');
      // The last that it says when it listens at both.
      if (line.contains("at " + socket)) {
        // Reading from a process takes a carrier of virtual threads away, and there may be few.
        Thread.ofPlatform().daemon().start(() -> drain(out));
        return started;
      }
    }
    throw new IOException("redis-server has not started: " + said);
  }

  private static void drain(BufferedReader out) {
    try {
      while (out.readLine() != null) {}
    } catch (IOException e) {
      // It was killed.
      return;
    }
  }

  /** Returns when it runs a script that takes too long. */
  void awaitBusy() {
    while (!ask("PING").startsWith("-BUSY")) {
      Thread.onSpinWait();
    }
  }

  /** Asks by a connection of its own; answers the reply's bytes as text. */
  String ask(String... words) {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      var talk = new Talk(socket);
      talk.send(Identity.request(words));
      return talk.reply();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Stops it from doing anything, or lets it go on. */
  void signal(String name) throws IOException, InterruptedException {
    new ProcessBuilder("kill", "-" + name, "" + process.pid()).start().waitFor();
  }

  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  /** After it was killed. */
  void startAgain() throws IOException {
    Files.deleteIfExists(socket);
    process = launch();
  }

  @Override
  public void close() {
    process.destroyForcibly();
    try {
      process.waitFor(10, TimeUnit.SECONDS);
      try (var files = Files.walk(directory)) {
        for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
          Files.deleteIfExists(file);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
