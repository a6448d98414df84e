package dev.evergreen.provenance;

import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;

/**
 * Measures how many frames of 50 bytes a second go into a spool, by one thread and by two, each a
 * request and its reply in turn. Arguments: the seconds for each, the durability.
 */
final class SpoolSpeed {

  private SpoolSpeed() {}

  public static void main(String[] arguments) throws Exception {
    double seconds = Double.parseDouble(arguments[0]);
    var durability = Durability.valueOf(arguments[1]);
    for (int round = 0; round < 3; round++) {
      for (int threads = 1; threads <= 2; threads++) {
        measure(threads, seconds, durability);
      }
    }
  }

  private static void measure(int threads, double seconds, Durability durability) throws Exception {
    var directory = Files.createTempDirectory("prov-speed");
    var settings = SpoolSettings.DEFAULT.withBytes(8L << 30).withDurability(durability);
    try (var spool = Spool.open(directory, settings)) {
      long epoch = spool.epoch("speed", "", "");
      var running = new ArrayList<Thread>();
      long end = System.nanoTime() + (long) (seconds * 1e9);
      var counts = new long[threads * 16];
      var bytes = new long[threads * 16];
      for (int i = 0; i < threads; i++) {
        int me = i * 16;
        running.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      long before = allocated();
                      counts[me] = record(spool, epoch, end);
                      bytes[me] = allocated() - before;
                    }));
      }
      long frames = 0;
      long garbage = 0;
      for (int i = 0; i < threads; i++) {
        running.get(i).join();
        frames += counts[i * 16];
        garbage += bytes[i * 16];
      }
      System.out.printf(
          "%d threads, %s: %,.0f frames/s, %.2f bytes allocated a frame, %d waits%n",
          threads, durability, frames / seconds, (double) garbage / frames, spool.report().waits());
    }
    remove(directory);
  }

  private static long record(Spool spool, long epoch, long end) {
    long lane = spool.lane(epoch, "lane");
    long connection = spool.connect(epoch, new Client("a", "", "", ""));
    var request = ByteBuffer.allocateDirect(50);
    var reply = ByteBuffer.allocateDirect(50);
    long frames = 0;
    while (System.nanoTime() < end) {
      for (int i = 0; i < 500; i++) {
        long number = spool.request(connection, lane, 0, request);
        spool.settle(spool.reply(number, reply));
        frames += 2;
      }
    }
    return frames;
  }

  private static long allocated() {
    var bean = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    return bean.getCurrentThreadAllocatedBytes();
  }

  private static void remove(Path directory) throws Exception {
    try (var files = Files.walk(directory)) {
      for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
