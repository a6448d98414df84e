package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.live.HandNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class StaticFilesTest {

  private static WebServer start(Path directory) throws Exception {
    var site = Files.createDirectories(directory.resolve("site"));
    Files.createDirectories(site.resolve("assets"));
    Files.writeString(directory.resolve("secret.txt"), "secret");
    Files.writeString(site.resolve("index.html"), "<h1>home</h1>");
    Files.writeString(site.resolve("assets/app-1f3c.js"), "run()");
    Files.createSymbolicLink(site.resolve("link.txt"), directory.resolve("secret.txt"));
    return WebServer.builder(new HandNode())
        .port(0)
        .view(
            LiveView.of(
                "value", LiveView.NoParams.class, Authorisation.everyone(), params -> () -> 1))
        .staticFiles("/", site)
        .staticFiles("/docs", site)
        .singlePage()
        .start();
  }

  @Test
  void servesFilesWithTypesAndETags(@TempDir Path directory) throws Exception {
    try (var server = start(directory)) {
      var home = Http.get(server, "/");
      assertEquals("<h1>home</h1>", home.body());
      assertTrue(Http.header(home, "Content-Type").startsWith("text/html"));
      assertEquals("no-cache", Http.header(home, "Cache-Control"));
      var etag = Http.header(home, "ETag");
      assertEquals(304, Http.get(server, "/", "If-None-Match", etag).statusCode());
      var script = Http.get(server, "/assets/app-1f3c.js");
      assertTrue(Http.header(script, "Content-Type").contains("javascript"));
      assertTrue(Http.header(script, "Cache-Control").contains("immutable"));
      assertEquals("<h1>home</h1>", Http.get(server, "/docs/").body());
      assertEquals("run()", Http.get(server, "/docs/assets/app-1f3c.js").body());
      assertEquals(200, Http.get(server, "/live/value").statusCode());
    }
  }

  @Test
  void answersPagesOfTheApplicationWithItsStartPageAndNothingElse(@TempDir Path directory)
      throws Exception {
    try (var server = start(directory)) {
      var page = Http.get(server, "/user/alice", "Accept", "text/html,*/*");
      assertEquals(200, page.statusCode());
      assertEquals("<h1>home</h1>", page.body());
      assertEquals(404, Http.get(server, "/user/alice", "Accept", "*/*").statusCode());
      assertEquals(404, Http.get(server, "/assets/gone.js", "Accept", "text/html").statusCode());
      assertEquals("no-store", Http.header(Http.get(server, "/assets/gone.js"), "Cache-Control"));
      assertEquals(404, Http.get(server, "/live/nothing", "Accept", "text/html").statusCode());
    }
  }

  @Test
  void servesNothingFromOutsideTheDirectory(@TempDir Path directory) throws Exception {
    try (var server = start(directory)) {
      for (var path :
          List.of(
              "/../secret.txt",
              "/assets/../../secret.txt",
              "/%2e%2e/secret.txt",
              "/..%2fsecret.txt",
              "/..%5csecret.txt",
              "//etc/passwd",
              "/assets/..;/../secret.txt",
              "/link.txt",
              "/assets")) {
        try (var raw = new RawClient(server)) {
          raw.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
          int status = raw.status();
          assertTrue(status >= 300, path + " gave " + status);
          assertTrue(!raw.rest().contains("secret\n") && !raw.rest().equals("secret"), path);
        }
      }
    }
  }

  @Test
  void servesNoStartPageThatIsALinkToElsewhere(@TempDir Path directory) throws Exception {
    try (var server = start(directory)) {
      var site = directory.resolve("site");
      Files.createDirectories(site.resolve("sub"));
      Files.delete(site.resolve("index.html"));
      for (var page : List.of("index.html", "sub/index.html")) {
        Files.createSymbolicLink(site.resolve(page), directory.resolve("secret.txt"));
      }
      for (var path : List.of("/", "/sub/", "/docs/", "/docs/sub/", "/user/alice")) {
        assertEquals(404, Http.get(server, path, "Accept", "text/html").statusCode(), path);
      }
    }
  }

  /** None makes a failure of the server, which is logged: strangers could fill a disk. */
  @Test
  void whatNoFileCanBeCalledIsNotFoundOrRefused(@TempDir Path directory) throws Exception {
    try (var server = start(directory)) {
      for (var path :
          List.of(
              "/%00",
              "/a%00b",
              "/%0a",
              "/%ff",
              "/%f0%9f%92%a9",
              "/%7c",
              "/a;x=y",
              "/%252e",
              "/:",
              "/" + "x".repeat(5_000),
              "/" + "x/".repeat(2_500))) {
        try (var raw = new RawClient(server)) {
          raw.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
          int status = raw.status();
          assertTrue(status >= 400 && status < 500, path + " gave " + status);
        }
      }
    }
  }

  @Test
  void servesNothingThatIsHidden(@TempDir Path directory) throws Exception {
    try (var server = start(directory)) {
      var site = directory.resolve("site");
      for (var file :
          List.of(".env", ".git/config", "assets/.htpasswd", ".well-known/security.txt")) {
        Files.createDirectories(site.resolve(file).getParent());
        Files.writeString(site.resolve(file), "hidden");
      }
      for (var path : List.of("/.env", "/.git/config", "/%2egit/config", "/assets/.htpasswd")) {
        assertEquals(404, Http.get(server, path).statusCode(), path);
      }
      assertEquals("hidden", Http.get(server, "/.well-known/security.txt").body());
    }
  }

  @Test
  void saysSoWhenThereIsNoSuchDirectory(@TempDir Path directory) {
    var builder = WebServer.builder(new HandNode());
    assertThrows(
        IllegalArgumentException.class,
        () -> builder.staticFiles("/", directory.resolve("missing")));
    assertThrows(
        IllegalArgumentException.class,
        () -> builder.staticResources("/", StaticFilesTest.class, "/missing"));
  }
}
