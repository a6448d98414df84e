package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.stream.LongStream;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A process that is killed with SIGKILL while it records loses no frame that was finished. */
@Timeout(120)
class SpoolKillTest {
  private static final int THREADS = 3;

  @TempDir Path directory;

  @RepeatedTest(5)
  void loseNothingThatWasFinished() throws Exception {
    var process = start();
    var told = new long[THREADS];
    try (var output = process.inputReader()) {
      for (int lines = 0; lines < 2_000; lines++) {
        note(output.readLine(), told);
      }
      process.toHandle().destroyForcibly();
      output.lines().forEach(line -> note(line, told));
    }
    process.waitFor();

    // The next life must not depend on where the last one was killed.
    Spool.open(directory, SpoolSettings.DEFAULT).close();
    var next = new long[THREADS];
    for (var frame : Frames.all(directory, new long[1])) {
      if (frame.kind() == FrameKind.REQUEST) {
        assertEquals(next[(int) frame.one()]++, ByteBuffer.wrap(frame.body().toArray()).getLong());
      }
    }
    assertTrue(LongStream.of(told).sum() > 0);
    for (int i = 0; i < THREADS; i++) {
      assertTrue(next[i] > told[i], "frame %d of thread %d".formatted(told[i], i));
    }
  }

  /** A line may be cut by the kill. */
  private static void note(String line, long[] told) {
    var words = line.split(" ", -1);
    if (words.length == 3 && words[2].equals(".")) {
      told[Integer.parseInt(words[0])] = Long.parseLong(words[1]);
    }
  }

  private Process start() throws IOException {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-cp",
            System.getProperty("java.class.path"),
            "-Xmx64m",
            Recorder.class.getName(),
            directory.toString())
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  /** The process: records from several threads, and tells at times how far it has come. */
  static final class Recorder {
    /** Every second thread records so many requests as one frame. */
    private static final int TOGETHER = 20;

    private Recorder() {}

    public static void main(String[] arguments) throws Exception {
      var settings = SpoolSettings.DEFAULT.withBytes(2L << 30).withSegmentBytes(1 << 20);
      var spool = Spool.open(Path.of(arguments[0]), settings);
      for (int i = 0; i < THREADS; i++) {
        int me = i;
        Thread.ofPlatform().start(() -> record(spool, me));
      }
    }

    private static void record(Spool spool, int me) {
      int length = 8 + 100 * me;
      var bytes = ByteBuffer.allocateDirect(TOGETHER * length);
      var batch = new Batch();
      for (long i = 0; ; i++) {
        bytes.putLong((int) (i % TOGETHER) * length, i);
        if (me % 2 == 0) {
          spool.request(me, 0, 0, bytes.slice((int) (i % TOGETHER) * length, length));
        } else {
          if (i % TOGETHER == 0) {
            batch.begin(bytes, 0);
          }
          batch.add(batch.to() + length);
          if (batch.count() < TOGETHER) {
            continue;
          }
          spool.requests(me, 0, 0, batch);
        }
        if (i % 20 == 19) {
          System.out.println(me + " " + i + " .");
        }
      }
    }
  }
}
