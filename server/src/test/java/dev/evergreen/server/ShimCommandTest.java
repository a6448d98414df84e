package dev.evergreen.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.StoreKind;
import dev.evergreen.settings.FreePorts;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The Redis shim as a process of its own, before a real Redis, and the questions to its trace. */
@Timeout(60)
final class ShimCommandTest {

  private static final StoreKind REDIS = StoreKind.named("redis").orElseThrow();
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir private Path folder;
  private RedisProcess redis;
  private Process shim;
  private BufferedReader said;
  private int port;

  @BeforeEach
  void start() throws Exception {
    redis = RedisProcess.start(folder);
    startShim(redis.address());
  }

  private void startShim(String upstream, String... options) throws IOException {
    var arguments =
        new ArrayList<>(
            List.of(
                "shim",
                "redis",
                "--listen",
                "127.0.0.1:0",
                "--upstream",
                upstream,
                "--trace",
                trace()));
    arguments.addAll(List.of(options));
    shim = OwnProcess.start(arguments);
    said = shim.inputReader();
    port = Integer.parseInt(told("Redis is recorded at 127.0.0.1:"));
  }

  /** What it says after this; what it logs comes between. */
  private String told(String begin) throws IOException {
    var line = String.valueOf(said.readLine());
    while (!line.startsWith(begin)) {
      assertTrue(shim.isAlive() || said.ready(), line);
      line = String.valueOf(said.readLine());
    }
    return line.substring(begin.length());
  }

  private String trace() {
    return folder.resolve("trace").toString();
  }

  @AfterEach
  void end() {
    shim.destroyForcibly();
    redis.close();
  }

  /** What redis-cli would show, in the form of a trace. */
  private Object ask(String command) throws IOException {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      var words = Stream.of(command.split(" ", -1)).map(Bytes::of).toList();
      socket.getOutputStream().write(REDIS.recorded(words).toArray());
      socket.getOutputStream().write("QUIT\r\n".getBytes(StandardCharsets.US_ASCII));
      var all = new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
      assertTrue(all.endsWith("+OK\r\n"), all);
      var value = REDIS.value(Bytes.of(all.substring(0, all.length() - "+OK\r\n".length())));
      return value == null ? "nothing" : value;
    }
  }

  private String why(String... words) {
    var out = new StringWriter();
    var errors = new StringWriter();
    var all =
        Stream.concat(Stream.of("why", "redis", "--json", "--trace", trace()), Stream.of(words));
    int code =
        Main.commandLine()
            .setOut(new PrintWriter(out))
            .setErr(new PrintWriter(errors))
            .execute(all.toArray(String[]::new));
    assertEquals(0, code, errors::toString);
    return out.toString();
  }

  private void assertAnswered(String question) {
    try {
      var told = JSON.readTree(why(question.split(" ", -1)));
      assertEquals("certain", told.path("certainty").asText(), question);
      var expected = JSON.valueToTree(ask(question));
      assertEquals(
          told.path("reply").isNull() ? "\"nothing\"" : told.path("reply").toString(),
          expected.toString(),
          question);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void aSpinIsAMillisecondAtMost() {
    for (var spin : List.of("1001us", "2ms")) {
      var errors = new StringWriter();
      int code =
          Main.commandLine()
              .setErr(new PrintWriter(errors))
              .execute("shim", "redis", "--no-record", "--spin", spin);
      assertEquals(2, code, spin);
      assertTrue(errors.toString().contains("--spin must be at most 1ms"), errors::toString);
    }
  }

  @Test
  void readsAreAnsweredAsRedisAnswersThem() throws IOException {
    var writes =
        List.of(
            "SET a 1",
            "APPEND a 2",
            "SET b 5",
            "RENAME b c",
            "HSET h f 1 g 2",
            "HDEL h g",
            "RPUSH l x y z",
            "LPOP l",
            "SADD s m n",
            "SREM s n",
            "ZADD z 1 p 2.5 q",
            "SETBIT bits 7 1",
            "PFADD hll u v",
            "XADD stream 1-1 k v",
            "SET deleted 1",
            "DEL deleted");
    for (var write : writes) {
      ask(write);
    }
    Stream.of(
            "GET a",
            "GET b",
            "GET c",
            "STRLEN a",
            "GETRANGE a 0 0",
            "MGET a b c",
            "HGETALL h",
            "HGET h g",
            "HKEYS h",
            "HLEN h",
            "LRANGE l 0 -1",
            "LINDEX l 0",
            "LLEN l",
            "SMEMBERS s",
            "SISMEMBER s n",
            "SCARD s",
            "ZRANGE z 0 -1",
            "ZRANGE z 0 -1 WITHSCORES",
            "ZSCORE z q",
            "ZRANK z q",
            "GETBIT bits 7",
            "BITCOUNT bits",
            "XLEN stream",
            "XRANGE stream - +",
            "EXISTS a b",
            "TYPE h",
            "TTL a",
            "GET deleted",
            "GET never")
        .forEach(this::assertAnswered);
  }

  @Test
  void theTraceOfAShimThatWasKilledAnswersAndGoesOn() throws Exception {
    ask("SET cart 1");
    ask("SET cart 2");
    var before = why("GET", "cart");
    assertTrue(before.contains("[\"SET\",\"cart\",\"2\"]"), before);
    shim.destroyForcibly().waitFor();
    assertEquals(before, why("GET", "cart"));
    startShim(redis.address());
    // What others wrote meanwhile nobody knows.
    var after = why("GET", "cart");
    assertTrue(after.contains("\"certainty\":\"before-recording\""), after);
    ask("SET cart 3");
    assertTrue(why("GET", "cart").contains("\"certainty\":\"certain\""));
  }

  /** Here as it is none; one that is full, or has gone, does the same. */
  @Test
  void aDatabaseThatTakesNothingShowsInTheMetrics() throws Exception {
    shim.destroyForcibly().waitFor();
    Files.deleteIfExists(folder.resolve("trace/trace.db-wal"));
    Files.deleteIfExists(folder.resolve("trace/trace.db-shm"));
    Files.writeString(folder.resolve("trace/trace.db"), "no database".repeat(1_000));
    startShim(redis.address(), "--metrics", "0");
    var url = URI.create(told("metrics at ")).toURL();
    var metrics = "";
    while (!metrics.contains("evergreen_trace_loading_failing 1.0")) {
      try (var text = url.openStream()) {
        metrics = new String(text.readAllBytes(), StandardCharsets.UTF_8);
      }
    }
    for (var name :
        List.of(
            "evergreen_trace_loading_failures_total",
            "evergreen_trace_behind",
            "evergreen_trace_spool_files",
            "evergreen_trace_spool_waits_total",
            "evergreen_trace_spool_dropped_total",
            "evergreen_fibers_ready{processor=\"0\"}")) {
      assertTrue(metrics.contains("\n" + name + " "), metrics);
    }
  }

  @Test
  void nobodyElseMayReadTheTrace() throws IOException {
    ask("SET a 1");
    try (var files = Files.walk(folder.resolve("trace"))) {
      var open = new ArrayList<Path>();
      for (var file : files.toList()) {
        var allowed = Files.getPosixFilePermissions(file).toString();
        if (allowed.contains("GROUP") || allowed.contains("OTHERS")) {
          open.add(file);
        }
      }
      assertEquals(List.of(), open);
    }
    assertFalse(why("GET", "a").isEmpty());
  }

  @Test
  void whatCannotBeIsRefused() {
    for (var options :
        List.of(
            "--listen nowhere",
            "--durability maybe",
            "--metrics 70000",
            "--tls-client-key x",
            "--tls-client-cert x --tls-client-key x",
            "--bogus")) {
      var _ = refused(options);
    }
    var unreachable = refused("--upstream 127.0.0.1:1");
    assertTrue(unreachable.contains("Redis cannot be reached at 127.0.0.1:1"), unreachable);
  }

  /** What a shim says that does not start. */
  private String refused(String options) {
    var errors = new StringWriter();
    var words = Stream.concat(Stream.of("shim", "redis"), Stream.of(options.split(" ", -1)));
    int code =
        Main.commandLine()
            .setErr(new PrintWriter(errors))
            .execute(
                Stream.concat(words, Stream.of("--trace", folder.resolve("other").toString()))
                    .toArray(String[]::new));
    assertTrue(code != 0, options);
    return errors.toString();
  }

  /** As one with TLS does by default. */
  @Test
  void aRedisThatAsksForACertificateIsShownOne() throws Exception {
    var script = Path.of("..", "scripts", "certificates").toString();
    var files = Files.createDirectory(folder.resolve("certificates")).toString();
    assertEquals(0, new ProcessBuilder(script, files, "node").inheritIO().start().waitFor());
    var authority = files + "/authority.pem";
    var certificate = files + "/node.pem";
    var key = files + "/node.key";
    var tlsPort = "" + FreePorts.next();
    try (var _ =
        RedisProcess.start(
            Files.createDirectory(folder.resolve("strict")),
            "--tls-port",
            tlsPort,
            "--tls-cert-file",
            certificate,
            "--tls-key-file",
            key,
            "--tls-ca-cert-file",
            authority)) {
      var upstream = "tls:127.0.0.1:" + tlsPort;
      var refused = refused("--upstream " + upstream + " --tls-ca " + authority);
      assertTrue(refused.contains("give --tls-client-cert and --tls-client-key"), refused);
      shim.destroyForcibly().waitFor();
      startShim(
          upstream,
          "--tls-ca",
          authority,
          "--tls-client-cert",
          certificate,
          "--tls-client-key",
          key);
      assertEquals("OK", ask("SET a 1"));
      assertEquals("1", ask("GET a"));
    }
  }

  /** The flags of a command that only asks, as ./evergreen has them, but with little memory. */
  private static List<String> little(String heap) {
    return List.of("@../scripts/java.options", "@../scripts/asking.options", heap);
  }

  /** It cannot be read, or not be answered. */
  @Test
  void aQuestionThatTakesTooMuchMemoryFailsAndSaysSo() throws Exception {
    ask("SET small 1");
    ask("SET long " + "v".repeat(15 << 20));
    assertFalse(why("GET", "small").isEmpty());
    var asks =
        OwnProcess.start(
            Map.of(),
            little("-Xmx40m"),
            List.of("why", "redis", "--trace", trace(), "GET", "long"));
    try (var said = asks.inputReader()) {
      var last = said.lines().toList().getLast();
      assertTrue(last.matches("why: .*(more memory than there is|Out of memory)"), last);
    }
    assertEquals(1, asks.waitFor());
  }

  @Test
  void thePageGoesOnAfterAQuestionThatTakesTooMuchMemory() throws Exception {
    ask("SET small 1");
    ask("SET long " + "v".repeat(15 << 20));
    assertFalse(why("GET", "small").isEmpty());
    var page =
        OwnProcess.start(
            Map.of(),
            little("-Xmx20m"),
            List.of("trace", "page", "--trace", trace(), "--listen", "127.0.0.1:0"));
    try (var said = page.inputReader();
        var http = HttpClient.newHttpClient()) {
      var line = said.readLine();
      while (!line.startsWith("The trace is shown at ")) {
        line = String.valueOf(said.readLine());
      }
      var url = line.substring("The trace is shown at ".length()).split("#", 2);
      for (int i = 0; i < 3; i++) {
        assertEquals(503, status(http, url, "GET+long"));
        assertEquals(200, status(http, url, "GET+small"));
      }
    } finally {
      page.destroyForcibly();
    }
  }

  private static int status(HttpClient http, String[] url, String request) throws Exception {
    var asked =
        HttpRequest.newBuilder(URI.create(url[0] + "api/why?space=0&request=" + request))
            .header("Authorization", "Bearer " + url[1])
            .build();
    return http.send(asked, HttpResponse.BodyHandlers.ofString()).statusCode();
  }
}
