package dev.evergreen.proxy.storage;

import static dev.evergreen.proxy.storage.TestStorage.check;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
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
  private final Map<String, Long> purged = new ConcurrentHashMap<>();

  private final AtomicLong lines = new AtomicLong();

  @Test
  void aKilledProcessLeavesNothingWrongAndNothingPurged() throws Exception {
    long seed = Long.getLong("evergreen.storage.seed", System.nanoTime());
    var random = new Random(seed);
    long found = 0;
    for (int round = 1; round <= KILLS; round++) {
      killOne(round, random);
      found += look("seed " + seed + ", round " + round);
    }
    assertTrue(found > 30L * KILLS, "found " + found + " after " + KILLS + " kills");
    assertTrue(lines.get() > 100L * KILLS, "confirmed " + lines);
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
      var reader = Thread.startVirtualThread(() -> note(output));
      // Any moment will do: what matters is that it does not know.
      boolean ended = process.waitFor(200 + random.nextInt(1500), TimeUnit.MILLISECONDS);
      assertTrue(!ended, "it ended by itself");
      process.destroyForcibly();
      process.waitFor();
      reader.join();
    } finally {
      process.destroyForcibly();
    }
  }

  /** A line is a URI, the version up to which it is purged, and a dot, without which it is torn. */
  private void note(BufferedReader output) {
    try {
      for (var line = output.readLine(); line != null; line = output.readLine()) {
        var words = line.split(" ", -1);
        if (words.length == 3 && words[2].equals(".")) {
          lines.incrementAndGet();
          purged.merge(words[0], Long.parseLong(words[1]), Math::max);
        }
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
