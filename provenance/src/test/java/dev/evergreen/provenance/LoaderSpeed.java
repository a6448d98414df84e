package dev.evergreen.provenance;

import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * Measures how many operations a second go through the loader into a database, with its indexes:
 * writes of random keys by the tiny store of the tests, told every million. Arguments: how many
 * millions, how many keys, and maybe the URL of a database.
 */
final class LoaderSpeed {
  private static final int MILLION = 1_000_000;

  private LoaderSpeed() {}

  public static void main(String[] arguments) throws Exception {
    int millions = Integer.parseInt(arguments[0]);
    int keys = Integer.parseInt(arguments[1]);
    var directory = Files.createTempDirectory("prov-loader");
    var redactor = Redactor.open(directory, List.of());
    var settings = SpoolSettings.DEFAULT.withBytes(4L << 30);
    try (var recording =
        Recording.open(
            directory,
            arguments.length > 2 ? arguments[2] : "",
            settings,
            redactor,
            Retention.ALL)) {
      long start = System.nanoTime();
      long epoch = recording.spool().epoch("tiny", "here", "");
      var random = new Random(1);
      long used = loaderNanos();
      for (int i = 0; i < millions; i++) {
        long before = System.nanoTime();
        record(recording.spool(), epoch, random, keys);
        recording.awaitLoaded(Duration.ofMinutes(10));
        double seconds = (System.nanoTime() - before) / 1e9;
        long cpu = loaderNanos();
        System.out.printf(
            "%d M: %,.0f operations/s, %,.0f per second of the loader's processor%n",
            i + 1, MILLION / seconds, MILLION * 1e9 / (cpu - used));
        used = cpu;
      }
      double seconds = (System.nanoTime() - start) / 1e9;
      System.out.printf("all: %,.0f operations/s, in %s%n", millions * 1e6 / seconds, directory);
    }
  }

  /** What the machine does beside does not count. */
  private static long loaderNanos() {
    var threads = ManagementFactory.getThreadMXBean();
    return Arrays.stream(threads.dumpAllThreads(false, false))
        .filter(thread -> thread.getThreadName().equals("trace-loader"))
        .mapToLong(thread -> threads.getThreadCpuTime(thread.getThreadId()))
        .sum();
  }

  private static void record(Spool spool, long epoch, Random random, int keys) {
    long lane = spool.lane(epoch, "lane");
    long connection = spool.connect(epoch, new Client("a", "", "", ""));
    var ok = ByteBuffer.wrap(Bytes.of("ok").toArray());
    for (int i = 0; i < MILLION; i++) {
      var request = Bytes.of("set key:" + random.nextInt(keys) + " value:" + i);
      long number = spool.request(connection, lane, 0, ByteBuffer.wrap(request.toArray()));
      spool.reply(number, ok);
    }
  }
}
