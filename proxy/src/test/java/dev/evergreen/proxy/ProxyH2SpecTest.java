package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.proxy.storage.StorageOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The proxy itself under h2spec, strictly: what it answers from its cache, and what it passes. */
@Timeout(120)
class ProxyH2SpecTest {

  private static final String ARCHIVE = "/h2spec/2.2.0/h2spec_linux_amd64.tar.gz";

  @TempDir private Path folder;

  private static String run(String... command) throws IOException, InterruptedException {
    var process = new ProcessBuilder(command).redirectErrorStream(true).start();
    try (var said = process.inputReader(UTF_8)) {
      var all = said.readAllAsString();
      assertEquals(0, process.waitFor(), all);
      return all;
    } finally {
      process.destroyForcibly();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"max-age=60", "no-store"})
  void conforms(String control) throws Exception {
    var archive = folder.resolve("archive");
    try (var in = getClass().getResourceAsStream(ARCHIVE)) {
      Files.copy(Objects.requireNonNull(in, ARCHIVE), archive);
    }
    run("tar", "xzf", archive.toString(), "-C", folder.toString());
    try (var origin = new ScriptedOrigin().then(200, "conformant", "Cache-Control: " + control);
        var proxy =
            Proxy.start(
                ProxySettings.DEFAULT
                    .withAddresses(
                        List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)))
                    .withOrigins(List.of(origin.origin()))
                    .withProcessors(2)
                    .withStorage(StorageOptions.memory(16 << 20)))) {
      var port = Integer.toString(proxy.addresses().getFirst().getPort());
      var said =
          run(folder.resolve("h2spec").toString(), "-S", "-h", "127.0.0.1", "-p", port, "-o", "10");
      assertTrue(said.contains(" 0 skipped, 0 failed"), said);
      assertTrue(said.contains("146 tests"), said);
    }
  }
}
