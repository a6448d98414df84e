package dev.evergreen.chirper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Chirper as a program. */
final class ChirperCommandTest {

  @TempDir Path directory;

  @Test
  void generatesImportsServesAndEndsOnSigtermWithEverythingKept() throws Exception {
    var files = directory.resolve("files");
    var made =
        ChirperProcess.run(
            "generate", "--users=50", "--follows=300", "--posts=200", files.toString());
    assertEquals(0, made.exitCode(), made.output());
    var data = directory.resolve("data");
    try (var chirper = ChirperProcess.start(0, data, "--import", files.toString())) {
      assertTrue(get(chirper, "/live/people?prefix=").contains("amber_acorn"));
      assertEquals(0, chirper.end());
    }
    try (var again = ChirperProcess.start(0, data)) {
      assertTrue(get(again, "/live/posts?name=amber_acorn").contains("\"text\""));
    }
  }

  @Test
  void aDataDirectoryIsForOneProcessAtATime() throws Exception {
    var data = directory.resolve("data");
    try (var _ = ChirperProcess.start(0, data)) {
      var second = ChirperProcess.run("--port=0", "--data=" + data);
      assertEquals(1, second.exitCode());
      assertTrue(second.output().contains("is in use by another Chirper"), second.output());
    }
  }

  @Test
  void whatTheNodeDoesIsShownAtAPortOfItsOwnAndNotAtThePages() throws Exception {
    try (var chirper = ChirperProcess.start(0, directory.resolve("data"), "--operations", "0")) {
      var dashboard = chirper.await(Chirper.OPERATIONS).substring(Chirper.OPERATIONS.length());
      assertTrue(get(dashboard).contains("<title>Evergreen dashboard</title>"));
      var metrics = get(dashboard.replace("dashboard", "metrics"));
      assertTrue(metrics.contains("evergreen_grains"), metrics);
      assertTrue(metrics.contains("evergreen_web_connections"), metrics);
      for (var path : List.of("/metrics", "/dashboard", "/live/evergreen.dashboard")) {
        assertTrue(get(chirper, path).contains("\"status\":404"), path);
      }
      assertEquals("ok", get(chirper, "/health/ready").strip());
    }
  }

  @Test
  void aPortThatIsTakenIsNamed() throws Exception {
    try (var first = ChirperProcess.start(0, directory.resolve("first"))) {
      var second =
          ChirperProcess.run("--port=" + first.port(), "--data=" + directory.resolve("second"));
      assertEquals(1, second.exitCode());
      assertTrue(second.output().contains("" + first.port()), second.output());
      assertTrue(second.output().contains("Then take another port. --port "), second.output());
      assertEquals(1, second.output().lines().count(), second.output());
    }
  }

  @Test
  void whatIsWrongWithACommandLineOrAFileIsSaidInOneLine() throws Exception {
    var unknown = ChirperProcess.run("--prot=1");
    assertEquals(2, unknown.exitCode());
    assertTrue(unknown.output().contains("--prot=1"), unknown.output());

    Files.createDirectories(directory.resolve("empty"));
    var missing =
        ChirperProcess.run(
            "--port=0",
            "--data=" + directory.resolve("data"),
            "--import=" + directory.resolve("empty"));
    assertEquals(1, missing.exitCode());
    assertTrue(missing.output().contains("follows.tsv"), missing.output());
    assertEquals(1, missing.output().lines().count(), missing.output());

    var nowhere = directory.resolve("nowhere");
    var noFolder =
        ChirperProcess.run(
            "--port=0", "--data=" + directory.resolve("data"), "--import=" + nowhere);
    assertEquals(1, noFolder.exitCode());
    assertEquals(
        "--import: there is no folder %s; it should hold follows.tsv and posts.tsv."
            .formatted(nowhere),
        noFolder.output().strip());

    var port = ChirperProcess.run("--port=65536", "--data=" + directory.resolve("data"));
    assertEquals(1, port.exitCode());
    assertEquals("--port 65536 is not between 0 and 65535.", port.output().strip());

    var file = Files.createFile(directory.resolve("file"));
    var taken = ChirperProcess.run("--port=0", "--data=" + file);
    assertEquals(1, taken.exitCode());
    assertTrue(taken.output().contains(file + " is no directory"), taken.output());
    assertTrue(taken.output().contains("--data"), taken.output());
    assertEquals(1, taken.output().lines().count(), taken.output());

    var impossible = ChirperProcess.run("generate", "--users=2", "--follows=3", "x");
    assertEquals(1, impossible.exitCode());
    assertTrue(impossible.output().contains("0 to 2 follows"), impossible.output());
  }

  @Test
  void theHelpOfGenerateSaysWhatEachOptionIsAndItsDefault() throws Exception {
    var help = ChirperProcess.run("generate", "--help");
    assertEquals(0, help.exitCode(), help.output());
    for (var text :
        List.of(
            "How many people. Default: 1000.",
            "How many follows, all different. Default: 20000.",
            "How many posts. Default: 10000.",
            "Decides what is left to chance. Default: 1.")) {
      assertTrue(help.output().contains(text), help.output());
    }
  }

  private static String get(ChirperProcess chirper, String path)
      throws IOException, InterruptedException {
    return get(chirper.address() + path);
  }

  private static String get(String address) throws IOException, InterruptedException {
    try (var http = HttpClient.newHttpClient()) {
      var request = HttpRequest.newBuilder(URI.create(address)).build();
      return http.send(request, BodyHandlers.ofString()).body();
    }
  }
}
