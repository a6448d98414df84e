package dev.evergreen.proxy.storage;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Random;

/**
 * Says what a hit in memory, a miss and storing cost on one thread, in nanoseconds and in bytes of
 * the heap: the least of seven runs. The bodies are not sent.
 */
final class StorageSpeed {
  private static final int OBJECTS = 50_000;
  private static final int RUNS = 7;

  private StorageSpeed() {}

  private interface Work {
    void run(int number) throws IOException;
  }

  public static void main(String[] arguments) throws IOException {
    var keys = new MemorySegment[2 * OBJECTS];
    Arrays.setAll(keys, i -> TestStorage.key("http://www.example.org/a/path/" + i));
    try (var storage = Storage.open(StorageOptions.memory(256 << 20))) {
      measure(
          "store 1 KB",
          i ->
              TestStorage.put(
                  storage,
                  new Entry(keys[i], TestStorage.head("x", 1, 1000), storage.stamp(), 1000)));
      measure(
          "hit",
          i -> {
            try (var lease = storage.find(keys[i], variant -> true)) {
              if (lease == null || lease.head().remaining() + lease.read(0, 1000).length == 0) {
                throw new IllegalStateException("not there");
              }
            }
          });
      measure(
          "miss",
          i -> {
            if (storage.find(keys[OBJECTS + i], variant -> true) != null) {
              throw new IllegalStateException("there");
            }
          });
      storage.purge(Purge.prefix(TestStorage.key("http://www.example.org/other/")));
      measure(
          "hit older than a purge",
          i -> {
            try (var lease = storage.find(keys[i], variant -> true)) {
              if (lease == null) {
                throw new IllegalStateException("not there");
              }
            }
          });
    }
  }

  private static void measure(String what, Work work) throws IOException {
    var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    double least = Double.MAX_VALUE;
    double bytes = Double.MAX_VALUE;
    for (int run = 0; run < RUNS; run++) {
      var order = new Random(run).ints(200_000, 0, OBJECTS).toArray();
      if (run == 0) {
        Arrays.setAll(order, i -> i % OBJECTS);
      }
      long allocated = threads.getCurrentThreadAllocatedBytes();
      long begin = threads.getCurrentThreadCpuTime();
      for (int i : order) {
        work.run(i);
      }
      least = Math.min(least, (threads.getCurrentThreadCpuTime() - begin) / (double) order.length);
      bytes =
          Math.min(
              bytes,
              (threads.getCurrentThreadAllocatedBytes() - allocated) / (double) order.length);
    }
    System.out.printf("%-24s %6.0f ns %6.0f B%n", what, least, bytes);
  }
}
