package dev.evergreen.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.evergreen.kernel.Account;
import dev.evergreen.memcached.MemcachedServer;
import dev.evergreen.tls.PemFiles;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** The command, in a JVM of its own where it runs. */
@Timeout(60)
class MemcachedCommandTest {
  @TempDir private Path folder;

  private static Process start(String... arguments) throws IOException {
    var all = new ArrayList<>(List.of("memcached"));
    all.addAll(List.of(arguments));
    return OwnProcess.start(all);
  }

  private static String ask(int port, String command) throws IOException {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      return ask(socket, command);
    }
  }

  private static String ask(Socket socket, String command) throws IOException {
    socket.getOutputStream().write((command + "\r\n").getBytes(StandardCharsets.US_ASCII));
    return reader(socket.getInputStream()).readLine();
  }

  private static BufferedReader reader(java.io.InputStream input) {
    return new BufferedReader(new java.io.InputStreamReader(input, StandardCharsets.UTF_8));
  }

  private static int port(String announcement) {
    assertTrue(announcement.startsWith("memcached listens at 127.0.0.1:"), announcement);
    return Integer.parseInt(announcement.substring(announcement.lastIndexOf(':') + 1));
  }

  @ParameterizedTest
  @ValueSource(strings = {"TERM", "INT", "USR1"})
  void aSignalEndsItInOrder(String signal) throws Exception {
    var pidFile = folder.resolve("pid");
    var process = start("-p", "0", "-m", "64", "-t", "1", "-P", pidFile.toString());
    try (var output = process.inputReader()) {
      assertEquals("END", ask(port(output.readLine()), "get a"));
      assertEquals(process.pid() + "\n", Files.readString(pidFile));
      signal(signal, process);
      assertEquals(0, process.waitFor());
      assertEquals(List.of(), output.lines().toList());
      assertFalse(Files.exists(pidFile));
    } finally {
      process.destroyForcibly();
    }
  }

  /** As test suites of memcached and of its clients expect it. */
  @Test
  void aFileTellsThePortIfAVariableNamesIt() throws Exception {
    var file = folder.resolve("ports");
    var process =
        OwnProcess.start(
            Map.of("MEMCACHED_PORT_FILENAME", file.toString()),
            List.of("memcached", "-p", "0", "-t", "1"));
    try (var output = process.inputReader()) {
      int port = port(output.readLine());
      assertEquals("TCP INET: %d\n".formatted(port), Files.readString(file));
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void ofAServerThatDoesNotStartNoFileStays() throws Exception {
    var pidFile = folder.resolve("pid");
    var nowhere = folder.resolve("no").resolve("ports").toString();
    var process =
        OwnProcess.start(
            Map.of("MEMCACHED_PORT_FILENAME", nowhere),
            List.of("memcached", "-p", "0", "-t", "1", "-P", pidFile.toString()));
    try (var output = process.inputReader()) {
      assertTrue(output.readLine().startsWith("memcached: "));
      assertEquals(1, process.waitFor());
      assertFalse(Files.exists(pidFile));
    } finally {
      process.destroyForcibly();
    }
  }

  private static void signal(String name, Process process) throws Exception {
    new ProcessBuilder("kill", "-" + name, "" + process.pid()).start().waitFor();
  }

  /** Seen: it ended. */
  @Test
  void aHangUpHasItReadItsAccountsAgain() throws Exception {
    var accounts = Files.writeString(folder.resolve("accounts"), "anna:first\n");
    var process = start("-p", "0", "-t", "1", "-Y", accounts.toString());
    try (var output = process.inputReader()) {
      int port = port(output.readLine());
      assertEquals("STORED", ask(port, "set x 0 0 10\r\nanna first"));
      Files.writeString(accounts, "no account\n");
      signal("HUP", process);
      var complaint = output.readLine();
      assertTrue(complaint.startsWith("memcached: the former accounts stay: "), complaint);
      assertEquals("STORED", ask(port, "set x 0 0 10\r\nanna first"));
      Files.writeString(accounts, "anna:second\n");
      signal("HUP", process);
      while (!ask(port, "set x 0 0 11\r\nanna second").equals("STORED")) {
        Thread.sleep(1);
      }
      assertEquals("CLIENT_ERROR authentication failure", ask(port, "set x 0 0 10\r\nanna first"));
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void aClientEndsItIfThatIsAllowed() throws Exception {
    var process = start("-p", "0", "-A", "-I", "2m", "-c", "10", "-M");
    try (var output = process.inputReader()) {
      int port = port(output.readLine());
      try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
        socket.getOutputStream().write("shutdown\r\n".getBytes(StandardCharsets.US_ASCII));
        assertEquals(0, process.waitFor());
      }
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void aClientIsServedOverTls() throws Exception {
    var certificates =
        new ProcessBuilder(
                Path.of("..", "scripts", "certificates").toString(), folder.toString(), "cache")
            .inheritIO()
            .start();
    assertEquals(0, certificates.waitFor());
    var files = "ssl_chain_cert=%s,ssl_key=%s".formatted(pem("cache.pem"), pem("cache.key"));
    var addresses = "notls:127.0.0.1,127.0.0.1";
    var process = start("-p", "0", "-t", "1", "-Z", "-l", addresses, "-o", files);
    var trusted = new PemFiles(pem("cache.key"), pem("cache.pem"), pem("authority.pem")).load();
    try (var output = process.inputReader()) {
      var ports = output.readLine().split(", 127.0.0.1:", -1);
      var version = "VERSION " + MemcachedServer.PROTOCOL_VERSION;
      try (var socket =
          (SSLSocket)
              trusted
                  .getSocketFactory()
                  .createSocket(InetAddress.getLoopbackAddress(), port(ports[0]))) {
        assertEquals(version, ask(socket, "version"));
        assertEquals("TLSv1.3", socket.getSession().getProtocol());
      }
      assertEquals(version, ask(Integer.parseInt(ports[1]), "version"));
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void metricsOfTheProcessorsAreServed() throws Exception {
    var process = start("-p", "0", "-t", "2", "--metrics", "0");
    try (var output = process.inputReader()) {
      assertEquals("END", ask(port(output.readLine()), "get a"));
      var url = URI.create(output.readLine().replace("metrics at ", ""));
      try (var text = url.toURL().openStream()) {
        var metrics = new String(text.readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(metrics.contains("evergreen_fibers_runs_total{processor=\"1\"}"), metrics);
        assertTrue(metrics.contains("evergreen_fibers_ready{processor=\"0\"}"), metrics);
      }
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void aTakenPortForMetricsEndsTheServerToo() throws Exception {
    var errors = new StringWriter();
    var path = folder.resolve("socket");
    try (var taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      var port = "" + taken.getLocalPort();
      int code =
          MemcachedCommand.commandLine()
              .setErr(new PrintWriter(errors))
              .execute("-s", path.toString(), "-t", "1", "--metrics", port);
      assertEquals(1, code);
      assertTrue(
          errors.toString().contains("metrics at localhost/127.0.0.1:" + port), errors::toString);
      assertFalse(Files.exists(path));
    }
  }

  private Path pem(String name) {
    return folder.resolve(name);
  }

  @Test
  void startedByRootItGoesOnAsTheUser() throws Exception {
    assumeTrue(Account.isRoot(), "only root can become somebody else");
    var process = start("-p", "0", "-t", "1", "-u", "nobody");
    try (var output = process.inputReader()) {
      port(output.readLine());
      var nobody = "" + Account.of("nobody").user();
      try (var threads = Files.list(Path.of("/proc", "" + process.pid(), "task"))) {
        for (var thread : threads.toList()) {
          var status = Files.readString(thread.resolve("status"));
          assertTrue(status.contains("Uid:" + ("\t" + nobody).repeat(4)), status);
        }
      }
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void aUserWhoIsNotThereIsNamed() throws Exception {
    assumeTrue(Account.isRoot(), "only root can become somebody else");
    var errors = new StringWriter();
    int code =
        MemcachedCommand.commandLine()
            .setErr(new PrintWriter(errors))
            .execute("-p", "0", "-t", "1", "-u", "no-such-user");
    assertEquals(1, code);
    assertTrue(errors.toString().contains("can't find the user no-such-user"), errors::toString);
  }

  /** A supervisor would take 0 for an end in order. */
  @Test
  void whoCannotBecomeTheUserFails() throws Exception {
    assumeTrue(Account.isRoot(), "only root can become somebody else");
    var process = start("-p", "0", "-t", "1", "-u", "no-such-user");
    try (var output = process.inputReader()) {
      assertTrue(output.readLine().contains("can't find the user no-such-user"));
      assertEquals(1, process.waitFor());
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void withoutCasNumbersTheSettingsSaySo() throws Exception {
    var process = start("-p", "0", "-t", "1", "-C", "-vv");
    try (var output = process.inputReader()) {
      int port = port(output.readLine());
      var settings = settings(port);
      assertTrue(settings.contains("STAT cas_enabled no"), settings::toString);
      assertTrue(settings.contains("STAT verbosity 2"), settings::toString);
      var logged = new ArrayList<String>();
      var line = output.readLine();
      while (!line.contains("connection closed")) {
        logged.add(line);
        line = output.readLine();
      }
      assertTrue(logged.stream().anyMatch(said -> said.endsWith("<2 stats settings")));
      assertTrue(logged.stream().anyMatch(said -> said.endsWith("<2 new client connection")));
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void evergreenSaysItsOwnVersion() throws Exception {
    var pom = Files.readString(Path.of("../pom.xml"));
    var version = pom.substring(pom.indexOf("<version>") + 9, pom.indexOf("</version>"));
    assertEquals(List.of("evergreen " + version), version(Main.commandLine()));
  }

  private static List<String> version(CommandLine command) {
    var said = new StringWriter();
    assertEquals(0, command.setOut(new PrintWriter(said)).execute("--version"));
    return said.toString().lines().toList();
  }

  /** Clients ask for memcached's, which decides what they may say. */
  @Test
  void theMemcachedServerSaysOneVersion() throws Exception {
    var process = start("-p", "0", "-t", "1");
    try (var output = process.inputReader()) {
      var version = ask(port(output.readLine()), "version").replace("VERSION", "memcached");
      assertEquals(List.of(version), version(MemcachedCommand.commandLine()));
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void memcachedsOtherFlagsAreNamedOnce() throws Exception {
    var process =
        start(
            "-p",
            "0",
            "-U",
            "0",
            "-f",
            "1.1",
            "-L",
            "-vv",
            "-o",
            "modern,idle_timeout=9",
            "-N",
            "2",
            "--verbose");
    try (var output = process.inputReader()) {
      var said = output.readLine();
      assertTrue(said.startsWith("memcached: without effect here: -o modern"), said);
      port(output.readLine());
    } finally {
      process.destroyForcibly();
    }
  }

  /** A script that has flags of its own has more behind them. */
  @Test
  void ofAFlagThatIsRepeatedTheLastCounts() throws Exception {
    var process =
        start("-m", "64", "-M", "-p", "1", "-t", "2", "-m", "32", "-M", "-p", "0", "-t", "1");
    try (var output = process.inputReader()) {
      var settings = settings(port(output.readLine()));
      assertTrue(settings.contains("STAT maxbytes 33554432"), settings::toString);
      assertTrue(settings.contains("STAT num_threads 1"), settings::toString);
      assertTrue(settings.contains("STAT evictions off"), settings::toString);
    } finally {
      process.destroyForcibly();
    }
  }

  /** A client may try any of them, such as 127.0.0.1 and ::1 of localhost. */
  @Test
  void allAddressesOfANameThatAreHereAreListenedAt() throws Exception {
    var first = InetAddress.getByAddress(new byte[] {127, 0, 0, 1});
    var second = InetAddress.getByAddress(new byte[] {127, 0, 0, 1});
    var elsewhere = InetAddress.getByAddress(new byte[] {(byte) 192, 0, 2, 1});
    var any = InetAddress.getByAddress(new byte[4]);
    assertEquals(List.of(first, second), MemcachedCommand.here(first, elsewhere, second));
    assertEquals(List.of(any), MemcachedCommand.here(any));
    var lesser = InetAddress.getByName("127.0.1.1");
    assertEquals(List.of(lesser), MemcachedCommand.here(elsewhere, lesser));
    assertEquals(List.of(elsewhere), MemcachedCommand.here(elsewhere));
    var process = start("-p", "0", "-t", "1", "-l", "localhost");
    try (var output = process.inputReader()) {
      var announced = output.readLine();
      for (var address : MemcachedCommand.here(InetAddress.getAllByName("localhost"))) {
        assertTrue(announced.contains(address.getHostAddress() + ":"), announced);
      }
    } finally {
      process.destroyForcibly();
    }
  }

  /** As memcached calls it. */
  @Test
  void aPortBelowZeroIsAnyThatIsFree() throws Exception {
    var process = start("-p", "-1", "-t", "1");
    try (var output = process.inputReader()) {
      assertEquals("END", ask(port(output.readLine()), "get a"));
    } finally {
      process.destroyForcibly();
    }
  }

  private static List<String> settings(int port) throws IOException {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket
          .getOutputStream()
          .write("stats settings\r\nquit\r\n".getBytes(StandardCharsets.US_ASCII));
      return reader(socket.getInputStream()).lines().toList();
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "-U 11211",
        "-o idle_timeout=x",
        "-m 900000000",
        "-Z",
        "-Z -o ssl_chain_cert=none.pem,ssl_verify_mode=2",
        "-Z -o ssl_chain_cert=none.pem,ssl_min_version=1",
        "-S",
        "-I 100",
        "-I 2000m",
        "-m 0",
        "-t 0",
        "-c 0",
        "-a 9",
        "-p x",
        "-p -2",
        "--metrics 70000",
        "-l 127.0.0.1:99999",
        "-B udp",
        "-Q"
      })
  void whatCannotBeIsRefused(String arguments) {
    var errors = new StringWriter();
    int code =
        new CommandLine(new MemcachedCommand())
            .setErr(new PrintWriter(errors))
            .execute(arguments.split(" ", -1));
    assertNotEquals(0, code);
    assertTrue(
        errors.toString().contains(arguments.split(" ", -1)[0])
            || errors.toString().contains("port")
            || errors.toString().contains("-o ssl_"),
        errors.toString());
  }

  @Test
  void anItemLimitBeyondTheMemoryIsExplained() {
    var errors = new StringWriter();
    int code =
        MemcachedCommand.commandLine()
            .setErr(new PrintWriter(errors))
            .execute("-p", "0", "-m", "2", "-I", "2m");
    assertEquals(1, code);
    assertTrue(errors.toString().contains("half of the memory limit"), errors.toString());
  }
}
