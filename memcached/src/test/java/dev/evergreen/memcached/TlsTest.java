package dev.evergreen.memcached;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Fibers.Mode;
import dev.evergreen.tls.PemFiles;
import dev.evergreen.tls.ServerTls;
import dev.evergreen.tls.ServerTls.Clients;
import dev.evergreen.tls.ServerTls.Version;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** TLS to clients of the JDK and of OpenSSL. */
@Timeout(120)
class TlsTest {
  @TempDir private static Path files;

  private static void certificates(String... names) throws Exception {
    var command = new ArrayList<>(List.of(Path.of("..", "scripts", "certificates").toString()));
    command.add(files.toString());
    command.addAll(List.of(names));
    var process = new ProcessBuilder(command).inheritIO().start();
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    assertEquals(0, process.exitValue());
  }

  @BeforeAll
  static void makeCertificates() throws Exception {
    certificates("server", "client");
  }

  private static PemFiles pem(String name) {
    return new PemFiles(
        files.resolve(name + ".key"), files.resolve(name + ".pem"), files.resolve("authority.pem"));
  }

  private static MemcachedSettings settings(Mode mode, Clients clients, Version least) {
    return TestServer.settings(mode)
        .withTls(ServerTls.Settings.of(pem("server")).withClients(clients).withLeast(least));
  }

  private static MemcachedSettings settings(Mode mode) {
    return settings(mode, Clients.ANONYMOUS, Version.TLS_1_2);
  }

  private static Client connect(TestServer server, SSLContext context, String version)
      throws IOException {
    var socket =
        (SSLSocket)
            context
                .getSocketFactory()
                .createSocket(InetAddress.getLoopbackAddress(), server.port());
    socket.setEnabledProtocols(new String[] {version});
    return new Client(socket);
  }

  private static Client connect(TestServer server) throws Exception {
    return connect(server, pem("client").load(), "TLSv1.3");
  }

  private static void await(BooleanSupplier condition) throws InterruptedException {
    while (!condition.getAsBoolean()) {
      Thread.sleep(1);
    }
  }

  /** What OpenSSL's client prints when it is given this to send. */
  private static String openssl(TestServer server, String input, String... options)
      throws Exception {
    var command = new ArrayList<>(List.of("openssl", "s_client", "-CAfile"));
    command.add(files.resolve("authority.pem").toString());
    command.addAll(List.of("-verify_return_error", "-connect", "127.0.0.1:" + server.port()));
    command.addAll(List.of(options));
    var process = new ProcessBuilder(command).redirectErrorStream(true).start();
    try {
      tell(process, input);
      var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      process.waitFor();
      return output;
    } finally {
      process.destroyForcibly();
    }
  }

  /** Says something to a client that may have ended already, as one does that was refused. */
  private static void tell(Process client, String words) {
    try {
      var to = client.getOutputStream();
      to.write(words.getBytes(StandardCharsets.US_ASCII));
      to.flush();
    } catch (IOException e) {
      // What it has printed tells the rest.
    }
  }

  /** Has OpenSSL's client obey a command, and then ask something; answers all it prints. */
  private static String commanded(
      TestServer server, String command, String obeyed, String... options) throws Exception {
    var arguments = new ArrayList<>(List.of("openssl", "s_client", "-connect"));
    arguments.add("127.0.0.1:" + server.port());
    arguments.addAll(List.of(options));
    var process = new ProcessBuilder(arguments).redirectErrorStream(true).start();
    try (var from = process.inputReader()) {
      tell(process, command + "\n");
      var printed = new StringBuilder();
      for (var line = from.readLine(); line != null; line = from.readLine()) {
        printed.append('\n').append(line);
        if (line.contains(obeyed)) {
          tell(process, "get k\r\n");
        }
        if (line.equals("END")) {
          break;
        }
      }
      return printed.toString();
    } finally {
      process.destroyForcibly();
    }
  }

  @ParameterizedTest
  @EnumSource
  void smallAndLargeValuesAndPipelinesPass(Mode mode) throws Exception {
    try (var server = TestServer.start(settings(mode))) {
      for (var version : List.of("TLSv1.2", "TLSv1.3")) {
        try (var client = connect(server, pem("client").load(), version)) {
          assertEquals("STORED\r\n", client.exchange("set k 0 0 5\r\nvalue\r\n"));
          assertEquals("VALUE k 0 5\r\nvalue\r\nEND\r\n", client.exchange("get k\r\n"));
          var large = "v".repeat(900_000);
          assertEquals("STORED\r\n", client.exchange("set big 0 0 900000\r\n" + large + "\r\n"));
          assertEquals(
              "VALUE big 0 900000\r\n" + large + "\r\nEND\r\n", client.exchange("get big\r\n"));
          assertEquals("HD\r\n".repeat(5000), client.exchange("mg k\r\n".repeat(5000)));
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void opensslsClientIsServed(Mode mode) throws Exception {
    try (var server = TestServer.start(settings(mode))) {
      for (var version : List.of("-tls1_2", "-tls1_3")) {
        var reply = openssl(server, "set k 0 0 1\r\nx\r\nget k\r\nquit\r\n", "-quiet", version);
        assertTrue(reply.endsWith("STORED\r\nVALUE k 0 1\r\nx\r\nEND\r\n"), reply);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void newKeysAreAgreedOnAndRenegotiationIsRefused(Mode mode) throws Exception {
    try (var server = TestServer.start(settings(mode))) {
      // A line K has OpenSSL's client ask for new keys, a line R for a new handshake.
      assertTrue(commanded(server, "K", "KEYUPDATE", "-tls1_3").endsWith("\nEND"));
      assertFalse(commanded(server, "R", "RENEGOTIATING", "-tls1_2").endsWith("\nEND"));
      await(() -> server.server().limit.served() == 0);
    }
  }

  @ParameterizedTest
  @EnumSource
  void manyConnectionsAreServed(Mode mode) throws Exception {
    var context = pem("client").load();
    try (var server = TestServer.start(settings(mode))) {
      var clients = new ArrayList<Client>();
      for (int i = 0; i < 100; i++) {
        clients.add(connect(server, context, "TLSv1.3"));
        clients.getLast().send("set k" + i + " 0 0 1\r\nx\r\n");
      }
      for (var client : clients) {
        assertEquals("STORED", client.line());
      }
      for (var client : clients) {
        client.close();
      }
      await(() -> server.server().limit.served() == 0);
    }
  }

  @ParameterizedTest
  @EnumSource
  void brokenHandshakesEndByThemselvesOnly(Mode mode) throws Exception {
    var random = new Random(1);
    var settings = settings(mode).withIdleTimeout(Duration.ofSeconds(1));
    try (var server = TestServer.start(settings)) {
      for (int i = 0; i < 50; i++) {
        var garbage = new byte[100];
        random.nextBytes(garbage);
        // Half of them begin like a record whose rest never comes.
        boolean stops = i % 2 == 0;
        if (stops) {
          System.arraycopy(new byte[] {22, 3, 1, 2, 0, 1}, 0, garbage, 0, 6);
        }
        var client = server.connect();
        client.socket.getOutputStream().write(garbage);
        if (i % 10 < 5) {
          client.close();
        }
      }
      try (var client = connect(server)) {
        assertEquals("END\r\n", client.exchange("get k\r\n"));
      }
      await(() -> server.server().limit.served() == 0);
      assertEquals(50, server.server().statistics.handshakeErrors.sum());
    }
  }

  @ParameterizedTest
  @EnumSource
  void clientsCertificatesAreAskedForAsIsSet(Mode mode) throws Exception {
    var own = List.of("-cert", "client.pem", "-key", "client.key");
    for (var clients : Clients.values()) {
      try (var server = TestServer.start(settings(mode, clients, Version.TLS_1_3))) {
        var anonymous = openssl(server, "get k\r\nquit\r\n", "-quiet");
        assertEquals(clients != Clients.REQUIRED, anonymous.endsWith("END\r\n"));
        var known =
            openssl(
                server,
                "get k\r\nquit\r\n",
                "-quiet",
                own.get(0),
                files.resolve(own.get(1)).toString(),
                own.get(2),
                files.resolve(own.get(3)).toString());
        assertTrue(known.endsWith("END\r\n"), known);
        var old = openssl(server, "get k\r\nquit\r\n", "-quiet", "-tls1_2");
        assertTrue(old.contains("alert"), old);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void certificatesAreReadAgainOnCommand(Mode mode) throws Exception {
    certificates("changing");
    var settings = TestServer.settings(mode).withTls(ServerTls.Settings.of(pem("changing")));
    try (var server = TestServer.start(settings);
        var client = connect(server)) {
      var before = ((SSLSocket) client.socket).getSession().getPeerCertificates()[0];
      certificates("changing");
      assertEquals("OK", client.ask("refresh_certs"));
      try (var next = connect(server)) {
        assertEquals("END\r\n", next.exchange("get k\r\n"));
        assertNotEquals(before, ((SSLSocket) next.socket).getSession().getPeerCertificates()[0]);
      }
      Files.move(
          files.resolve("changing.pem"),
          files.resolve("away.pem"),
          StandardCopyOption.REPLACE_EXISTING);
      assertTrue(client.ask("refresh_certs").startsWith("Error there is no file"));
      try (var next = connect(server)) {
        var shown = next.exchange("stats settings\r\n");
        assertTrue(shown.contains("STAT ssl_enabled yes\r\n"), shown);
        assertTrue(shown.contains("STAT ssl_wbuf_size 65536\r\n"), shown);
        assertTrue(next.exchange("stats\r\n").contains("STAT ssl_handshake_errors 0\r\n"));
      }
    }
  }

  @Test
  void filesThatCannotBeUsedAreNamed() {
    var missing = new PemFiles(files.resolve("no.key"), files.resolve("server.pem"), null);
    var wrong = new PemFiles(files.resolve("client.key"), files.resolve("server.pem"), null);
    for (var pem : List.of(missing, wrong)) {
      var settings = TestServer.settings(Mode.JDK).withTls(ServerTls.Settings.of(pem));
      var thrown = assertThrows(IOException.class, () -> TestServer.start(settings));
      assertTrue(String.valueOf(thrown.getMessage()).contains(pem.key().toString()));
    }
  }

  @Test
  void withoutTlsThereIsNothingToRefresh() throws Exception {
    try (var server = TestServer.start(Mode.JDK);
        var client = server.connect()) {
      assertEquals("Error TLS not enabled", client.ask("refresh_certs"));
    }
  }
}
