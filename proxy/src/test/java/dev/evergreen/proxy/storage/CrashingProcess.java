package dev.evergreen.proxy.storage;

import static dev.evergreen.proxy.storage.TestStorage.entry;
import static dev.evergreen.proxy.storage.TestStorage.key;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * What {@link CrashTest} kills. Each thread has URIs of its own, and numbers for their versions.
 */
final class CrashingProcess {
  private static final int THREADS = 3;
  private static final int URIS = 150;

  private CrashingProcess() {}

  static StorageOptions options(Path directory) {
    return StorageOptions.memory(1 << 20)
        .memoryObject(100_000)
        .onDisk(directory, 24 << 20)
        .segment(1 << 20);
  }

  static List<String> uris() {
    var uris = new ArrayList<String>();
    for (int thread = 0; thread < THREADS; thread++) {
      for (int i = 0; i < URIS; i++) {
        uris.add(uri(thread, i));
      }
    }
    return uris;
  }

  private static String uri(int thread, int number) {
    return "/%d/%d".formatted(thread, number);
  }

  public static void main(String[] arguments) throws IOException {
    var storage = Storage.open(options(Path.of(arguments[0])));
    System.out.println("ready");
    int round = Integer.parseInt(arguments[1]);
    for (int i = 0; i < THREADS; i++) {
      int thread = i;
      Thread.ofPlatform().start(() -> work(storage, thread, round));
    }
  }

  private static void work(Storage storage, int thread, int round) {
    var random = new Random(31L * round + thread);
    long number = round * 1_000_000_000L;
    try {
      while (true) {
        var uri = uri(thread, random.nextInt(URIS));
        int what = random.nextInt(100);
        if (what < 40) {
          number++;
          TestStorage.put(storage, next(storage, uri, random, number));
        } else if (what < 90) {
          TestStorage.version(storage, uri, random.nextBoolean() ? "" : "gzip");
        } else {
          number = purge(storage, thread, uri, random, number);
        }
      }
    } catch (IOException | AssertionError e) {
      System.err.println(e);
      Runtime.getRuntime().halt(1);
    }
  }

  private static Entry next(Storage storage, String uri, Random random, long number) {
    int length = random.nextInt(15) == 0 ? random.nextInt(500_000) : random.nextInt(5000);
    var variant = random.nextInt(4) == 0 ? "gzip" : "";
    var tags = List.of("tag" + uri.substring(0, 2));
    return entry(uri, variant, number, length, storage.stamp(), tags);
  }

  /** Purges while another version is on its way, says so, and then stores that version. */
  private static long purge(Storage storage, int thread, String uri, Random random, long before)
      throws IOException {
    long number = before + 1;
    var fetched = next(storage, uri, random, number);
    try (var appender = storage.append(fetched)) {
      appender.append(ByteBuffer.wrap(TestStorage.bodyOf(fetched.head())));
      int kind = random.nextInt(400);
      if (kind == 0) {
        storage.purge(Purge.tag("tag/" + thread));
      } else if (kind == 1) {
        storage.purge(Purge.prefix(key("/" + thread + "/")));
      } else {
        storage.purge(Purge.uri(key(uri)));
      }
      var lines = new StringBuilder();
      for (var gone : kind > 1 ? List.of(uri) : uris()) {
        if (gone.startsWith("/" + thread + "/")) {
          lines.append(gone).append(' ').append(number).append(" .\n");
        }
      }
      synchronized (CrashingProcess.class) {
        System.out.print(lines);
        System.out.flush();
      }
      if (appender.commit()) {
        throw new AssertionError(uri + " was purged while it was received");
      }
    }
    return number;
  }
}
