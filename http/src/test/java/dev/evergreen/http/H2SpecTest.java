package dev.evergreen.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The server's HTTP/2 under h2spec, the conformance suite that others use, in its strict mode: a
 * program that comes in the jar of a Maven plugin.
 */
final class H2SpecTest {

  private static final String ARCHIVE = "/h2spec/2.2.0/h2spec_linux_amd64.tar.gz";

  @TempDir private Path folder;

  private Path h2spec() throws Exception {
    var archive = folder.resolve("h2spec.tar.gz");
    try (var in = H2SpecTest.class.getResourceAsStream(ARCHIVE)) {
      Files.copy(Objects.requireNonNull(in, ARCHIVE), archive);
    }
    run(List.of("tar", "xzf", archive.toString(), "-C", folder.toString()));
    return folder.resolve("h2spec");
  }

  private static String run(List<String> command) throws IOException, InterruptedException {
    var process = new ProcessBuilder(command).redirectErrorStream(true).start();
    try {
      var said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertTrue(process.waitFor(10, TimeUnit.SECONDS), said);
      assertEquals(0, process.exitValue(), said);
      return said;
    } finally {
      process.destroyForcibly();
    }
  }

  /** Reads all of the body, and answers something. */
  private static void answer(Exchange exchange) throws IOException {
    var buffer = ByteBuffer.allocate(8192);
    while (exchange.body().read(buffer) >= 0) {
      buffer.clear();
    }
    exchange.respond(
        ResponseHead.of(200, Fields.of("Content-Type", "text/plain")),
        ByteBuffer.wrap("conformant".getBytes(StandardCharsets.US_ASCII)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"generic", "http2", "hpack"})
  void conforms(String section) throws Exception {
    var program = h2spec().toString();
    try (var server = TestServer.start(H2SpecTest::answer)) {
      var said =
          run(
              List.of(
                  program, "-S", "-h", "127.0.0.1", "-p", "" + server.port(), "-o", "10", section));
      assertTrue(said.contains(" 0 failed"), said);
      assertTrue(said.contains(" 0 skipped"), said);
    }
  }

  @Test
  void itNoticesWhatDoesNotConform() throws Exception {
    var program = h2spec().toString();
    // A server that ends each connection at once.
    try (var server = TestServer.start(exchange -> exchange.connection().close())) {
      var process =
          new ProcessBuilder(program, "-h", "127.0.0.1", "-p", "" + server.port(), "generic/3")
              .redirectErrorStream(true)
              .start();
      process.getInputStream().readAllBytes();
      assertTrue(process.waitFor() != 0);
    }
  }
}
