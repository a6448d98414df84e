package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.http.HttpDate;
import dev.evergreen.http.Origin;
import dev.evergreen.proxy.storage.StorageOptions;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Several clients ask at random for a few URIs, and change them by unsafe requests, while the
 * origin takes its time: no answer to a request that begins when an unsafe one has been answered is
 * of what was there before that.
 */
@Timeout(600)
class InvalidationModelTest {

  private static final long START = 1_795_435_200_000L;
  private static final int CLIENTS = 8;
  private static final int STEPS = Integer.getInteger("evergreen.proxy.steps", 60);
  private static final long SEED = Long.getLong("evergreen.proxy.seed", 1);
  private static final Pattern BODY = Pattern.compile("(\\d+)/(\\d+);.*");
  private static final Pattern TAG = Pattern.compile("(?:W/)?\"(\\d+)\"");

  /** What is at a URI; each has its own kind of validators and fields. */
  private static final class Resource {
    final int number;

    /** That of the origin; raised by each unsafe request. */
    final AtomicInteger version = new AtomicInteger();

    /** That which the answered unsafe requests have made. */
    final AtomicInteger told = new AtomicInteger();

    Resource(int number) {
      this.number = number;
    }

    boolean hasTag() {
      return number % 4 != 3;
    }

    String tag(int of) {
      return (number % 4 == 2 ? "W/" : "") + "\"" + of + "\"";
    }

    /** The last one has no validator at all. */
    boolean hasDate() {
      return number != 7;
    }

    boolean varies() {
      return number % 2 == 1;
    }

    int length() {
      return number % 3 == 2 ? 100_000 : 300;
    }

    String body(int of) {
      var start = number + "/" + of + ";";
      return start + "x".repeat(length() - start.length());
    }

    String path() {
      return "/" + number;
    }
  }

  @TempDir private Path folder;
  private final AtomicLong clock = new AtomicLong(START);
  private final List<Resource> resources = new ArrayList<>();
  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
  private final Queue<String> history = new ConcurrentLinkedQueue<>();
  private final long began = System.nanoTime();

  private void note(String what) {
    history.add((System.nanoTime() - began) / 1000 + " " + what);
    if (history.size() > 4000) {
      history.poll();
    }
  }

  // The origin

  private void serve(Socket socket) {
    try (socket) {
      var in = new BufferedInputStream(socket.getInputStream());
      for (var head = head(in); head != null; head = head(in)) {
        answer(head, socket);
      }
    } catch (IOException e) {
      // The proxy has left.
    }
  }

  private static ScriptedOrigin.@Nullable Received head(BufferedInputStream in) throws IOException {
    var text = new StringBuilder();
    while (text.length() < 4 || !text.substring(text.length() - 4).equals("\r\n\r\n")) {
      int b = in.read();
      if (b < 0) {
        return null;
      }
      text.append((char) b);
    }
    var request = new ScriptedOrigin.Received(text.toString().stripTrailing(), "");
    var length = request.field("Content-Length");
    if (!length.isEmpty()) {
      in.readNBytes(Integer.parseInt(length));
    }
    return request;
  }

  private void answer(ScriptedOrigin.Received request, Socket socket) throws IOException {
    var line = request.line().split(" ", -1);
    var resource = resources.get(Integer.parseInt(line[1].substring(1)));
    boolean safe = line[0].equals("GET") || line[0].equals("HEAD");
    var text = safe ? read(request, resource, line[0]) : change(line[0], resource);
    note(
        "origin "
            + line[0]
            + " "
            + line[1]
            + " -> "
            + text.lines().findFirst().orElse("")
            + " v"
            + resource.version.get());
    pause(8);
    var bytes = text.getBytes(ISO_8859_1);
    var out = socket.getOutputStream();
    int part = ThreadLocalRandom.current().nextInt(bytes.length);
    out.write(bytes, 0, part);
    if (ThreadLocalRandom.current().nextInt(3) == 0) {
      pause(8);
    }
    if (ThreadLocalRandom.current().nextInt(200) == 0) {
      throw new IOException("it breaks off");
    }
    out.write(bytes, part, bytes.length - part);
  }

  private static void pause(int most) {
    LockSupport.parkNanos(ThreadLocalRandom.current().nextInt(most) * 1_000_000L);
  }

  private String change(String method, Resource resource) {
    var random = ThreadLocalRandom.current();
    int which = random.nextInt(12);
    if (which == 0) {
      return ScriptedOrigin.response(409, "");
    }
    int version = resource.version.incrementAndGet();
    return switch (which) {
      case 1 -> "HTTP/1.1 204 X\r\nX: " + version + "\r\n\r\n";
      case 2 -> ScriptedOrigin.response(303, "", "Location: /0", "X: " + version);
      default -> ScriptedOrigin.response(200, method, "X: " + version);
    };
  }

  private String read(ScriptedOrigin.Received request, Resource resource, String method) {
    var random = ThreadLocalRandom.current();
    switch (random.nextInt(24)) {
      case 0 -> {
        return ScriptedOrigin.response(503, "");
      }
      case 1, 2, 3, 4 -> {
        return ScriptedOrigin.response(403, "");
      }
      default -> {}
    }
    int version = resource.version.get();
    var fields = new ArrayList<String>();
    fields.add(
        "Cache-Control: max-age="
            + (1 + random.nextInt(3))
            + (resource.number % 3 == 0 ? ", stale-while-revalidate=3, stale-if-error=5" : ""));
    // Some origins leave validators out where no body comes.
    boolean bare = method.equals("HEAD") && random.nextBoolean();
    if (resource.hasTag() && !bare) {
      fields.add("ETag: " + resource.tag(version));
    }
    var changed = HttpDate.format(START - 100_000_000 + version * 1000L);
    if (resource.hasDate() && !bare) {
      fields.add("Last-Modified: " + changed);
    }
    if (resource.varies()) {
      fields.add("Vary: A");
    }
    var asked = request.field("If-None-Match");
    boolean same =
        asked.isEmpty()
            ? request.field("If-Modified-Since").equals(changed)
            : resource.hasTag() && asked.contains("\"" + version + "\"");
    var all = fields.toArray(String[]::new);
    if (same) {
      return "HTTP/1.1 304 X\r\n" + String.join("\r\n", all) + "\r\n\r\n";
    }
    var body = resource.body(version);
    if (method.equals("HEAD")) {
      var text = ScriptedOrigin.response(200, body, all);
      return text.substring(0, text.length() - body.length());
    }
    var range = Pattern.compile("bytes=(\\d+)-(\\d+)").matcher(request.field("Range"));
    boolean counts =
        !request.has("If-Range")
            || (resource.hasTag()
                && resource.number % 4 != 2
                && request.field("If-Range").equals(resource.tag(version)));
    if (range.matches() && counts) {
      int first = Integer.parseInt(range.group(1));
      int last = Math.min(body.length() - 1, Integer.parseInt(range.group(2)));
      fields.add("Content-Range: bytes " + first + "-" + last + "/" + body.length());
      return ScriptedOrigin.response(
          206, body.substring(first, last + 1), fields.toArray(String[]::new));
    }
    return ScriptedOrigin.response(200, body, all);
  }

  // The clients

  private void run(int client, InetSocketAddress address) {
    var random = new Random(SEED * 1000 + client);
    Browser browser = null;
    try {
      for (int i = 0; i < STEPS && failure.get() == null; i++) {
        if (browser == null) {
          browser = new Browser(address);
        }
        if (random.nextInt(15) == 0) {
          clock.addAndGet(random.nextInt(1500));
        }
        var resource = resources.get(random.nextInt(1 + random.nextInt(resources.size())));
        try {
          if (random.nextInt(5) == 0) {
            write(browser, random, resource, client);
          } else if (random.nextInt(40) == 0) {
            browser.ask("GET", resource.path());
            pause(5);
            browser.vanish();
            browser = null;
          } else {
            look(browser, random, resource, client);
          }
        } catch (IOException e) {
          note("client " + client + " " + e);
          if (browser != null) {
            browser.close();
          }
          browser = null;
        }
      }
    } catch (Throwable e) {
      failure.compareAndSet(null, e);
    }
  }

  private void write(Browser browser, Random random, Resource resource, int client)
      throws IOException {
    var method = List.of("POST", "PUT", "DELETE", "CHANGE").get(random.nextInt(4));
    note("client " + client + " " + method + " " + resource.path());
    if (random.nextBoolean()) {
      browser.send(
          method
              + " "
              + resource.path()
              + " HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\nab");
    } else {
      browser.ask(method, resource.path());
    }
    var answer = browser.receive(false);
    note(
        "client "
            + client
            + " "
            + method
            + " "
            + resource.path()
            + " <- "
            + answer.status()
            + " v"
            + answer.field("X"));
    if (answer.status() < 400) {
      int version = Integer.parseInt(answer.field("X"));
      resource.told.accumulateAndGet(version, Math::max);
    }
  }

  private void look(Browser browser, Random random, Resource resource, int client)
      throws IOException {
    var fields = new ArrayList<String>();
    fields.add("A: " + random.nextInt(3));
    int least = resource.told.get();
    switch (random.nextInt(20)) {
      case 0, 10, 11, 12, 13, 14, 15 -> fields.add("Cache-Control: no-cache");
      case 1 -> fields.add("Cache-Control: max-age=0");
      case 2 -> fields.add("Cache-Control: max-stale");
      case 3 -> fields.add("Cache-Control: only-if-cached");
      case 4, 5 -> {
        if (resource.hasTag()) {
          fields.add("If-None-Match: " + resource.tag(Math.max(0, least - random.nextInt(2))));
        }
      }
      case 6, 7, 8 -> {
        int first = random.nextInt(resource.length());
        fields.add("Range: bytes=" + first + "-" + (first + random.nextInt(resource.length())));
      }
      case 9 -> fields.add("Range: bytes=0-50");
      default -> {}
    }
    boolean head = random.nextInt(4) == 0;
    var said =
        "client "
            + client
            + (head ? " HEAD " : " GET ")
            + resource.path()
            + " "
            + fields
            + " at least v"
            + least;
    note(said);
    var array = fields.toArray(String[]::new);
    var answer = head ? browser.head(resource.path(), array) : browser.get(resource.path(), array);
    note(
        said
            + " <- "
            + answer.status()
            + " "
            + answer.fields()
            + " "
            + answer.body().substring(0, Math.min(12, answer.body().length())));
    if (answer.status() >= 400) {
      return;
    }
    var tag = TAG.matcher(answer.field("ETag"));
    if (tag.matches()) {
      assertTrue(Integer.parseInt(tag.group(1)) >= least, said + answer.fields());
    }
    var body = BODY.matcher(answer.body());
    if (body.matches()) {
      assertEquals(resource.number, Integer.parseInt(body.group(1)), said);
      int version = Integer.parseInt(body.group(2));
      assertTrue(version >= least, said + " " + version + answer.fields());
      if (tag.matches()) {
        assertEquals(version, Integer.parseInt(tag.group(1)), said);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"memory", "little memory", "disk", "disk and little memory"})
  void whatAnUnsafeRequestHasEndedIsNeverAnAnswer(String kind) throws Exception {
    for (int i = 0; i < 8; i++) {
      resources.add(new Resource(i));
    }
    var storage = StorageOptions.memory(kind.contains("little") ? 1 << 20 : 16 << 20);
    if (kind.contains("disk")) {
      storage = storage.onDisk(folder, 64 << 20);
    }
    try (var listener = new ServerSocket(0, 100, InetAddress.getLoopbackAddress())) {
      Thread.ofVirtual()
          .start(
              () -> {
                try {
                  while (true) {
                    var socket = listener.accept();
                    Thread.ofVirtual().start(() -> serve(socket));
                  }
                } catch (IOException e) {
                  // It has ended.
                }
              });
      var settings =
          ProxySettings.DEFAULT
              .withAddresses(List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)))
              .withOrigins(List.of(new Origin(false, "127.0.0.1", listener.getLocalPort())))
              .withProcessors(2)
              .withStorage(storage)
              .withClock(clock::get);
      try (var proxy = Proxy.start(settings)) {
        var clients = new ArrayList<Thread>();
        for (int i = 0; i < CLIENTS; i++) {
          int number = i;
          clients.add(Thread.ofVirtual().start(() -> run(number, proxy.addresses().getFirst())));
        }
        for (var each : clients) {
          each.join();
        }
      }
    }
    var why = failure.get();
    if (why != null) {
      throw new AssertionError(kind + " by seed " + SEED + "\n" + String.join("\n", history), why);
    }
  }
}
