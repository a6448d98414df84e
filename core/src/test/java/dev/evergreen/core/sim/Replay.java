package dev.evergreen.core.sim;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Prints the hashes of seeds' complete traces: a program of its own, to compare two processes. */
final class Replay {

  private Replay() {}

  public static void main(String[] seeds) {
    for (var seed : seeds) {
      System.out.println(Simulation.APPLICATION.hash(Long.parseLong(seed)));
    }
  }

  /** The hashes of the seeds from 1 to {@code last}, one process for all. */
  static List<String> hashesInAnotherProcess(int last) throws IOException, InterruptedException {
    var command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                // Other sizes, another collector and compiler: nothing of that may matter.
                "-XX:+UseParallelGC",
                "-Xmx400m",
                "-cp",
                System.getProperty("java.class.path"),
                Replay.class.getName()));
    // The last one first: nothing of what ran before in the same process may matter either.
    for (int seed = last; seed >= 1; seed--) {
      command.add(Integer.toString(seed));
    }
    var process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    var output =
        new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    int exit = process.waitFor();
    if (exit != 0) {
      throw new IOException("the other process ended with " + exit + ": " + output);
    }
    return output.lines().toList().reversed();
  }
}
