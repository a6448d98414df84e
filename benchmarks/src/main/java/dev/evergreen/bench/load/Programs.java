package dev.evergreen.bench.load;

import dev.evergreen.settings.FreePorts;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The system's programs: whether they are there, and running them. */
public final class Programs {

  /** Where Debian has servers; not everybody's path leads there. */
  private static final String SERVERS = "/usr/sbin";

  private Programs() {}

  /** Whether a program is installed. */
  public static boolean has(String name) {
    return find(name).isPresent();
  }

  /** Where a program is; its name if it is not installed, or says itself where it is. */
  static String path(String name) {
    return name.contains("/") ? name : find(name).map(Path::toString).orElse(name);
  }

  private static Optional<Path> find(String name) {
    var path = System.getenv().getOrDefault("PATH", "");
    return Stream.concat(
            Pattern.compile(File.pathSeparator, Pattern.LITERAL).splitAsStream(path),
            Stream.of(SERVERS))
        .map(folder -> Path.of(folder, name))
        .filter(Files::isExecutable)
        .findFirst();
  }

  /**
   * Runs a command to its end.
   *
   * @return what it prints, errors included
   * @throws IOException if it fails; the message has what it printed
   */
  public static String run(List<String> command) throws IOException, InterruptedException {
    var process = new ProcessBuilder(command).redirectErrorStream(true).start();
    var said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IOException("%s says: %s".formatted(String.join(" ", command), said));
    }
    return said;
  }

  /** A port of the loopback interface that nobody has, for a program that listens there. */
  public static int freePort() throws IOException {
    return FreePorts.next();
  }
}
