package dev.evergreen.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients that others wrote. */
@Timeout(120)
class RealClientsTest {

  private static String run(String... command) throws Exception {
    boolean there =
        Arrays.stream(System.getenv("PATH").split(":", -1))
            .anyMatch(it -> Files.isExecutable(Path.of(it, command[0])));
    assumeTrue(there, command[0] + " is not installed");
    var process = new ProcessBuilder(command).redirectErrorStream(true).start();
    var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), output);
    return output;
  }

  private static String url(TestServer server, String path) {
    return "http://127.0.0.1:" + server.port() + path;
  }

  @ParameterizedTest
  @ValueSource(strings = {"--http1.1", "--http1.0", "--http2-prior-knowledge"})
  void curlGetsAnswers(String version) throws Exception {
    try (var server = TestServer.start(Talk::echo)) {
      assertTrue(run("curl", "-sS", version, url(server, "/a?b")).startsWith("GET /a?b 127"));
      assertTrue(run("curl", "-sSI", version, url(server, "/a?b")).contains(" 200"));
      var large = "x".repeat(300_000);
      var file = Files.writeString(Files.createTempFile("http", "body"), large);
      var posted = run("curl", "-sS", version, "-d", "@" + file, url(server, "/"));
      assertTrue(posted.contains("|" + large + "|"));
      var waits =
          run("curl", "-sS", version, "-H", "Expect: 100-continue", "-d", "abc", url(server, "/"));
      assertTrue(waits.contains("|abc|"));
      if (!version.equals("--http1.0")) {
        var chunked =
            run(
                "curl",
                "-sS",
                version,
                "-T",
                file.toString(),
                "-H",
                "Transfer-Encoding: chunked",
                url(server, "/"));
        assertTrue(chunked.contains("|" + large + "|"));
      }
      Files.delete(file);
    }
  }

  private static void answers(Exchange exchange) throws IOException {
    exchange.respond(ResponseHead.of(200), ByteBuffer.allocateDirect(10_000));
  }

  @Test
  void wrkSeesNoErrors() throws Exception {
    try (var server = TestServer.start(RealClientsTest::answers)) {
      var output = run("wrk", "-t1", "-c16", "-d1s", url(server, "/"));
      assertTrue(output.contains("Requests/sec"), output);
      assertTrue(!output.contains("Socket errors") && !output.contains("Non-2xx"), output);
    }
  }

  @Test
  void h2loadSeesNoErrors() throws Exception {
    try (var server = TestServer.start(RealClientsTest::answers)) {
      for (var version : new String[] {"h2c", "http/1.1"}) {
        var output = run("h2load", "-t1", "-c8", "-m16", "-n4000", "-p", version, url(server, "/"));
        assertTrue(output.contains(" 4000 succeeded, 0 failed"), output);
      }
    }
  }

  @Test
  void theJdksClientIsServed() throws Exception {
    try (var server = TestServer.start(Talk::echo);
        var client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()) {
      var requests = new ArrayList<HttpRequest>();
      var body = "x".repeat(100_000);
      var builder = HttpRequest.newBuilder(URI.create(url(server, "/a")));
      requests.add(builder.POST(BodyPublishers.ofString(body)).build());
      requests.add(builder.POST(BodyPublishers.ofByteArrays(List.of(Talk.bytes(body)))).build());
      requests.add(builder.expectContinue(true).POST(BodyPublishers.ofString(body)).build());
      for (var request : requests) {
        var response = client.send(request, BodyHandlers.ofString());
        assertEquals(200, response.statusCode());
        assertTrue(response.body().contains("|" + body + "|"));
      }
      // It asks to leave HTTP/1.1 for HTTP/2, which is not granted.
      try (var modern = HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).build()) {
        var response = modern.send(builder.GET().build(), BodyHandlers.ofString());
        assertTrue(response.body().startsWith("GET /a "));
      }
    }
  }
}
