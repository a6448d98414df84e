package dev.evergreen.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The command in a JVM of its own, asked by curl. */
@Timeout(120)
class ProxyCommandTest {
  @TempDir private Path folder;
  private final HttpServer origin;
  private final CountDownLatch go = new CountDownLatch(1);
  private final CountDownLatch asked = new CountDownLatch(1);

  ProxyCommandTest() throws IOException {
    origin = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
  }

  @BeforeEach
  void serve() {
    origin.createContext("/", exchange -> answer(exchange, "hello\n"));
    origin.createContext(
        "/slow",
        exchange -> {
          asked.countDown();
          try {
            go.await();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
          answer(exchange, "slow\n");
        });
    origin.setExecutor(Thread.ofVirtual()::start);
    origin.start();
  }

  private static void answer(com.sun.net.httpserver.HttpExchange exchange, String text)
      throws IOException {
    try (exchange) {
      exchange.getResponseHeaders().add("Cache-Control", "max-age=60");
      exchange.sendResponseHeaders(200, text.length());
      exchange.getResponseBody().write(text.getBytes(StandardCharsets.UTF_8));
    }
  }

  @AfterEach
  void stop() {
    origin.stop(0);
  }

  private String url() {
    return "http://127.0.0.1:" + origin.getAddress().getPort();
  }

  private static Process start(String... arguments) throws IOException {
    return start(Map.of(), arguments);
  }

  private static Process start(Map<String, String> environment, String... arguments)
      throws IOException {
    var all = new ArrayList<>(List.of("proxy"));
    all.addAll(List.of(arguments));
    return OwnProcess.start(environment, all);
  }

  private static String after(String announcement, String line) {
    assertTrue(line != null && line.startsWith(announcement), line);
    return line.substring(announcement.length());
  }

  private static String curl(String... arguments) throws Exception {
    var process = startCurl(arguments);
    var text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), text);
    return text;
  }

  private static Process startCurl(String... arguments) throws IOException {
    var command = new ArrayList<>(List.of("curl", "-sS", "--max-time", "60"));
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command).redirectErrorStream(true).start();
  }

  private static void signal(String name, Process process) throws Exception {
    assertEquals(0, new ProcessBuilder("kill", "-" + name, "" + process.pid()).start().waitFor());
  }

  private static String run(String... arguments) {
    var output = new StringWriter();
    var line = Main.commandLine();
    line.setOut(new PrintWriter(output)).setErr(new PrintWriter(output));
    line.execute(arguments);
    return output.toString();
  }

  @Test
  void anOriginAloneIsEnough() throws Exception {
    var process = start("--listen", "127.0.0.1:0", "--origin", url());
    try (var output = process.inputReader()) {
      var proxy = "http://" + after("Proxy is at ", output.readLine());
      assertEquals("hello\n", curl(proxy + "/a"));
      assertTrue(curl("-i", proxy + "/a").contains("Cache-Status: evergreen; hit; ttl="));
      assertTrue(curl("-i", "--http2-prior-knowledge", proxy + "/a").startsWith("HTTP/2 200"));
      assertEquals("purged\n", curl("-X", "PURGE", proxy + "/a"));
      assertTrue(curl("-i", proxy + "/a").contains("fwd=uri-miss"));
      var slow = startCurl(proxy + "/slow");
      asked.await();
      signal("TERM", process);
      go.countDown();
      assertEquals(
          "slow\n", new String(slow.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
      assertEquals(0, process.waitFor());
      assertEquals(List.of(), output.lines().toList());
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void aFileHasTheSameWordsAndIsReadAgain() throws Exception {
    var file = folder.resolve("proxy.conf");
    Files.writeString(
        file, "# A proxy.\norigin = " + url() + "\nadmin = 127.0.0.1:0\nname = one\n");
    var process = start("--listen=127.0.0.1:0", "--config", file.toString());
    try (var output = process.inputReader()) {
      var proxy = "http://" + after("Proxy is at ", output.readLine());
      var admin = after("operators at http://", output.readLine());
      assertTrue(curl("-i", proxy + "/a").contains("Cache-Status: one; "));
      Files.writeString(file, "origin = " + url() + "\nname = two\n");
      signal("HUP", process);
      assertEquals("proxy: reloaded", output.readLine());
      assertTrue(curl("-i", proxy + "/a").contains("Cache-Status: two; hit"));
      Files.writeString(file, "orgin = " + url());
      signal("HUP", process);
      after("proxy: goes on as it was: orgin in " + file, output.readLine());
      assertTrue(run("proxy", "log", "--admin", admin).contains("\"target\":\"/a\""));
      assertTrue(run("proxy", "stat", "--admin", admin).contains(" hits_total"));
      assertEquals("purged\n", run("proxy", "purge", "--admin", admin, "--prefix", proxy + "/"));
      assertTrue(curl("-i", proxy + "/a").contains("fwd=uri-miss"));
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void theEnvironmentCountsMoreThanTheFileAlsoWhenThatIsReadAgain() throws Exception {
    var file = Files.writeString(folder.resolve("proxy.conf"), "name = file\norigin = none\n");
    var environment = Map.of("EVERGREEN_PROXY_NAME", "variable", "EVERGREEN_PROXY_ORIGIN", url());
    var process = start(environment, "--listen=127.0.0.1:0", "--config", file.toString());
    try (var output = process.inputReader()) {
      var proxy = "http://" + after("Proxy is at ", output.readLine());
      assertTrue(curl("-i", proxy + "/a").contains("Cache-Status: variable; "));
      signal("HUP", process);
      assertEquals("proxy: reloaded", output.readLine());
      assertTrue(curl("-i", proxy + "/a").contains("Cache-Status: variable; hit"));
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void certificatesAreReadAgain() throws Exception {
    makeCertificate();
    var process =
        start(
            "--listen=127.0.0.1:0",
            "--origin=" + url(),
            "--tls-cert=" + folder.resolve("cache.pem"),
            "--tls-key=" + folder.resolve("cache.key"));
    try (var output = process.inputReader()) {
      var proxy = "https://" + after("Proxy is at ", output.readLine());
      assertTrue(
          curl("-i", "--cacert", authority(), proxy + "/a").startsWith("HTTP/2 200"),
          "ALPN chooses HTTP/2");
      assertTrue(curl("-i", "--http1.1", "--cacert", authority(), proxy + "/a").contains("; hit"));
      assertTrue(
          curl("-i", "--http1.0", "--cacert", authority(), proxy + "/a").contains("; hit"),
          "that offers http/1.0 alone");
      makeCertificate();
      signal("HUP", process);
      assertEquals("proxy: reloaded", output.readLine());
      assertEquals("hello\n", curl("--cacert", authority(), proxy + "/a"));
    } finally {
      process.destroyForcibly();
    }
  }

  private String authority() {
    return folder.resolve("authority.pem").toString();
  }

  /** By an authority that is new each time. */
  private void makeCertificate() throws Exception {
    try (var files = Files.list(folder)) {
      for (var file : files.toList()) {
        Files.delete(file);
      }
    }
    var script = Path.of("..", "scripts", "certificates").toString();
    assertEquals(
        0, new ProcessBuilder(script, folder.toString(), "cache").inheritIO().start().waitFor());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "--origin ftp://a",
        "--origin http://a/path",
        "--origin http://a --listen 8080",
        "--origin http://a --listen 127.0.0.1:99999",
        "--origin http://a --memory lots",
        "--origin http://a --memory 900TiB",
        "--origin http://a --disk 1GiB",
        "--origin http://a --tls-cert x",
        "--origin http://a --proxy-protocol",
        "--origin http://a --trust example.com",
        "--origin http://a --admin 192.0.2.1:1",
        "--origin http://a --log-format xml --access-log -",
        "--origin http://a --host mine",
        "--origin http://a --forward",
        "--config /does/not/exist"
      })
  void whatMakesNoSenseIsRefused(String arguments) {
    var line = Main.commandLine();
    var errors = new StringWriter();
    line.setErr(new PrintWriter(errors));
    var all = new ArrayList<>(List.of("proxy"));
    all.addAll(arguments.isEmpty() ? List.of() : List.of(arguments.split(" ", -1)));
    assertNotEquals(0, line.execute(all.toArray(String[]::new)));
    assertNotEquals("", errors.toString());
  }
}
