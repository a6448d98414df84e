package dev.evergreen.core.sim;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** Prints the hashes of seeds' complete traces: a program of its own, to compare two processes. */
final class Replay {

  private Replay() {}

  public static void main(String[] seeds) {
    for (var seed : seeds) {
      System.out.println(Simulation.APPLICATION.hash(Long.parseLong(seed)));
    }
  }

  static String hashInAnotherProcess(long seed) throws IOException, InterruptedException {
    var process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                // Other sizes and another collector: nothing of that may matter.
                "-XX:+UseSerialGC",
                "-Xmx400m",
                "-cp",
                System.getProperty("java.class.path"),
                Replay.class.getName(),
                Long.toString(seed))
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    var output =
        new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    int exit = process.waitFor();
    if (exit != 0) {
      throw new IOException(
          "seed " + seed + " in another process ended with " + exit + ": " + output);
    }
    return output;
  }
}
