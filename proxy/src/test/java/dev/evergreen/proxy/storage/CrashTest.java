package dev.evergreen.proxy.storage;

import static dev.evergreen.proxy.storage.TestStorage.check;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Kills a process that stores, finds and purges, at a moment that it does not know, and looks at
 * what it left: no body is wrong, and what it confirmed as purged is gone.
 */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CrashTest {
  private static final int KILLS = Integer.getInteger("evergreen.storage.kills", 5);

  @TempDir Path directory;

  /** The highest version of each URI that was purged, as the killed processes confirmed. */
  private final Map<String, Long> purged = new HashMap<>();

  private long lines;

  @Test
  void aKilledProcessLeavesNothingWrongAndNothingPurged() throws Exception {
    long seed = Long.getLong("evergreen.storage.seed", System.nanoTime());
    var random = new Random(seed);
    long found = 0;
    for (int round = 1; round <= KILLS; round++) {
      killOne(round, random);
      found += look("seed " + seed + ", round " + round);
    }
    assertTrue(found > 10L * KILLS, "found " + found + " after " + KILLS + " kills");
    assertTrue(lines >= 20L * KILLS, "confirmed " + lines);
  }

  private void killOne(int round, Random random) throws IOException, InterruptedException {
    var process =
        new ProcessBuilder(
                ProcessHandle.current().info().command().orElse("java"),
                "-Xmx300m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "--add-opens",
                "java.base/java.lang=ALL-UNNAMED",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                CrashingProcess.class.getName(),
                directory.toString(),
                Integer.toString(round))
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try (var output = process.inputReader(StandardCharsets.ISO_8859_1)) {
      assertEquals("ready", output.readLine());
      // In the midst of whatever it does after so many purges; what it said until then is read,
      // too.
      for (int i = 20 + random.nextInt(100); i > 0; i--) {
        note(output.readLine());
      }
      process.destroyForcibly();
      process.waitFor();
      noteRest(output);
    } finally {
      process.destroyForcibly();
    }
  }

  /** A line is a URI, the version up to which it is purged, and a dot, without which it is torn. */
  private void note(@Nullable String line) {
    var words = line == null ? new String[0] : line.split(" ", -1);
    if (words.length == 3 && words[2].equals(".")) {
      purged.merge(words[0], Long.parseLong(words[1]), Math::max);
      lines++;
    }
  }

  private void noteRest(BufferedReader output) {
    try {
      for (var line = output.readLine(); line != null; line = output.readLine()) {
        note(line);
      }
    } catch (IOException e) {
      // The process was killed while it wrote.
    }
  }

  private long look(String when) throws IOException {
    long found = 0;
    try (var storage = Storage.open(CrashingProcess.options(directory))) {
      for (var uri : CrashingProcess.uris()) {
        for (var variant : List.of("", "gzip")) {
          try (var lease = TestStorage.find(storage, uri, variant)) {
            if (lease != null) {
              found++;
              long version = check(lease, uri + variant);
              long gone = purged.getOrDefault(uri, 0L);
              assertTrue(
                  version > gone,
                  () -> "%s %d was purged up to %d, %s".formatted(uri, version, gone, when));
            }
          }
        }
      }
      assertEquals(0, storage.stats().corrupt(), when);
    }
    return found;
  }
}
