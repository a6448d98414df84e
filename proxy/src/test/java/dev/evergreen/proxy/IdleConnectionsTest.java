package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.http.HttpSettings;
import dev.evergreen.http.Origin;
import dev.evergreen.proxy.storage.StorageOptions;
import dev.evergreen.tls.PemFiles;
import dev.evergreen.tls.ServerTls;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import javax.management.JMException;
import javax.management.ObjectName;
import javax.net.SocketFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * How much memory a connection takes that has asked for something and is at rest: what lives on the
 * heap of the proxy's own process, by the JVM's census of objects, with the collector that it has
 * in use. Buffers outside the heap are on loan only while something moves.
 *
 * <p>The stacks of its fibers are a part of that which is several times as large while code is
 * interpreted. As it takes long to have all of TLS and HTTP/2 compiled, for these all but the
 * stacks is measured, and {@link #STACK} is counted for each fiber.
 */
@Timeout(600)
class IdleConnectionsTest {
  private static final int NUMBER = 100;
  private static final Duration LONG = Duration.ofMinutes(10);
  private static final int FEW = 30;

  /** That of a fiber at rest is not larger once its code is compiled: it takes 0.9 to 1.2 KB. */
  private static final long STACK = 1_500;

  /** As in a server that has run for a while: all is compiled when the first hundreds have come. */
  private static final List<String> COMPILED =
      List.of("-Xbatch", "-XX:-TieredCompilation", "-XX:CompileThreshold=100");

  private static final int UNTIL_COMPILED = 250;

  /** As in one that has just begun. */
  private static final List<String> COLD = List.of("-XX:TieredStopAtLevel=1");

  private static final byte[] REQUEST =
      "GET /a HTTP/1.1\r\nHost: test\r\n\r\n".getBytes(ISO_8859_1);

  @TempDir private static Path certificates;

  @BeforeAll
  static void makeCertificates() throws Exception {
    var script = Path.of("..", "scripts", "certificates").toString();
    var making =
        new ProcessBuilder(script, certificates.toString(), "localhost").inheritIO().start();
    assertEquals(0, making.waitFor());
  }

  /** What a client does with a new connection, until it has all of an answer. */
  private interface Asking {
    void ask(Socket socket) throws IOException;
  }

  private static void askByHttp1(Socket socket) throws IOException {
    socket.getOutputStream().write(REQUEST);
    var in = new DataInputStream(socket.getInputStream());
    int last = 0;
    while (last != 0x0d0a0d0a) {
      last = last << 8 | in.readUnsignedByte();
    }
    assertEquals('1', in.readUnsignedByte());
  }

  private static void askByHttp2(Socket socket) throws IOException {
    var request =
        RawHttp2.block(":method", "GET", ":scheme", "http", ":authority", "test", ":path", "/a");
    var said = ByteBuffer.allocate(256);
    said.put("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(ISO_8859_1));
    said.put(new byte[] {0, 0, 0, RawHttp2.SETTINGS, 0, 0, 0, 0, 0});
    said.putShort((short) 0).put((byte) request.length).put((byte) RawHttp2.HEADERS);
    said.put((byte) (RawHttp2.END_STREAM | RawHttp2.END_HEADERS)).putInt(1).put(request);
    socket.getOutputStream().write(said.array(), 0, said.position());
    var in = new DataInputStream(socket.getInputStream());
    boolean whole = false;
    while (!whole) {
      int length = in.readUnsignedShort() << 8 | in.readUnsignedByte();
      int type = in.readUnsignedByte();
      boolean ends = (in.readUnsignedByte() & RawHttp2.END_STREAM) != 0;
      in.skipNBytes(4 + length);
      whole = type == RawHttp2.DATA && ends;
    }
  }

  /** Of each connection, in bytes. */
  private record Each(long all, long stacks) {
    long withStacks(int fibers) {
      return all - stacks + fibers * STACK;
    }
  }

  private static Each bytesEach(
      boolean secure, String protocol, Asking asking, List<String> flags, int before)
      throws Exception {
    var open = new ArrayList<Socket>();
    try (var origin = new ScriptedOrigin().then(200, "1", "Cache-Control: max-age=600")) {
      var server = start(origin.origin().port(), secure, flags);
      try (var answers = server.inputReader(ISO_8859_1);
          var questions = server.outputWriter(ISO_8859_1)) {
        int port = Integer.parseInt(answers.readLine());
        var factory = secure ? trusting() : SocketFactory.getDefault();
        var others = new Each(0, 0);
        for (int i = -before; i < NUMBER; i++) {
          if (i == 0) {
            others = live(questions, answers, open.size());
          }
          var socket = connect(factory, port, protocol);
          open.add(socket);
          try {
            asking.ask(socket);
          } catch (IOException e) {
            // On a slow machine the very first handshake may take longer than one may.
            if (i >= 0) {
              throw e;
            }
          }
          if (i < 0) {
            open.removeLast().close();
          }
        }
        var now = live(questions, answers, open.size());
        var each = new Each((now.all - others.all) / NUMBER, (now.stacks - others.stacks) / NUMBER);
        System.out.println("at rest, " + protocol + (secure ? " with TLS: " : ": ") + each);
        return each;
      } finally {
        server.destroyForcibly().waitFor();
      }
    } finally {
      for (var each : open) {
        each.close();
      }
    }
  }

  private static Socket connect(SocketFactory factory, int port, String protocol)
      throws IOException {
    var socket = factory.createSocket("localhost", port);
    if (socket instanceof SSLSocket tls) {
      var parameters = tls.getSSLParameters();
      parameters.setApplicationProtocols(new String[] {protocol});
      tls.setSSLParameters(parameters);
    }
    return socket;
  }

  private static SocketFactory trusting() throws GeneralSecurityException, IOException {
    var store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    try (var file = Files.newInputStream(certificates.resolve("authority.pem"))) {
      store.setCertificateEntry(
          "authority", CertificateFactory.getInstance("X.509").generateCertificate(file));
    }
    var managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(store);
    var context = SSLContext.getInstance("TLS");
    context.init(null, managers.getTrustManagers(), null);
    return context.getSocketFactory();
  }

  private static Process start(int origin, boolean secure, List<String> flags) throws IOException {
    var command =
        new ArrayList<>(
            List.of(
                ProcessHandle.current().info().command().orElse("java"),
                "-Xmx400m",
                "-XX:+UseZGC",
                "--add-opens",
                "java.base/java.lang=ALL-UNNAMED",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path")));
    command.addAll(flags);
    command.addAll(List.of(IdleConnectionsTest.class.getName(), Integer.toString(origin)));
    if (secure) {
      command.add(certificates.toString());
    }
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
  }

  /** The bytes of all objects that live in the server, which has so many connections. */
  private static Each live(Writer questions, BufferedReader answers, int connections)
      throws IOException {
    questions.write("?\n");
    questions.flush();
    assertTrue(Integer.parseInt(answers.readLine()) >= connections, "they are not closed");
    return new Each(Long.parseLong(answers.readLine()), Long.parseLong(answers.readLine()));
  }

  /** Serves, and says for each line that it is told how many bytes live on its heap. */
  public static void main(String[] arguments) throws Exception {
    var settings =
        ProxySettings.DEFAULT
            .withAddresses(List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)))
            .withOrigins(List.of(new Origin(false, "127.0.0.1", Integer.parseInt(arguments[0]))))
            .withMode(Fibers.Mode.PROCESSORS)
            .withProcessors(1)
            .withHttp(HttpSettings.DEFAULT.withTimes(LONG, LONG, LONG, LONG))
            .withStorage(StorageOptions.memory(16 << 20));
    if (arguments.length > 1) {
      var folder = Path.of(arguments[1]);
      var files =
          new PemFiles(folder.resolve("localhost.key"), folder.resolve("localhost.pem"), null);
      settings =
          settings.withTls(
              new ServerTls(ServerTls.Settings.of(files).withProtocols("h2", "http/1.1")));
    }
    try (var proxy = Proxy.start(settings);
        var lines = new BufferedReader(new InputStreamReader(System.in, ISO_8859_1))) {
      System.out.println(proxy.addresses().getFirst().getPort());
      while (lines.readLine() != null) {
        System.out.println(proxy.fibers().connections().size());
        var census = census();
        System.out.println(bytes(census, "Total") + (long) Buffers.count() * Buffers.SIZE);
        System.out.println(bytes(census, "jdk.internal.vm.StackChunk"));
      }
    }
  }

  /** A line of each class: its number, how many there are, how many bytes these take, its name. */
  private static String census() throws JMException {
    return (String)
        ManagementFactory.getPlatformMBeanServer()
            .invoke(
                new ObjectName("com.sun.management:type=DiagnosticCommand"),
                "gcClassHistogram",
                new Object[] {new String[0]},
                new String[] {String[].class.getName()});
  }

  /** Those of a class's line, or of the total's, which has its name for a number. */
  private static long bytes(String census, String name) {
    var line = census.lines().filter(each -> each.contains(name)).findFirst().orElseThrow();
    return Long.parseLong(line.strip().split("\\s+", -1)[2]);
  }

  @Test
  void aConnectionAtRestTakesFourKilobytes() throws Exception {
    var each =
        bytesEach(false, "http/1.1", IdleConnectionsTest::askByHttp1, COMPILED, UNTIL_COMPILED);
    assertTrue(each.all <= 4 << 10, each.toString());
  }

  @Test
  void oneWithTlsTakesTwelve() throws Exception {
    var each = bytesEach(true, "http/1.1", IdleConnectionsTest::askByHttp1, COLD, FEW);
    assertTrue(each.withStacks(1) <= 12 << 10, each.toString());
  }

  /** It has a fiber that reads and one that sends. */
  @Test
  void oneOfHttp2TakesTwentyFour() throws Exception {
    var each = bytesEach(false, "h2", IdleConnectionsTest::askByHttp2, COLD, FEW);
    assertTrue(each.withStacks(2) <= 24 << 10, each.toString());
  }

  @Test
  void soDoesOneOfHttp2WithTls() throws Exception {
    var each = bytesEach(true, "h2", IdleConnectionsTest::askByHttp2, COLD, FEW);
    assertTrue(each.withStacks(2) <= 24 << 10, each.toString());
  }
}
