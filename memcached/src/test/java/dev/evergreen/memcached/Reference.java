package dev.evergreen.memcached;

import dev.evergreen.settings.FreePorts;
import java.io.IOException;
import java.net.ConnectException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/** Debian's memcached as a child process at a free port. */
record Reference(Process process, int port) implements AutoCloseable {

  /** Where a program is; without it the test is skipped, and says what to install. */
  static Path program(String name, String debianPackage) {
    return Stream.of("/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
        .map(folder -> Path.of(folder, name))
        .filter(Files::isExecutable)
        .findFirst()
        .orElseGet(
            () ->
                Assumptions.abort(
                    name + " is not installed (Debian: apt-get install " + debianPackage + ")"));
  }

  /** Starts one with more options; the test is skipped where it is not installed. */
  static Reference startIfInstalled(String... options) throws IOException, InterruptedException {
    return start(program("memcached", "memcached"), options);
  }

  Client connect() throws IOException {
    return new Client(port);
  }

  private static Reference start(Path program, String... options)
      throws IOException, InterruptedException {
    int port = FreePorts.next();
    var command = new ArrayList<>(List.of(program.toString(), "-p", "" + port, "-U", "0"));
    command.addAll(List.of("-l", "127.0.0.1", "-u", "nobody"));
    command.addAll(List.of(options));
    var process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    for (int i = 0; i < 500 && process.isAlive(); i++) {
      try (var _ = new Client(port)) {
        return new Reference(process, port);
      } catch (ConnectException e) {
        // It says nowhere that it listens by now.
        process.waitFor(10, TimeUnit.MILLISECONDS);
      }
    }
    process.destroyForcibly();
    throw new IOException("memcached does not listen at port " + port);
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
