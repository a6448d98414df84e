package dev.evergreen.bench;

import dev.evergreen.bench.load.Cores;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * A server of others, or of ours, as a process until it is closed.
 *
 * @param port where it is found on the loopback interface
 */
record BackgroundServer(Process process, int port) implements AutoCloseable {
  private static final Duration LONGEST_START = Duration.ofMinutes(5);

  /** A port that nobody has at this moment. */
  static int freePort() throws IOException {
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  /** Starts it on a core, and waits until it accepts connections. */
  static BackgroundServer start(List<String> command, int port, int core) throws IOException {
    return start(Cores.pinned(core, command), port);
  }

  /** Starts it, and waits until it accepts connections. */
  static BackgroundServer start(List<String> command, int port) throws IOException {
    var process =
        new ProcessBuilder(command)
            .redirectOutput(Redirect.DISCARD)
            .redirectError(Redirect.INHERIT)
            .start();
    var server = new BackgroundServer(process, port);
    long limit = System.nanoTime() + LONGEST_START.toNanos();
    while (!server.answers()) {
      if (!process.isAlive() || System.nanoTime() - limit > 0) {
        server.close();
        throw new IOException("this did not start: " + String.join(" ", command));
      }
      LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
    }
    return server;
  }

  private boolean answers() {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      return socket.isConnected();
    } catch (IOException e) {
      return false; // not yet
    }
  }

  /** Of the process and all that it has started, in microseconds. */
  double processorMicros() {
    var handle = process.toHandle();
    return Stream.concat(Stream.of(handle), handle.descendants())
        .mapToDouble(each -> each.info().totalCpuDuration().orElse(Duration.ZERO).toNanos() / 1e3)
        .sum();
  }

  /** Takes the processor from it, and from nobody else, until {@link #resume}. */
  void pause() throws IOException, InterruptedException {
    signal("-STOP");
  }

  void resume() throws IOException, InterruptedException {
    signal("-CONT");
  }

  private void signal(String which) throws IOException, InterruptedException {
    run("kill", which, Long.toString(process.pid()));
  }

  /** Moves all of its threads to these cores, as taskset names them. */
  void moveTo(String cores) throws IOException, InterruptedException {
    run("taskset", "-a", "-c", "-p", cores, Long.toString(process.pid()));
  }

  private static void run(String... command) throws IOException, InterruptedException {
    var done =
        new ProcessBuilder(command)
            .redirectOutput(Redirect.DISCARD)
            .redirectError(Redirect.INHERIT)
            .start();
    if (done.waitFor() != 0) {
      throw new IOException(String.join(" ", command) + " failed");
    }
  }

  @Override
  public void close() {
    process.descendants().forEach(ProcessHandle::destroy);
    process.destroy();
    try {
      // Who is paused hears of the end when resumed.
      resume();
      process.waitFor();
    } catch (IOException e) {
      process.destroyForcibly();
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
