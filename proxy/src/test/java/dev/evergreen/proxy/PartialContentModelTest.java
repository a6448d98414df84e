package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.proxy.rules.ByteRange;
import dev.evergreen.proxy.rules.ContentRange;
import dev.evergreen.proxy.rules.Ranges;
import dev.evergreen.proxy.storage.Purge;
import dev.evergreen.proxy.storage.StorageOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Random ranges of what changes at random at its origin, with purges, restarts and several clients:
 * each answer has the bytes of one version, which is none that was purged, or was replaced longer
 * ago than an answer is fresh.
 */
@Timeout(120)
class PartialContentModelTest {

  private static final long START = 1_795_435_200_000L;
  private static final long LIFETIME = 60;
  private static final int STEPS = Integer.getInteger("evergreen.proxy.steps", 400);
  private static final long SEED = Long.getLong("evergreen.proxy.seed", 1);
  private static final String KEY = "http://test/a";

  /** What the origin tells of its versions. */
  enum Tags {
    STRONG,
    WEAK,
    NONE
  }

  /** One version of what the origin has, which was replaced at a time. */
  private static final class Version {
    private final int number;
    private final String body;
    private volatile long until = Long.MAX_VALUE;

    Version(int number, int length) {
      this.number = number;
      var bytes = new byte[length];
      for (int i = 0; i < length; i++) {
        // No two versions have the same at one place, if they are near each other.
        bytes[i] = (byte) ('a' + (number + 7 * i + i / 26) % 26);
      }
      body = new String(bytes, ISO_8859_1);
    }

    String tag() {
      return "\"" + number + "\"";
    }
  }

  @TempDir private Path folder;

  private final AtomicLong clock = new AtomicLong(START);
  private final List<Version> versions = new CopyOnWriteArrayList<>();

  /** The oldest that may still be answered. */
  private int oldest;

  private Tags tags = Tags.STRONG;

  /** Safe for the threads of the origin. */
  private final Random quirks = new Random(1);

  private Version current() {
    return versions.getLast();
  }

  private void change(Random random, int most) {
    if (!versions.isEmpty()) {
      current().until = clock.get();
    }
    // Mostly versions are of one length, so that nothing but their tags tells them apart.
    int length = random.nextInt(4) == 0 ? 1 + random.nextInt(most) : most;
    versions.add(new Version(versions.size(), length));
  }

  /**
   * As an origin of one range does (RFC 9110 §13.2.2, §14.2). At times it sends less than it was
   * asked for, which it may (§15.3.7), or does not look at If-Range, which it may not.
   */
  private void answer(ScriptedOrigin.Received request, ScriptedOrigin.Wire wire)
      throws IOException {
    var version = current();
    var fields =
        new ArrayList<>(List.of("Cache-Control: max-age=" + LIFETIME, "X: " + version.number));
    if (tags != Tags.NONE) {
      fields.add("ETag: " + (tags == Tags.WEAK ? "W/" : "") + version.tag());
    }
    var all = fields.toArray(String[]::new);
    if (request.field("If-None-Match").contains(version.tag())) {
      wire.send("HTTP/1.1 304 X\r\n" + String.join("\r\n", all) + "\r\n\r\n");
      return;
    }
    boolean counts =
        !request.has("If-Range")
            || (tags == Tags.STRONG && request.field("If-Range").equals(version.tag()))
            || quirks.nextInt(10) == 0;
    int length = version.body.length();
    var ranges =
        request.has("Range") && counts
            ? Ranges.of(List.of(request.field("Range")), length)
            : new Ranges.Whole();
    switch (ranges) {
      case Ranges.Parts(var parts) when parts.size() == 1 -> {
        var part = new ContentRange(part(parts.getFirst()), length);
        fields.add("Content-Range: " + part);
        wire.send(
            ScriptedOrigin.response(206, slice(version, part), fields.toArray(String[]::new)));
      }
      case Ranges.Unsatisfiable() ->
          wire.send(ScriptedOrigin.response(416, "", "Content-Range: bytes */" + length));
      default -> wire.send(ScriptedOrigin.response(200, version.body, all));
    }
  }

  private ByteRange part(ByteRange wanted) {
    long less = quirks.nextInt(10) == 0 ? quirks.nextLong(wanted.length()) : 0;
    return new ByteRange(wanted.first(), wanted.last() - less);
  }

  private static String slice(Version version, ContentRange part) {
    return version.body.substring((int) part.range().first(), (int) part.range().last() + 1);
  }

  private Proxy proxy(ScriptedOrigin origin, StorageOptions storage) throws IOException {
    return Proxy.start(
        ProxySettings.DEFAULT
            .withAddresses(List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)))
            .withOrigins(List.of(origin.origin()))
            .withProcessors(2)
            .withStorage(storage)
            .withClock(clock::get));
  }

  private String range(Random random) {
    int length = current().body.length();
    int first = random.nextInt(length + 2);
    return switch (random.nextInt(12)) {
      case 0 -> "bytes=" + first + "-";
      case 1 -> "bytes=-" + (1 + random.nextInt(length));
      case 2 -> "bytes=0-0," + (2 + first) + "-";
      default -> "bytes=" + first + "-" + (first + random.nextInt(1 + length / 3));
    };
  }

  private String[] fields(Random random) {
    var fields = new ArrayList<String>();
    if (random.nextInt(20) > 0) {
      fields.add("Range: " + range(random));
    }
    if (random.nextInt(8) == 0) {
      fields.add("If-Range: " + versions.get(random.nextInt(versions.size())).tag());
    }
    if (random.nextInt(12) == 0) {
      fields.add("Cache-Control: no-cache");
    }
    if (random.nextInt(20) == 0) {
      fields.add("If-None-Match: " + current().tag());
    }
    return fields.toArray(String[]::new);
  }

  /** Says of which version the answer is. */
  private Version check(Browser.Answer answer, String said) {
    if (answer.status() == 416) {
      long length = Long.parseLong(answer.field("Content-Range").substring("bytes */".length()));
      return versions.reversed().stream()
          .filter(each -> each.body.length() == length)
          .findFirst()
          .orElseThrow(() -> new AssertionError(said + answer));
    }
    if (answer.status() == 304) {
      return current();
    }
    var version = versions.get(Integer.parseInt(answer.field("X")));
    if (tags != Tags.NONE) {
      assertTrue(answer.field("ETag").endsWith(version.tag()), said);
    }
    if (answer.status() == 200) {
      assertEquals(version.body, answer.body(), said);
    } else if (answer.field("Content-Type").startsWith("multipart/")) {
      checkParts(version, answer, said);
    } else {
      assertEquals(206, answer.status(), said);
      var part = ContentRange.parse(answer.field("Content-Range")).orElseThrow();
      assertEquals(version.body.length(), part.complete(), said);
      assertEquals(slice(version, part), answer.body(), said);
    }
    return version;
  }

  private static void checkParts(Version version, Browser.Answer answer, String said) {
    var boundary = "--" + answer.field("Content-Type").split("boundary=", 2)[1];
    var parts = answer.body().split("(\r\n)?" + boundary + "(--)?\r\n", -1);
    for (int i = 1; i < parts.length - 1; i++) {
      var words = parts[i].split("\r\n\r\n", 2);
      var told = words[0].lines().filter(line -> line.startsWith("Content-Range: ")).findFirst();
      var part = ContentRange.parse(told.orElseThrow().substring(15)).orElseThrow();
      assertEquals(slice(version, part), words[1], said);
    }
  }

  private void checkAge(Version version, String said) {
    assertTrue(version.number >= oldest, said + ": it was purged");
    boolean fresh =
        version.until == Long.MAX_VALUE || clock.get() - version.until <= 1000 * LIFETIME;
    assertTrue(fresh, said + ": it was replaced too long ago");
  }

  /** All in turn, so that it is known which version may be answered. */
  private void run(long seed, StorageOptions storage, int mostBytes) throws IOException {
    var random = new Random(seed);
    change(random, mostBytes);
    try (var origin = new ScriptedOrigin().then(this::answer)) {
      var proxy = proxy(origin, storage);
      try {
        for (int step = 0; step < STEPS; step++) {
          var said = "seed " + seed + ", " + tags + ", step " + step;
          switch (random.nextInt(40)) {
            case 0, 1, 2, 3 -> change(random, mostBytes);
            case 6, 7 -> clock.addAndGet(1000L * random.nextInt(50));
            case 4, 8 -> {
              var purge = Purge.uri(Proxy.segment(KEY));
              proxy.purge(random.nextBoolean() ? purge.softly() : purge);
              oldest = current().number;
            }
            case 5 -> {
              if (storage.directory() != null) {
                proxy.close();
                proxy = proxy(origin, storage);
              }
            }
            default -> {
              try (var browser = new Browser(proxy.addresses().getFirst())) {
                var fields = fields(random);
                var asked = said + ", " + List.of(fields);
                checkAge(check(browser.get("/a", fields), asked), asked);
              }
            }
          }
        }
        assertTrue(origin.count() < STEPS, "nothing was answered from the cache");
      } finally {
        proxy.close();
      }
    }
  }

  @ParameterizedTest
  @EnumSource(Tags.class)
  void eachAnswerIsOfOneVersionThatMayBeUsed(Tags said) throws IOException {
    tags = said;
    run(SEED, StorageOptions.memory(16 << 20), 300);
  }

  @ParameterizedTest
  @ValueSource(ints = {300, 300_000})
  void alsoWithADiskAndRestarts(int mostBytes) throws IOException {
    // What is larger goes to disk at once.
    var disk = StorageOptions.memory(16 << 20).onDisk(folder, 64 << 20).memoryObject(64 << 10);
    run(SEED + 1, disk, mostBytes);
  }

  /** What may be answered is not known then, but of one version it must be. */
  @Test
  void severalClientsGetEachWhatIsOfOneVersion() throws Exception {
    var random = new Random(SEED);
    change(random, 300);
    var failures = new CopyOnWriteArrayList<Throwable>();
    try (var origin = new ScriptedOrigin().then(this::answer);
        var proxy = proxy(origin, StorageOptions.memory(16 << 20))) {
      var clients = new ArrayList<Thread>();
      for (int i = 1; i <= 4; i++) {
        long seed = SEED + i;
        clients.add(Thread.startVirtualThread(() -> ask(proxy, new Random(seed), failures)));
      }
      while (clients.stream().anyMatch(Thread::isAlive) && failures.isEmpty()) {
        change(random, 300);
        if (random.nextInt(3) == 0) {
          proxy.purge(Purge.uri(Proxy.segment(KEY)));
        }
        clients.getFirst().join(Duration.ofMillis(2));
      }
      for (var client : clients) {
        client.join();
      }
    }
    assertEquals(List.of(), failures);
  }

  private void ask(Proxy proxy, Random random, List<Throwable> failures) {
    try (var browser = new Browser(proxy.addresses().getFirst())) {
      for (int step = 0; step < STEPS; step++) {
        var fields = fields(random);
        var _ = check(browser.get("/a", fields), "step " + step + ", " + List.of(fields));
      }
    } catch (IOException | RuntimeException | AssertionError e) {
      failures.add(e);
    }
  }
}
