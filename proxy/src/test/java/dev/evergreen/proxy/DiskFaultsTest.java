package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The proxy with a disk, killed under load, started again, with damaged files and with a full disk:
 * what it answers is always what the origin has said, or cut off.
 */
@Timeout(120)
class DiskFaultsTest {
  private static final int URIS = 300;
  private static final int CLIENTS = 4;

  @TempDir Path folder;

  private final ScriptedOrigin origin = new ScriptedOrigin();
  private final ConcurrentLinkedQueue<String> wrong = new ConcurrentLinkedQueue<>();

  DiskFaultsTest() throws IOException {
    origin.then(
        (request, wire) -> {
          var path = request.line().split(" ", -1)[1];
          wire.send(
              ScriptedOrigin.response(
                  200, body(path), "Cache-Control: max-age=3600", "Server: origin"));
        });
  }

  @AfterEach
  void end() {
    origin.close();
  }

  /** What follows from the path, in length too: some are in pieces on disk. */
  private static String body(String path) {
    var random = new Random(path.hashCode());
    int length = random.nextInt(10) == 0 ? 100_000 + random.nextInt(400_000) : random.nextInt(9000);
    var body = new StringBuilder(length + 20);
    while (body.length() < length) {
      body.append(path).append(' ').append(body.length()).append('\n');
    }
    return body.substring(0, length);
  }

  private void check(String path, Browser.Answer answer) {
    if (answer.status() != 200 || !answer.body().equals(body(path))) {
      wrong.add(path + ": " + answer.status() + " of " + answer.body().length());
    }
  }

  /** Asks for URIs at random, by several clients, for so often or until the proxy is gone. */
  private Future<?> load(ProxyProcess proxy, Semaphore answered, int requests) {
    Callable<Void> work =
        () -> {
          try (var clients = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < CLIENTS; i++) {
              var random = new Random(i);
              var _ = clients.submit(() -> ask(proxy, random, answered, requests / CLIENTS));
            }
          }
          return null;
        };
    var executor = Executors.newVirtualThreadPerTaskExecutor();
    var running = executor.submit(work);
    executor.shutdown();
    return running;
  }

  private void ask(ProxyProcess proxy, Random random, Semaphore answered, int requests) {
    int left = requests;
    while (left > 0 && proxy.process().isAlive()) {
      try (var browser = new Browser(proxy.address())) {
        for (; left > 0; left--) {
          // Few are asked for often, so that much is stored on disk and found there.
          var path = "/" + Math.min(random.nextInt(URIS), random.nextInt(URIS));
          check(path, browser.get(path));
          answered.release();
        }
      } catch (IOException e) {
        left--; // Cut off: by the end of the process, or as a stored body was found damaged.
      }
    }
  }

  /** How many of all URIs are found in the cache. */
  private int stored(ProxyProcess proxy) {
    int found = 0;
    for (int i = 0; i < URIS; i++) {
      try (var browser = new Browser(proxy.address())) {
        var answer = browser.get("/" + i, "Cache-Control: only-if-cached");
        if (answer.status() != 504) {
          check("/" + i, answer);
          found++;
        }
      } catch (IOException e) {
        // Cut off, as it was found damaged.
      }
    }
    return found;
  }

  @Test
  void aProxyThatIsKilledUnderLoadComesBackWarmAndRight() throws Exception {
    for (int kill = 0; kill < 2; kill++) {
      try (var proxy = ProxyProcess.start(origin.origin(), folder, ":")) {
        var answered = new Semaphore(0);
        var load = load(proxy, answered, 100_000);
        answered.acquire(2000);
        proxy.kill();
        load.get();
      }
    }
    try (var proxy = ProxyProcess.start(origin.origin(), folder, ":")) {
      assertTrue(stored(proxy) > URIS / 4, "it is warm");
      load(proxy, new Semaphore(0), 2000).get();
    }
    assertEquals(List.of(), new ArrayList<>(wrong));
  }

  @Test
  void flippedBitsAreNeverServed() throws Exception {
    try (var proxy = ProxyProcess.start(origin.origin(), folder, ":")) {
      load(proxy, new Semaphore(0), 4000).get();
    }
    flip(new Random(7));
    try (var proxy = ProxyProcess.start(origin.origin(), folder, ":")) {
      assertTrue(stored(proxy) > 0, "not all is damaged");
      // While it serves, too.
      flip(new Random(8));
      var answered = new Semaphore(0);
      load(proxy, answered, 2000).get();
      assertTrue(
          answered.availablePermits() > 1000, "what is damaged is asked for again: " + answered);
    }
    assertEquals(List.of(), new ArrayList<>(wrong));
  }

  private void flip(Random random) throws IOException {
    try (var files = Files.list(folder)) {
      for (var path : files.filter(f -> f.getFileName().toString().startsWith("seg")).toList()) {
        try (var file = new RandomAccessFile(path.toFile(), "rw")) {
          for (long at = random.nextInt(60_000); at < file.length(); at += random.nextInt(60_000)) {
            file.seek(at);
            int b = file.read();
            file.seek(at);
            file.write(b ^ (1 << random.nextInt(8)));
          }
        }
      }
    }
  }

  @Test
  void aFullDiskCostsNothingButWhatItWouldHold() throws Exception {
    // No file can be longer than 1 MiB, as on a disk that has no more room.
    try (var proxy = ProxyProcess.start(origin.origin(), folder, "ulimit -f 2048")) {
      var answered = new Semaphore(0);
      load(proxy, answered, 4000).get();
      assertTrue(answered.availablePermits() >= 3900, answered.toString());
      var admin = new String(Files.readAllBytes(folder.resolve("storage")), ISO_8859_1);
      assertTrue(admin.startsWith("EVROM"), "the disk was used");
    }
    try (var proxy = ProxyProcess.start(origin.origin(), folder, ":")) {
      var _ = stored(proxy);
      load(proxy, new Semaphore(0), 1000).get();
    }
    assertEquals(List.of(), new ArrayList<>(wrong));
  }
}
