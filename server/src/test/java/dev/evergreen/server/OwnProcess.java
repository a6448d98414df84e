package dev.evergreen.server;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The program in a JVM of its own; what it says is one stream. */
final class OwnProcess {
  private OwnProcess() {}

  static Process start(List<String> arguments) throws IOException {
    return start(Map.of(), arguments);
  }

  static Process start(Map<String, String> environment, List<String> arguments) throws IOException {
    return start(environment, List.of(), arguments);
  }

  /** With flags of the JVM. */
  static Process start(Map<String, String> environment, List<String> flags, List<String> arguments)
      throws IOException {
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    // These start faster, which is most of what a short life costs.
    command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
    command.addAll(flags);
    command.addAll(
        List.of(
            "--add-opens",
            "java.base/java.lang=ALL-UNNAMED",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            Main.class.getName()));
    command.addAll(arguments);
    var process = new ProcessBuilder(command).redirectErrorStream(true);
    process.environment().putAll(environment);
    return process.start();
  }
}
