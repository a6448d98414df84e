package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.evergreen.proxy.storage.StorageOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * RFC 9111 §4.4: who asks when an unsafe request has been answered gets nothing of what the origin
 * was asked for before that, in whatever way it comes, and however late.
 */
@Timeout(60)
class LateAnswersTest {

  private static final long START = 1_795_435_200_000L;
  private static final int LENGTH = 100;

  /** What the origin was asked for before, and answers afterwards. */
  enum Early {
    /** Nothing is stored. */
    WHOLE,
    /** Its head comes before, and the rest of its body afterwards. */
    BODY,
    VALIDATION,
    /** The same by who wants another variant, which the origin says is that which is stored. */
    VARIANT,
    /** It varies by other fields from then on, so that it is stored anew for who has asked. */
    VALIDATION_THAT_MOVES,
    /** The client has got what is stale already. */
    BACKGROUND,
    /** The whole comes, though it is the same. */
    BACKGROUND_WHOLE,
    /** It comes to nothing, and the whole is asked for instead. */
    BACKGROUND_IN_VAIN,
    /** It updates what is stored. */
    HEAD,
    /** It is found other than what is stored, which is stale then. */
    HEAD_OF_ANOTHER,
    PART,
    /** What is missing of a stored part. */
    REST,
    VALIDATION_OF_PARTS
  }

  @TempDir private Path folder;
  private final AtomicLong clock = new AtomicLong(START);
  private final AtomicReference<@Nullable CountDownLatch> hold = new AtomicReference<>();
  private volatile int version = 1;
  private volatile Early early = Early.WHOLE;

  private String body() {
    return Integer.toString(version).repeat(LENGTH);
  }

  private void answer(ScriptedOrigin.Received request, ScriptedOrigin.Wire wire)
      throws IOException, InterruptedException {
    var method = request.line().substring(0, request.line().indexOf(' '));
    if (method.equals("POST")) {
      version = 2;
      wire.send(ScriptedOrigin.response(200, "done"));
      return;
    }
    var text = text(request, method);
    var held = hold.getAndSet(null);
    int before = early == Early.BODY ? text.length() - LENGTH / 2 : 0;
    if (held != null) {
      wire.send(text.substring(0, before));
      held.await();
      wire.send(text.substring(before));
    } else {
      wire.send(text);
    }
  }

  private String text(ScriptedOrigin.Received request, String method) {
    var fields = new ArrayList<String>();
    fields.add(
        "Cache-Control: max-age=10" + (isInBackground() ? ", stale-while-revalidate=60" : ""));
    fields.add("ETag: \"" + version + "\"");
    boolean conditional = request.has("If-None-Match");
    if (early == Early.VARIANT || (early == Early.VALIDATION_THAT_MOVES && conditional)) {
      fields.add("Vary: A");
    }
    var all = fields.toArray(String[]::new);
    boolean same = request.field("If-None-Match").contains("\"" + version + "\"");
    if (same && early == Early.BACKGROUND_IN_VAIN) {
      return "HTTP/1.1 304 X\r\nETag: \"another\"\r\n\r\n";
    }
    if (same && early != Early.BACKGROUND_WHOLE) {
      return "HTTP/1.1 304 X\r\n" + String.join("\r\n", all) + "\r\n\r\n";
    }
    if (method.equals("HEAD")) {
      int length = early == Early.HEAD_OF_ANOTHER ? 7 : LENGTH;
      return "HTTP/1.1 200 X\r\nContent-Length: "
          + length
          + "\r\n"
          + String.join("\r\n", all)
          + "\r\n\r\n";
    }
    var range = request.field("Range");
    boolean counts =
        !request.has("If-Range") || request.field("If-Range").contains("\"" + version + "\"");
    if (range.isEmpty() || !counts) {
      return ScriptedOrigin.response(200, body(), all);
    }
    var ends = range.substring("bytes=".length()).split("-", -1);
    int first = Integer.parseInt(ends[0]);
    int last = ends[1].isEmpty() ? LENGTH - 1 : Integer.parseInt(ends[1]);
    fields.add("Content-Range: bytes " + first + "-" + last + "/" + LENGTH);
    return ScriptedOrigin.response(
        206, body().substring(first, last + 1), fields.toArray(String[]::new));
  }

  private boolean isInBackground() {
    return early.name().startsWith("BACKGROUND");
  }

  private boolean isOfParts() {
    return early == Early.PART || early == Early.REST || early == Early.VALIDATION_OF_PARTS;
  }

  /** What is stored before. */
  private void prepare(Browser browser) throws IOException {
    switch (early) {
      case WHOLE, BODY, PART -> {}
      case REST -> assertEquals(206, browser.get("/a", "Range: bytes=0-9").status());
      case VALIDATION_OF_PARTS ->
          assertEquals(206, browser.get("/a", "Range: bytes=5-49").status());
      default -> assertEquals(body(), browser.get("/a", "A: 1").body());
    }
  }

  private CompletableFuture<Browser.Answer> ask(Browser browser) throws IOException {
    switch (early) {
      case HEAD, HEAD_OF_ANOTHER -> browser.ask("HEAD", "/a", "A: 1", "Cache-Control: no-cache");
      case VARIANT -> browser.ask("GET", "/a", "A: 2");
      case PART, REST, VALIDATION_OF_PARTS -> browser.ask("GET", "/a", "Range: bytes=5-49");
      default -> browser.ask("GET", "/a", "A: 1");
    }
    var answer = new CompletableFuture<Browser.Answer>();
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                answer.complete(
                    browser.receive(early == Early.HEAD || early == Early.HEAD_OF_ANOTHER));
              } catch (IOException e) {
                answer.completeExceptionally(e);
              }
            });
    return answer;
  }

  private Browser.Answer askLater(Browser browser, String field) throws IOException {
    return isOfParts()
        ? browser.get("/a", "Range: bytes=5-49", field)
        : browser.get("/a", early == Early.VARIANT ? "A: 2" : "A: 1", field);
  }

  private void check(Browser.Answer answer) {
    assertEquals("\"2\"", answer.field("ETag"), answer.toString());
    assertFalse(answer.body().isEmpty());
    assertFalse(answer.body().contains("1"), answer.toString());
  }

  @ParameterizedTest
  @CsvSource({"false, false", "false, true", "true, false", "true, true"})
  void nothingThatWasAskedForBeforeIsAnAnswerAfterwards(boolean disk, boolean asksWhileHeld)
      throws Exception {
    for (var each : Early.values()) {
      early = each;
      version = 1;
      var path = folder.resolve(each.name());
      var memory = StorageOptions.memory(16 << 20);
      try (var origin = new ScriptedOrigin().then(this::answer);
          var proxy = proxy(origin, disk ? memory.onDisk(path, 64 << 20) : memory);
          var first = new Browser(proxy.addresses().getFirst());
          var second = new Browser(proxy.addresses().getFirst())) {
        prepare(first);
        WithOneProxy.await(() -> proxy.fetches().underWay() == 0);
        if (early != Early.HEAD && early != Early.HEAD_OF_ANOTHER) {
          clock.addAndGet(20_000);
        }
        var release = new CountDownLatch(1);
        hold.set(release);
        int asked = origin.count();
        var before = ask(first);
        WithOneProxy.await(() -> origin.count() == asked + 1 && hold.get() == null);
        second.ask("POST", "/a");
        assertEquals(200, second.receive().status());
        if (asksWhileHeld) {
          check(askLater(second, "B: 1"));
        }
        release.countDown();
        assertEquals(2, before.get().status() / 100, each.toString());
        WithOneProxy.await(() -> proxy.fetches().underWay() == 0);
        check(askLater(second, "B: 1"));
        check(askLater(second, "Cache-Control: max-stale"));
      } finally {
        Objects.requireNonNullElse(hold.getAndSet(null), new CountDownLatch(0)).countDown();
      }
    }
  }

  /**
   * A HEAD has found what is stored, and waits for a GET that comes to nothing. So it asks when
   * something else is there already.
   *
   * @param tag what the origin tells of both: the same length, and a tag or nothing else
   */
  @ParameterizedTest
  @CsvSource({"false, ETag", "false, X", "true, ETag", "true, X"})
  void whoHasFoundItBeforeDoesNotBringItBack(boolean disk, String tag) throws Exception {
    var release = new CountDownLatch(1);
    var life = "Cache-Control: max-age=10, stale-while-revalidate=60";
    var memory = StorageOptions.memory(16 << 20);
    try (var origin =
            new ScriptedOrigin()
                .then(200, "old", life, tag + ": \"1\"")
                .then(
                    (_, wire) -> {
                      release.await();
                      wire.send(ScriptedOrigin.response(403, ""));
                    })
                .then(200, "done")
                .then(
                    (_, wire) -> {
                      var head = ScriptedOrigin.response(200, "new", life, tag + ": \"2\"");
                      wire.send(head.substring(0, head.length() - 3));
                    })
                .then(200, "new", life, tag + ": \"2\"");
        var proxy = proxy(origin, disk ? memory.onDisk(folder, 64 << 20) : memory);
        var first = new Browser(proxy.addresses().getFirst());
        var second = new Browser(proxy.addresses().getFirst());
        var third = new Browser(proxy.addresses().getFirst())) {
      assertEquals("old", first.get("/a").body());
      WithOneProxy.await(() -> proxy.fetches().underWay() == 0);
      first.ask("GET", "/a", "Cache-Control: no-cache");
      WithOneProxy.await(() -> origin.count() == 2);
      second.ask("HEAD", "/a", "Cache-Control: no-cache");
      WithOneProxy.await(() -> proxy.statistics().get(Statistics.Count.COLLAPSED) == 1);
      third.ask("POST", "/a");
      assertEquals(200, third.receive().status());
      release.countDown();
      assertEquals(403, first.receive().status());
      assertEquals(200, second.receive(true).status());
      assertEquals("new", third.get("/a").body());
    } finally {
      release.countDown();
    }
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
}
