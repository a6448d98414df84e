package dev.evergreen.fibers;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** A class of the tests, run in a JVM of its own. */
record ChildJvm(Class<?> main, List<String> flags) {

  static ChildJvm of(Class<?> main) {
    return new ChildJvm(
        main,
        List.of(
            "--add-opens",
            "java.base/java.lang=ALL-UNNAMED",
            "--enable-native-access=ALL-UNNAMED"));
  }

  ChildJvm withoutFlags() {
    return new ChildJvm(main, List.of("--illegal-native-access=deny"));
  }

  ChildJvm with(String flag) {
    var more = new ArrayList<>(flags);
    more.add(flag);
    return new ChildJvm(main, more);
  }

  Process start(Object... arguments) throws IOException {
    var command = new ArrayList<String>();
    command.add(ProcessHandle.current().info().command().orElse("java"));
    command.addAll(List.of("-XX:+UseSerialGC", "-Xms200m", "-Xmx200m", "-XX:+AlwaysPreTouch"));
    command.addAll(flags);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    for (var argument : arguments) {
      command.add(argument.toString());
    }
    return new ProcessBuilder(command).redirectErrorStream(true).start();
  }

  /** Runs it to its end; returns what it printed. */
  String run(Object... arguments) throws IOException, InterruptedException {
    var process = start(arguments);
    try {
      var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (process.waitFor() != 0) {
        throw new AssertionError(main + " failed: " + output);
      }
      return output;
    } finally {
      process.destroyForcibly();
    }
  }
}
