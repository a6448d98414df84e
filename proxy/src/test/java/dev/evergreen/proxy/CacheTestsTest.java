package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.evergreen.http.Origin;
import dev.evergreen.proxy.storage.StorageOptions;
import dev.evergreen.settings.FreePorts;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The tests of HTTP caches that others keep (http-cache-tests), against the proxy and their own
 * origin. Runs where {@code npm ci} has been run in {@code proxy/cache-tests}.
 */
@Timeout(180)
final class CacheTestsTest {

  private static final Path FOLDER = Path.of("cache-tests").toAbsolutePath();
  private static final String INVALID_AGE =
      "wants invalid or repeated ages to be stale; RFC 9111 §5.1 says to ignore them, or to take"
          + " the first";
  private static final String WRONG_LENGTH =
      "the origin's part has five bytes, and tells that it has six: PartialContentTest has the same"
          + " with the right length";
  private static final String OWN_ERROR =
      "takes our 504 for an answer from the cache, as it has no count of the origin's";

  /** What fails, and why that is right. */
  private static final Map<String, String> KNOWN =
      Map.ofEntries(
          Map.entry("age-parse-nonnumeric", INVALID_AGE),
          Map.entry("age-parse-negative", INVALID_AGE),
          Map.entry("age-parse-float", INVALID_AGE),
          Map.entry("age-parse-prefix-twoline", INVALID_AGE),
          Map.entry("age-parse-dup-0", INVALID_AGE),
          Map.entry("age-parse-dup-0-twoline", INVALID_AGE),
          Map.entry("age-parse-dup-old", INVALID_AGE),
          Map.entry("age-parse-parameter", INVALID_AGE),
          Map.entry("age-parse-numeric-parameter", INVALID_AGE),
          Map.entry("stale-close-must-revalidate", OWN_ERROR),
          Map.entry("stale-close-proxy-revalidate", OWN_ERROR),
          Map.entry("stale-close-no-cache", OWN_ERROR),
          Map.entry("stale-close-s-maxage=2", OWN_ERROR),
          Map.entry("headers-store-Content-Length", "the origin lies about its length: 502"),
          Map.entry(
              "304-etag-update-response-Content-Length", "the origin lies about its length: 502"),
          Map.entry("headers-store-Transfer-Encoding", "no such coding is understood: 502"),
          Map.entry("partial-store-partial-reuse-partial", WRONG_LENGTH),
          Map.entry("partial-store-partial-reuse-partial-byterange", WRONG_LENGTH),
          Map.entry("partial-store-partial-reuse-partial-absent", WRONG_LENGTH),
          Map.entry("partial-store-partial-reuse-partial-suffix", WRONG_LENGTH),
          Map.entry(
              "partial-store-partial-complete",
              "the part has no tag; so what the origin has by now could not be joined with it"),
          Map.entry(
              "304-etag-update-response-ETag",
              "the 304 is about another response, and the origin has no answer to the second"
                  + " question"));

  private @Nullable Process origin;
  private @Nullable Proxy proxy;

  private Proxy start() throws IOException {
    int port = FreePorts.next();
    var started =
        node("server/server.mjs", Map.of("npm_config_port", "" + port))
            .redirectErrorStream(true)
            .start();
    origin = started;
    var said = String.valueOf(started.inputReader(StandardCharsets.UTF_8).readLine());
    assertTrue(said.startsWith("Listening"), said);
    var made =
        Proxy.start(
            ProxySettings.DEFAULT
                .withAddresses(List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)))
                .withOrigins(List.of(new Origin(false, "127.0.0.1", port)))
                .withStorage(StorageOptions.memory(64 << 20)));
    proxy = made;
    return made;
  }

  private static ProcessBuilder node(String script, Map<String, String> configuration)
      throws IOException {
    var builder =
        new ProcessBuilder("node", "--no-warnings", script)
            .directory(FOLDER.resolve("node_modules/http-cache-tests").toFile());
    var environment = builder.environment();
    environment.put("npm_config_protocol", "http");
    environment.put("npm_config_pidfile", Files.createTempFile("cache-tests", ".pid").toString());
    environment.put("npm_config_id", "");
    environment.put("npm_package_config_id", "");
    environment.putAll(configuration);
    return builder;
  }

  @AfterEach
  void end() {
    if (proxy != null) {
      proxy.close();
    }
    if (origin != null) {
      origin.destroyForcibly();
    }
  }

  /**
   * Prints, of each test that is demanded of a cache, or is about parts, its name and what it
   * found.
   */
  private static final String SUMMARY =
      """
      import tests from './tests/index.mjs'
      import fs from 'fs'
      const results = JSON.parse(fs.readFileSync(0))
      for (const suite of tests) for (const test of suite.tests) {
        const wanted = suite.id === 'partial' ? ['required', 'optimal'] : ['required']
        if (test.browser_only || !wanted.includes(test.kind || 'required')) continue
        const found = results[test.id]
        console.log((found === true ? 'passed ' : 'failed ') + test.id + ' ' + JSON.stringify(found))
      }
      """;

  private static String output(ProcessBuilder builder) throws Exception {
    var process = builder.redirectError(ProcessBuilder.Redirect.DISCARD).start();
    try {
      var said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertEquals(0, process.waitFor(), said);
      return said;
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void whatIsDemandedOfACacheIsDone() throws Exception {
    assumeTrue(Files.exists(FOLDER.resolve("node_modules")), "cache-tests is not installed");
    var address = start().addresses().getFirst();
    var base = "http://127.0.0.1:" + address.getPort();
    var results = Files.createTempFile("cache-tests", ".json");
    Files.writeString(results, output(node("cli.mjs", Map.of("npm_config_base", base))));
    var summary =
        output(
            new ProcessBuilder("node", "--input-type=module", "-e", SUMMARY)
                .directory(FOLDER.resolve("node_modules/http-cache-tests").toFile())
                .redirectInput(results.toFile()));
    Files.delete(results);
    var failed =
        summary
            .lines()
            .filter(line -> line.startsWith("failed "))
            .filter(line -> !KNOWN.containsKey(line.split(" ", -1)[1]))
            .collect(Collectors.toCollection(TreeSet::new));
    assertEquals(new TreeSet<>(), failed);
    assertTrue(summary.lines().filter(line -> line.startsWith("passed ")).count() > 135, summary);
  }
}
