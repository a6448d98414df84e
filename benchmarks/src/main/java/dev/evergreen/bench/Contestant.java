package dev.evergreen.bench;

import dev.evergreen.bench.load.DebianMemcached;
import dev.evergreen.bench.load.ServerProcess;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A server that takes part in the evaluation.
 *
 * @param name in results and figures
 * @param command how it is started; {@link ServerProcess#PORT} stands for its port
 */
record Contestant(String name, List<String> command) {

  static final String MEMCACHED = "memcached";
  static final String EVERGREEN = "evergreen";

  private static final int MEGABYTES = 1024;

  /** What is connected besides the load: whoever asks whether it is up. */
  private static final int CONNECTIONS = LoadRun.MOST + 64;

  /** Those that every evaluation has. */
  static List<Contestant> all() {
    return List.of(
        new Contestant(MEMCACHED, DebianMemcached.command(MEGABYTES, CONNECTIONS)),
        evergreen(EVERGREEN),
        evergreen("evergreen-jdk", "--fibers", "jdk"),
        evergreen("evergreen-no-helping", "--no-helping"));
  }

  private static Contestant evergreen(String name, String... more) {
    var command = new ArrayList<>(List.of("./evergreen"));
    command.addAll(DebianMemcached.command(MEGABYTES, CONNECTIONS));
    command.addAll(List.of(more));
    return new Contestant(name, command);
  }

  /** What it lacks to be started, or null. */
  @Nullable String obstacle() {
    var program = command.getFirst();
    if (program.equals("memcached")) {
      return DebianMemcached.present()
          ? null
          : "it is not installed (Debian: apt-get install memcached)";
    }
    return program.contains("/") && !Files.isExecutable(Path.of(program))
        ? "there is no " + program + " here"
        : null;
  }
}
