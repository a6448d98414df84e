package dev.evergreen.bench.load;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Where processes run, and how much processor time they took. */
public final class Cores {

  private Cores() {}

  /** How many there are for this process. */
  public static int count() {
    return Runtime.getRuntime().availableProcessors();
  }

  /**
   * A command that runs another one on a core, if there are several, and is the same process.
   *
   * @param core counted round if there are less
   */
  public static List<String> pinned(int core, List<String> command) {
    if (count() < 2 || !Files.isExecutable(Path.of("/usr/bin/taskset"))) {
      return command;
    }
    var pinned = new ArrayList<>(List.of("/usr/bin/taskset", "-c", String.valueOf(core % count())));
    pinned.addAll(command);
    return pinned;
  }

  /**
   * The processor time of a process so far, of all its threads, user's and system's, in
   * nanoseconds.
   *
   * @throws IOException if it has ended
   */
  public static long timeOf(long pid) throws IOException {
    return ProcessHandle.of(pid)
        .flatMap(process -> process.info().totalCpuDuration())
        .orElseThrow(() -> new IOException("process " + pid + " has ended"))
        .toNanos();
  }
}
