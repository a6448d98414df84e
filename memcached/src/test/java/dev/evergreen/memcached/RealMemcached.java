package dev.evergreen.memcached;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/** Debian's memcached as a child process, for comparison. */
record RealMemcached(Process process, int port) implements AutoCloseable {

  /** Starts one; the test is skipped where it is not installed. */
  static RealMemcached start(String... options) throws IOException {
    var program =
        Stream.of(System.getenv("PATH").split(":", -1))
            .map(folder -> Path.of(folder, "memcached"))
            .filter(Files::isExecutable)
            .findFirst();
    Assumptions.assumeTrue(program.isPresent(), "memcached is not installed");
    int port;
    try (var free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    var command = new ArrayList<>(List.of(program.orElseThrow().toString(), "-l", "127.0.0.1"));
    command.addAll(List.of("-p", Integer.toString(port), "-u", "nobody"));
    command.addAll(List.of(options));
    var started =
        new RealMemcached(
            new ProcessBuilder(command).redirectErrorStream(true).inheritIO().start(), port);
    started.awaitListening();
    return started;
  }

  private void awaitListening() {
    while (process.isAlive()) {
      try {
        connect().close();
        return;
      } catch (IOException e) {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
      }
    }
    throw new AssertionError("memcached ended with " + process.exitValue());
  }

  Client connect() throws IOException {
    return new Client(port);
  }

  @Override
  public void close() {
    process.destroy();
  }
}
