package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.live.HandNode;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a log is told of the requests of a real server. */
final class RequestLogTest {

  private final BlockingQueue<AnsweredRequest> log = new LinkedBlockingQueue<>();
  private final WebServer server =
      WebServer.builder(new HandNode())
          .port(0)
          .behind(Proxies.xForwardedFor("127.0.0.1"))
          .authenticator(
              request ->
                  request
                      .header("Who")
                      .map(name -> new Caller(name, java.util.Set.of()))
                      .orElse(Caller.ANONYMOUS))
          .route("GET", "/hello/*", request -> Reply.text("Hello"))
          .view(
              LiveView.of(
                  "one", LiveView.NoParams.class, Authorisation.everyone(), none -> () -> 1))
          .requestLog(log::add)
          .start();

  @AfterEach
  void close() {
    server.close();
  }

  private AnsweredRequest next() throws InterruptedException {
    var told = log.poll(20, TimeUnit.SECONDS);
    assertTrue(told != null, "nothing was told");
    return told;
  }

  @Test
  void aRequestIsToldOnceItIsAnsweredWithoutItsQuery() throws Exception {
    var before = Instant.now().minusSeconds(1);
    Http.get(server, "/hello/ada?secret=1", "X-Forwarded-For", "192.0.2.7", "Who", "ada");
    var told = next();
    assertEquals("192.0.2.7", told.remoteAddress());
    assertEquals(Optional.of("ada"), told.caller());
    assertEquals("GET", told.method());
    assertEquals("/hello/ada", told.path());
    assertEquals("/hello/*", told.route());
    assertEquals(200, told.status());
    assertEquals(5, told.bytes());
    assertTrue(told.began().isAfter(before) && told.took().isPositive(), told.toString());
  }

  @Test
  void whatIsRefusedIsToldTooAndStrangersMakeNoNamesOfRoutes() throws Exception {
    Http.get(server, "/live/none");
    assertEquals("", next().route());
    Http.get(server, "/nothing");
    var missing = next();
    assertEquals(404, missing.status());
    assertEquals("", missing.route());
    assertEquals(Optional.empty(), missing.caller());
    try (var raw = new RawClient(server)) {
      raw.send("NONSENSE\r\n\r\n");
      assertEquals(400, raw.status());
      assertEquals(400, next().status());
    }
  }

  /** Beside whoever is told by the program. */
  @Test
  void aSettingNamesAFileForTheLines(@TempDir Path folder) throws Exception {
    var file = folder.resolve("access.log");
    var settings = Files.writeString(folder.resolve("settings"), "access-log = " + file + "\n");
    var told = new LinkedBlockingQueue<AnsweredRequest>();
    try (var logged =
        WebServer.builder(new HandNode())
            .configuredBy(settings)
            .requestLog(told::add)
            .port(0)
            .start()) {
      Http.get(logged, "/one");
      assertTrue(told.poll(20, TimeUnit.SECONDS) != null, "its line waits to be written by now");
      // What is not written yet is written to the new one.
      Await.until("written", () -> file.toFile().length() > 0);
      Files.move(file, folder.resolve("former.log"));
      logged.reopenAccessLog();
      Http.get(logged, "/two");
      assertTrue(told.poll(20, TimeUnit.SECONDS) != null, "and that of the second");
    }
    var line = "127\\.0\\.0\\.1 - - \\[[^]]+\\] \"GET /%s\" 404 \\d+\n";
    assertMatches(line.formatted("one"), Files.readString(folder.resolve("former.log")));
    assertMatches(line.formatted("two"), Files.readString(file));
  }

  private static void assertMatches(String expected, String text) {
    assertTrue(text.matches(expected), text);
  }

  @Test
  void anAccessLogThatCannotBeWrittenEndsTheStart(@TempDir Path folder) {
    var builder = WebServer.builder(new HandNode()).port(0).accessLog(folder);
    var refused = assertThrows(UncheckedIOException.class, builder::start);
    assertTrue(String.valueOf(refused.getMessage()).contains(folder.toString()));
  }

  @Test
  void nobodyCanWriteALineOfHisOwn() {
    var told =
        new AnsweredRequest(
            Instant.parse("2026-11-23T12:00:00Z"),
            Duration.ofMillis(3),
            "192.0.2.7",
            Optional.of("a da\n\"x"),
            "GET",
            "/a\"b\\c",
            "",
            404,
            0);
    assertEquals(
        "192.0.2.7 - a\\x20da\\x0A\\x22x [23/Nov/2026:12:00:00 +0000] \"GET /a\\x22b\\x5Cc\" 404 -",
        told.line());
  }
}
