package dev.evergreen.store;

import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.AtomicLong;
import java.util.random.RandomGenerator;

/**
 * Rough costs of requests, for a look at changes of the store: processor time in nanoseconds per
 * request, which other programs disturb less than the time by the clock. Keys have 30 bytes, values
 * 200; a million keys unless it is one hot key.
 */
public final class StoreSpeed {
  private static final int KEYS = 1_000_000;
  private static final long ROUND_NANOS = 1_500_000_000;

  private StoreSpeed() {}

  /** Measures each case three times. */
  public static void main(String[] args) throws InterruptedException {
    try (var store = Store.open(StoreOptions.of(512 << 20), () -> 1)) {
      for (int i = 0; i < KEYS; i++) {
        new Client(store, KEYS, 1, i).set(i);
      }
      System.out.println(store.stats());
      run("get, 1 thread", store, 1, KEYS, 0);
      run("get of one key, 1 thread", store, 1, 1, 0);
      run("set, 1 thread", store, 1, KEYS, 1);
      run("50 % set, 1 thread", store, 1, KEYS, 0.5);
      run("50 % set, 2 threads", store, 2, KEYS, 0.5);
      run("3 % set, one hot key, 2 threads", store, 2, 1, 0.03);
      run("50 % set, one hot key, 2 threads", store, 2, 1, 0.5);
    }
    try (var store = Store.open(StoreOptions.of(64 << 20), () -> 1)) {
      run("set of ever new keys, evicting, 1 thread", store, 1, Integer.MAX_VALUE, 1);
      System.out.println(store.stats());
    }
  }

  private static void run(String name, Store store, int threads, int keys, double sets)
      throws InterruptedException {
    var line = new StringBuilder(name + ":");
    for (int round = 0; round < 3; round++) {
      var requests = new AtomicLong();
      var nanos = new AtomicLong();
      var running = new Thread[threads];
      for (int t = 0; t < threads; t++) {
        var client = new Client(store, keys, sets, t);
        running[t] =
            Thread.ofPlatform()
                .start(
                    () -> {
                      requests.addAndGet(client.run());
                      nanos.addAndGet(
                          ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime());
                    });
      }
      for (var thread : running) {
        thread.join();
      }
      line.append(" %.0f".formatted(nanos.doubleValue() / requests.get()));
    }
    System.out.println(line + " ns");
  }

  private static final class Client {
    private final Key key = new Key();
    private final Item item = new Item();
    private final Change change = new Change();
    private final MemorySegment keyBytes = Arena.ofAuto().allocate(30);
    private final MemorySegment value = Arena.ofAuto().allocate(4096);
    private final Store store;
    private final int keys;
    private final int sets;
    private final RandomGenerator random;

    Client(Store store, int keys, double sets, int seed) {
      this.store = store;
      this.keys = keys;
      this.sets = (int) (sets * 1000);
      random = new java.util.SplittableRandom(seed);
    }

    long run() {
      long end = System.nanoTime() + ROUND_NANOS;
      long count = 0;
      for (; (count & 255) != 0 || System.nanoTime() < end; count++) {
        int number = random.nextInt(keys);
        if (random.nextInt(1000) < sets) {
          set(number);
        } else {
          get(number);
        }
      }
      return count;
    }

    private Key key(int number) {
      keyBytes.set(JAVA_LONG_UNALIGNED, 11, number);
      return key.set(keyBytes, 0, 30);
    }

    void set(int number) {
      if (store.store(key(number), value, 0, 200, change, item) != Outcome.STORED) {
        throw new IllegalStateException("the value was not stored");
      }
    }

    private void get(int number) {
      do {
        if (store.get(key(number), item) != Outcome.FOUND) {
          throw new IllegalStateException("the item is missing");
        }
      } while (!item.copyValue(value, 0));
    }
  }
}
