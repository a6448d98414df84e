package dev.evergreen.server;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A Redis of a test's own, at a UNIX socket in the test's folder. */
final class RedisProcess implements AutoCloseable {
  private final Path socket;
  private final Process process;

  private RedisProcess(Path socket, Process process) {
    this.socket = socket;
    this.process = process;
  }

  /** Starts one that is ready, with more of Redis's options. */
  static RedisProcess start(Path folder, String... options) throws IOException {
    var socket = folder.resolve("redis.sock");
    var command =
        new ArrayList<>(
            List.of(
                "redis-server",
                "--port",
                "0",
                "--unixsocket",
                socket.toString(),
                "--save",
                "",
                "--dir",
                folder.toString()));
    command.addAll(List.of(options));
    var process = new ProcessBuilder(command).redirectErrorStream(true).start();
    var lines = process.inputReader(StandardCharsets.UTF_8);
    for (var line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.contains("ready to accept connections")) {
        return new RedisProcess(socket, process);
      }
    }
    throw new IOException("redis-server does not start");
  }

  /** As an upstream. */
  String address() {
    return "unix:" + socket;
  }

  @Override
  public void close() {
    process.destroyForcibly().onExit().join();
  }
}
