package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.util.stream.Collectors.joining;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.http.HttpDate;
import dev.evergreen.pages.PageFiles;
import dev.evergreen.proxy.storage.StorageOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What operators see and order. */
@Timeout(60)
class AdminTest {
  private static final InetSocketAddress ANY =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

  @TempDir private Path folder;
  private final ScriptedOrigin origin = new ScriptedOrigin();
  private Proxy proxy;
  private Browser browser;

  AdminTest() throws IOException {}

  @BeforeEach
  void start() throws IOException {
    proxy =
        Proxy.start(
            ProxySettings.DEFAULT
                .withAddresses(List.of(ANY))
                .withAdmin(ANY)
                .withOrigins(List.of(origin.origin()))
                .withStorage(StorageOptions.memory(16 << 20))
                .withAccessLog(folder.resolve("log"), LogFormat.COMBINED)
                .withProcessors(1));
    browser = new Browser(proxy.addresses().getFirst());
  }

  @AfterEach
  void end() throws IOException {
    browser.close();
    origin.close();
    proxy.close();
  }

  private Browser.Answer get(String path) throws IOException {
    var answer = browser.get(path);
    while (proxy.fetches().underWay() > 0) {
      Thread.onSpinWait();
    }
    return answer;
  }

  private Browser.Answer order(String line, String host, String... fields) throws IOException {
    var address = Objects.requireNonNull(proxy.admin());
    try (var operator = new Browser(address)) {
      var more = fields.length == 0 ? "" : String.join("\r\n", fields) + "\r\n";
      operator.send(line + " HTTP/1.1\r\nHost: " + host + "\r\n" + more + "\r\n");
      return operator.receive(line.startsWith("HEAD "));
    }
  }

  private String ask(String line) throws IOException {
    var answer = order(line, "127.0.0.1");
    assertEquals(200, answer.status());
    return answer.body();
  }

  private void twoPages() throws IOException {
    origin.then(
        (request, wire) ->
            wire.send(
                ScriptedOrigin.response(
                    200,
                    "" + origin.count(),
                    "Cache-Control: max-age=60",
                    request.line().contains("/a")
                        ? "Cache-Tag: one, both"
                        : "Surrogate-Key: both")));
    assertEquals("1", get("/a").body());
    assertEquals("2", get("/b").body());
  }

  @ParameterizedTest
  @CsvSource({
    "GET /purge, POST",
    "HEAD /purge, POST",
    "POST /stats, 'GET, HEAD'",
    "DELETE /, 'GET, HEAD'",
    "PUT /log, 'GET, HEAD'"
  })
  void whatIsAskedForByAnotherMethodSaysByWhich(String line, String method) throws IOException {
    var answer = order(line, "127.0.0.1");
    assertEquals(405, answer.status());
    assertEquals(method, answer.field("Allow"), "RFC 9110 §15.5.6");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"/", "/admin.css", "/stats", "/metrics", "/log", "/log?follow", "/nothing-here"})
  void headIsAnsweredAsGetIsButForTheBody(String path) throws IOException {
    var address = Objects.requireNonNull(proxy.admin());
    try (var operator = new Browser(address)) {
      operator.send("HEAD " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
      var head = operator.receive(true);
      var same = path.replace("?follow", "");
      operator.send("GET " + same + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
      var whole = operator.receive();
      assertEquals(whole.status(), head.status(), "RFC 9110 §9.1");
      assertEquals(whole.field("Content-Type"), head.field("Content-Type"));
      for (var answer : List.of(head, whole)) {
        var date = HttpDate.parse(answer.field("Date"), System.currentTimeMillis());
        assertTrue(date.isPresent(), "RFC 9110 §6.6.1");
      }
    }
  }

  @Test
  void aUriIsPurged() throws Exception {
    twoPages();
    ask("POST /purge?uri=http%3A%2F%2Ftest%2Fa");
    assertEquals("2", get("/b").body());
    assertEquals("3", get("/a").body());
  }

  @Test
  void aTagIsPurged() throws Exception {
    twoPages();
    ask("POST /purge?tag=one");
    assertEquals("2", get("/b").body());
    assertEquals("3", get("/a").body());
    ask("POST /purge?tag=both");
    assertEquals("4", get("/b").body());
    assertEquals("5", get("/a").body());
  }

  @Test
  void aPrefixIsPurged() throws Exception {
    twoPages();
    ask("POST /purge?prefix=http://test/b");
    assertEquals("1", get("/a").body());
    assertEquals("3", get("/b").body());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "uri=http://Test/a",
        "uri=HTTP://test:80/a",
        "uri=http://test:/a",
        "prefix=http://TEST:80/a",
        "prefix=Http://TEST",
        "prefix=http://TEST:80",
        "prefix=http://TEST:",
        "prefix="
      })
  void aNameIsUnderstoodAsItIsWritten(String name) throws Exception {
    twoPages();
    ask("POST /purge?" + name);
    assertEquals("3", get("/a").body());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "soft",
        "uri=/a",
        "uri=test/a",
        "uri=http://test/a+b",
        "uri=http://test/a%23b",
        "uri=http://test/a?x=1&y=2",
        "uri=http://test/a&tag=one",
        "prefix=/a",
        "prefix=test",
        "tag=",
        "tag=one+two",
        "tag=one,two"
      })
  void whatCanNameNothingIsNotConfirmed(String name) throws Exception {
    twoPages();
    assertEquals(400, order("POST /purge?" + name, "127.0.0.1").status());
    assertEquals("1", get("/a").body());
  }

  @Test
  void aTagOfAnyBytesIsPurged() throws Exception {
    origin.then(200, "1", "Cache-Control: max-age=60", "Cache-Tag: \u00c3\u00a9\u00ff");
    get("/a");
    ask("POST /purge?tag=%C3%A9%FF");
    get("/a");
    assertEquals(2, origin.count());
  }

  @Test
  void whatHasMoreTagsThanCanBeKeptIsNotStored() throws Exception {
    var most = IntStream.range(0, 256).mapToObj(i -> "p" + i).collect(joining(" "));
    origin
        .then(200, "1", "Cache-Control: max-age=60", "Surrogate-Key: " + most + " more")
        .then(200, "2", "Cache-Control: max-age=60", "Surrogate-Key: " + most, "ETag: \"2\"")
        .then(304, "", "Cache-Control: max-age=60", "Surrogate-Key: " + most + " more")
        .then(200, "3", "Cache-Control: max-age=60");
    get("/a");
    assertEquals("2", get("/a").body(), "no purge of the last tag could have met it");
    ask("POST /purge?tag=p255&soft");
    assertEquals("2", get("/a").body());
    ask("POST /purge?tag=more");
    assertEquals("3", get("/a").body());
  }

  @Test
  void aGroupIsNoTag() throws Exception {
    origin.then(200, "1", "Cache-Control: max-age=60", "Cache-Groups: \"g\"");
    get("/a");
    ask("POST /purge?tag=g");
    get("/a");
    assertEquals(1, origin.count());
  }

  @Test
  void othersAreRefused() throws Exception {
    twoPages();
    assertEquals(403, order("POST /purge?tag=one", "evil.example").status(), "another name for us");
    assertEquals(
        403, order("POST /purge?tag=one", "127.0.0.1", "Origin: http://evil.example").status());
    for (var field :
        List.of("Via: 1.1 x", "Forwarded: for=192.0.2.1", "X-Forwarded-For: 192.0.2.1")) {
      assertEquals(
          403, order("POST /purge?tag=one", "127.0.0.1", field).status(), "through a proxy");
    }
    assertEquals("1", get("/a").body());
    assertThrows(
        IllegalArgumentException.class,
        () -> ProxySettings.DEFAULT.withAdmin(new InetSocketAddress("192.0.2.1", 1)));
  }

  @Test
  void thePageAsksThisAddressOnly() throws Exception {
    var page = order("GET /", "localhost");
    assertEquals(PageFiles.CONTENT_SECURITY_POLICY, page.field("Content-Security-Policy"));
    for (var file : List.of("page.css", "icon.svg", "admin.css", "admin.js")) {
      assertTrue(page.body().contains(file));
      assertEquals(200, order("GET /" + file, "localhost").status());
    }
    assertEquals(404, order("GET /Admin.class", "localhost").status());
    assertEquals(404, order("GET //page.css", "localhost").status());
  }

  @Test
  void numbersAreShown() throws Exception {
    twoPages();
    get("/a");
    var stats = ask("GET /stats");
    assertTrue(stats.contains("\"hits\":1"), stats);
    assertTrue(stats.contains("\"" + origin.origin() + "\":{\"well\":true"), stats);
    var metrics = ask("GET /metrics");
    assertTrue(metrics.contains("# TYPE evergreen_proxy_hits_total counter\n"), metrics);
    assertTrue(metrics.contains("\nevergreen_proxy_hits_total 1\n"), metrics);
    assertTrue(metrics.contains("evergreen_proxy_origin_up{origin=\"" + origin.origin() + "\"} 1"));
  }

  @Test
  void theCourseOfARequestIsShown() throws Exception {
    twoPages();
    var lines = ask("GET /log?course").lines().toList();
    assertEquals(2, lines.size());
    var points = lines.getFirst().replaceAll(".*\"course\":", "").split("\"point\":\"", -1);
    var names = Arrays.stream(points).skip(1).map(p -> p.replaceAll("\".*", "")).toList();
    assertEquals(
        List.of(
            "REQUEST",
            "KEY",
            "LOOKUP",
            "DECISION",
            "ORIGIN_REQUEST",
            "RESPONSE",
            "STORE",
            "ANSWER",
            "BODY",
            "LOG"),
        names);
    assertTrue(lines.getFirst().contains("\"target\":\"/a\""));
    assertTrue(
        lines.getFirst().contains("\"cache\":\"fwd=uri-miss; fwd-status=200; ttl=60; stored\""));
  }

  @Test
  void whatComesIsShownAsItComes() throws Exception {
    origin.then(200, "1");
    var address = Objects.requireNonNull(proxy.admin());
    try (var operator = new Browser(address)) {
      operator.ask("GET", "/log?follow", "X: y");
      // This client names another host.
      assertEquals(403, operator.receive().status());
      operator.send("GET /log?follow HTTP/1.1\r\nHost: localhost\r\n\r\n");
      while (!operator.line().isEmpty()) {}
      get("/live");
      var text = new StringBuilder();
      while (text.indexOf("/live") < 0) {
        text.append(operator.line());
      }
    }
  }

  @Test
  void eachRequestIsALineOfTheAccessLog() throws Exception {
    origin.then(200, "1");
    browser.get("/a", "User-Agent: a\"\u00e4");
    browser.ask("PURGE", "/a");
    browser.receive();
    proxy.close();
    var lines = Files.readAllLines(folder.resolve("log"), ISO_8859_1);
    assertEquals(2, lines.size());
    assertTrue(lines.getLast().contains("\"PURGE /a HTTP/1.1\" 200 7 "), lines.getLast());
    assertTrue(
        lines
            .getFirst()
            .matches(
                "127\\.0\\.0\\.1 - - \\[.*\\] \"GET /a HTTP/1\\.1\" 200 1 \"-\""
                    + " \"a\\\\x22\\\\xe4\""),
        lines.getFirst());
  }

  @Test
  void aBrowserShowsThePageWithItsNumbers() throws Exception {
    origin.then(200, "1", "Cache-Control: max-age=60");
    get("/shown-to-operators");
    get("/shown-to-operators");
    var address = Objects.requireNonNull(proxy.admin());
    var page = chromium("--dump-dom", "http://127.0.0.1:%d/".formatted(address.getPort()));
    assertTrue(page.contains("data-state=\"live\""), page);
    var hot =
        "/shown-to-operators</td>%s\"Requests\">2</td>%s\"Hits\">1</td>"
            .replace("%s", "<td class=\"number\" data-label=");
    assertTrue(page.contains(hot), "requests, hits");
    assertTrue(page.contains(">" + origin.origin() + "</td>"), "the origin");
    assertTrue(page.contains("ORIGIN_REQUEST"), "the course of what was asked");
  }

  private String chromium(String... arguments) throws Exception {
    var command = new ArrayList<>(List.of("chromium", "--headless", "--no-sandbox"));
    command.addAll(List.of("--disable-gpu", "--virtual-time-budget=5000"));
    command.add("--user-data-dir=" + folder.resolve("chromium"));
    command.addAll(List.of(arguments));
    var process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    var said = new String(process.getInputStream().readAllBytes(), ISO_8859_1);
    assertEquals(0, process.waitFor());
    return said;
  }
}
