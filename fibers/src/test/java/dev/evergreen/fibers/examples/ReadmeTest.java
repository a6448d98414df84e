package dev.evergreen.fibers.examples;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Dialer;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.Listener;
import dev.evergreen.tls.ClientTls;
import dev.evergreen.tls.PemFiles;
import dev.evergreen.tls.ServerTls;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The programs of the README are these here, and they do what it says. */
@Timeout(120)
class ReadmeTest {

  @TempDir Path folder;

  @ParameterizedTest
  @ValueSource(classes = {EchoServer.class, TcpProxy.class})
  void theReadmeShowsTheProgramAsItIs(Class<?> program) throws Exception {
    var source =
        Files.readString(Path.of("src/test/java", program.getName().replace('.', '/') + ".java"));
    var shown = source.substring(source.indexOf("import "));
    assertTrue(
        Files.readString(Path.of("README.md")).contains("```java\n" + shown + "```\n"),
        () -> "README.md does not show " + program.getSimpleName() + ".java as it is");
  }

  private static Fibers start(Fibers.Mode mode) {
    return Fibers.builder().name("readme").mode(mode).processors(2).start();
  }

  private static Listener listen(Fibers fibers) throws IOException {
    return fibers.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }

  private static int port(Listener listener) {
    return ((InetSocketAddress) listener.address()).getPort();
  }

  private static void assertEchoes(Fibers fibers, Listener listener) throws IOException {
    try (var connection = Dialer.of(fibers).dial("localhost", port(listener))) {
      var sent = "hello ".repeat(50_000);
      var writer = fibers.spawn(() -> sendAll(connection, sent));
      var received = ByteBuffer.allocate(sent.length() + 1);
      while (connection.read(received) >= 0) {
        // Until the end.
      }
      assertEquals(sent, US_ASCII.decode(received.flip()).toString());
      writer.join();
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  private static void sendAll(Connection to, String text) {
    try {
      to.write(text.getBytes(US_ASCII));
      to.shutdownOutput();
    } catch (IOException e) {
      // The reader will miss bytes.
    }
  }

  @ParameterizedTest
  @EnumSource
  void theServerEchoesAndTheProxyPassesOn(Fibers.Mode mode) throws Exception {
    try (var fibers = start(mode);
        var server = listen(fibers);
        var front = listen(fibers)) {
      fibers.spawn(() -> server.serve(EchoServer::echo));
      assertEchoes(fibers, server);
      var proxy = new TcpProxy(fibers, "localhost", port(server), Optional.empty());
      fibers.spawn(() -> front.serve(proxy::pass));
      assertEchoes(fibers, front);
      assertTrue(front.drain(Duration.ofSeconds(30)));
    }
  }

  @ParameterizedTest
  @EnumSource
  void theProxySpeaksTlsToItsUpstream(Fibers.Mode mode) throws Exception {
    var script = Path.of("..", "scripts", "certificates").toString();
    var process = new ProcessBuilder(script, folder.toString(), "server").inheritIO().start();
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    var authority = folder.resolve("authority.pem");
    var files = new PemFiles(folder.resolve("server.key"), folder.resolve("server.pem"), authority);
    var tls = new ServerTls(ServerTls.Settings.of(files));
    try (var fibers = start(mode);
        var server = listen(fibers);
        var front = listen(fibers)) {
      fibers.spawn(
          () ->
              server.serve(
                  raw -> {
                    try (var connection = raw.overTls(tls.engine(), Duration.ofSeconds(30))) {
                      EchoServer.echo(connection);
                      connection.shutdownOutput();
                    }
                  }));
      var proxy =
          new TcpProxy(
              fibers, "localhost", port(server), Optional.of(ClientTls.trusting(authority)));
      fibers.spawn(() -> front.serve(proxy::pass));
      assertEchoes(fibers, front);
    }
  }

  private static Process run(Class<?> program, String... arguments) throws IOException {
    var command =
        new ArrayList<>(
            List.of(
                ProcessHandle.current().info().command().orElse("java"),
                "--add-opens",
                "java.base/java.lang=ALL-UNNAMED",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                program.getName()));
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command).redirectErrorStream(true).start();
  }

  /** The port that it says it listens at. */
  private static int port(BufferedReader output) throws IOException {
    var line = output.readLine();
    assertTrue(line.startsWith("listening at "), line);
    return Integer.parseInt(line.substring(line.lastIndexOf(':') + 1));
  }

  @Test
  void theProgramsStartFromTheirCommandLines() throws Exception {
    var process = run(EchoServer.class, "0");
    try (var output = process.inputReader()) {
      assertTrue(port(output) > 0);
    } finally {
      process.destroy();
    }
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
  }

  @Test
  void whatTheProxyHasBegunGoesOnWhenItIsToldToEnd() throws Exception {
    try (var upstream = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      var process = run(TcpProxy.class, "0", "localhost", "" + upstream.getLocalPort());
      try (var output = process.inputReader();
          var client = new Socket(InetAddress.getLoopbackAddress(), port(output));
          var server = upstream.accept()) {
        client.getOutputStream().write('?');
        assertEquals('?', server.getInputStream().read());
        process.destroy();
        awaitRefusal(client.getPort());
        server.getOutputStream().write('!');
        server.shutdownOutput();
        assertEquals("!", new String(client.getInputStream().readAllBytes(), US_ASCII));
      } finally {
        process.destroyForcibly();
      }
    }
  }

  private static void awaitRefusal(int port) throws IOException, InterruptedException {
    while (true) {
      try (var _ = new Socket(InetAddress.getLoopbackAddress(), port)) {
        Thread.sleep(1);
      } catch (ConnectException e) {
        return;
      }
    }
  }
}
