package dev.evergreen.cluster.links;

import static dev.evergreen.cluster.links.TestNode.await;
import static dev.evergreen.cluster.links.TestNode.awaitConnected;
import static dev.evergreen.cluster.links.TestNode.connect;
import static dev.evergreen.cluster.links.TestNode.numbered;
import static dev.evergreen.cluster.links.TestNode.sized;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.cluster.links.TestNode.Broken;
import dev.evergreen.core.spi.Message;
import dev.evergreen.tls.CertificateNames;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.X509TrustManager;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Links with TLS, with files of {@code scripts/certificates}. */
@Timeout(120)
class LinkSecurityTest {

  @TempDir private static Path shared;

  @TempDir private Path dir;

  private final List<AutoCloseable> closed = new ArrayList<>();

  @BeforeAll
  static void makeCertificates() throws Exception {
    assertEquals(0, certificates(shared.resolve("ours"), "a", "a2", "b", "c"));
    assertEquals(0, certificates(shared.resolve("theirs"), "a", "x"));
  }

  @AfterEach
  void stop() throws Exception {
    for (var one : closed) {
      one.close();
    }
  }

  /** Runs the script; returns its exit code. */
  private static int certificates(Path folder, String... names) throws Exception {
    var arguments = new ArrayList<>(List.of(folder.toString()));
    arguments.addAll(List.of(names));
    return run(arguments);
  }

  private static int run(List<String> arguments) throws Exception {
    var command = new ArrayList<>(List.of(Path.of("..", "scripts", "certificates").toString()));
    command.addAll(arguments);
    var process = new ProcessBuilder(command).inheritIO().start();
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    return process.exitValue();
  }

  private static LinkSecurity security(Path folder, String name) throws Exception {
    return LinkSecurity.of(
            folder.resolve(name + ".key"),
            folder.resolve(name + ".pem"),
            folder.resolve("authority.pem"))
        .lookingEvery(Duration.ZERO);
  }

  private static LinkSecurity ours(String name) throws Exception {
    return security(shared.resolve("ours"), name);
  }

  private TestNode node(String name, LinkSecurity security) {
    var node = TestNode.start(name, TestNode.SETTINGS, security);
    closed.add(node);
    return node;
  }

  @Test
  void nodesOfOneAuthorityExchangeMessagesOfEverySize() throws Exception {
    var a = node("a", ours("a"));
    var b = node("b", ours("b"));
    connect(a, b);
    for (int size : new int[] {0, 1_000, Frame.PIECE, 100_000, 10_000_000}) {
      a.send(b, sized(1, size));
      b.send(a, sized(2, size));
      assertEquals(size, assertInstanceOf(Message.Call.class, b.nextMessage()).arguments().length);
      assertEquals(size, assertInstanceOf(Message.Call.class, a.nextMessage()).arguments().length);
    }
    for (int i = 0; i < 5_000; i++) {
      a.send(b, numbered(i));
    }
    a.close();
    for (int i = 0; i < 5_000; i++) {
      assertEquals(numbered(i), b.nextMessage());
    }
    b.next(Broken.class);
  }

  private void assertNoConnection(TestNode a, TestNode b) {
    var before = b.links.counts();
    a.admit(b);
    b.admit(a);
    await("refusals", () -> b.links.counts().refused() >= before.refused() + 2);
    assertEquals(before.connections(), b.links.counts().connections());
    assertFalse(a.links.send(b.id, numbered(1)));
    assertFalse(b.links.send(a.id, numbered(1)));
  }

  @Test
  void aNodeOfAnotherAuthorityGetsNothing() throws Exception {
    assertNoConnection(node("a", security(shared.resolve("theirs"), "a")), node("b", ours("b")));
  }

  @Test
  void aNodeThatTrustsEverybodyButHasAForeignCertificateGetsNothing() throws Exception {
    var files = dir.resolve("mixed");
    Files.createDirectories(files);
    Files.copy(shared.resolve("theirs/a.key"), files.resolve("a.key"));
    Files.copy(shared.resolve("theirs/a.pem"), files.resolve("a.pem"));
    Files.copy(shared.resolve("ours/authority.pem"), files.resolve("authority.pem"));
    assertNoConnection(node("a", security(files, "a")), node("b", ours("b")));
  }

  @Test
  void aNodeWithoutTlsGetsNothing() throws Exception {
    var plain = TestNode.start("a");
    closed.add(plain);
    assertNoConnection(plain, node("b", ours("b")));
  }

  @Test
  void aNodeDoesNotTalkToOneWithoutTls() throws Exception {
    var plain = TestNode.start("b");
    closed.add(plain);
    assertNoConnection(node("a", ours("a")), plain);
  }

  /** Trusts whoever answers. */
  private static final class Credulous implements X509TrustManager {
    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) {}

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return new X509Certificate[0];
    }
  }

  private static SSLContext withoutCertificate() throws GeneralSecurityException {
    var context = SSLContext.getInstance("TLS");
    context.init(null, new X509TrustManager[] {new Credulous()}, null);
    return context;
  }

  @Test
  void aPeerWithoutACertificateGetsNothingAndHarmsNothing() throws Exception {
    var a = node("a", ours("a"));
    var b = node("b", ours("b"));
    connect(a, b);
    for (String protocol : new String[] {"TLSv1.3", "TLSv1.2"}) {
      long before = b.links.counts().refused();
      try (var socket =
          (SSLSocket)
              withoutCertificate()
                  .getSocketFactory()
                  .createSocket(b.address().getAddress(), b.address().getPort())) {
        socket.setEnabledProtocols(new String[] {protocol});
        socket.setSoTimeout(30_000);
        assertThrows(
            IOException.class,
            () -> {
              socket.startHandshake();
              Handshake.write(
                  socket.getOutputStream(), new Handshake.Hello(1, 1, "test", a.id, b.id));
              Handshake.readAnswer(new FrameInput(socket.getInputStream(), 1));
            });
      }
      await("its refusal", () -> b.links.counts().refused() == before + 1);
    }
    a.send(b, numbered(2));
    assertEquals(numbered(2), b.nextMessage());
    assertEquals(1, b.links.counts().connections());
  }

  @Test
  void theNodeThatDialsChecksTheNameUnlessToldNotTo() throws Exception {
    var b = node("b", ours("b"));
    var strict = node("a", ours("a"));
    // The certificate is for 127.0.0.1.
    var elsewhere = new Relay(b.address(), "127.0.0.2");
    closed.add(elsewhere);
    strict.links.admit(b.id, elsewhere.address());
    b.admit(strict);
    await("refusals", () -> b.links.counts().refused() >= 2);
    assertEquals(0, b.links.counts().connections());
    var lenient = node("a2", ours("a2").withoutHostNames());
    lenient.links.admit(b.id, elsewhere.address());
    b.admit(lenient);
    awaitConnected(lenient, b);
  }

  /** What the node of a certificate is told when it says that it is another one. */
  private static Handshake.Verdict toldWhoSaysThatItIs(TestNode other, String name, TestNode asked)
      throws Exception {
    try (var raw = new Socket(asked.address().getAddress(), asked.address().getPort())) {
      raw.setSoTimeout(30_000);
      var socket = ours(name).dial(raw, "localhost", asked.address().getPort());
      Handshake.write(
          socket.getOutputStream(), new Handshake.Hello(1, 1, "test", other.id, asked.id));
      return Handshake.readAnswer(new FrameInput(socket.getInputStream(), 1)).verdict();
    }
  }

  @Test
  void noNodeTakesThePlaceOfAnotherUnlessNamesDoNotMatter() throws Exception {
    var a = node("a", ours("a"));
    var b = node("b", ours("b"));
    connect(a, b);
    assertEquals(Handshake.Verdict.NOT_CERTIFIED, toldWhoSaysThatItIs(a, "c", b));
    a.send(b, numbered(1));
    assertEquals(numbered(1), b.nextMessage());
    assertEquals(1, b.links.counts().connections());
    assertEquals(0, a.breaks.get() + b.breaks.get());
    var lenient = node("b", ours("b").withoutHostNames());
    assertEquals(Handshake.Verdict.NOT_YET, toldWhoSaysThatItIs(a, "c", lenient));
  }

  @Test
  void certificatesNameHostsByNamesPatternsAndAddresses() throws Exception {
    var names =
        new CertificateNames(
            List.of("shop-1", "*.nodes.local"),
            List.of(InetAddress.ofLiteral("10.0.0.7"), InetAddress.ofLiteral("fd00::7")));
    for (var host : List.of("shop-1", "SHOP-1", "a.nodes.local", "10.0.0.7", "fd00:0:0::7")) {
      assertTrue(names.match(host), host);
    }
    for (var host : List.of("shop-2", "nodes.local", "a.b.nodes.local", "10.0.0.8", "", "*")) {
      assertFalse(names.match(host), host);
    }
    var made =
        CertificateFactory.getInstance("X.509")
            .generateCertificate(Files.newInputStream(shared.resolve("ours/a.pem")));
    for (var host : List.of("a", "localhost", "127.0.0.1", "::1")) {
      assertTrue(CertificateNames.of(made).match(host), host);
    }
    assertFalse(CertificateNames.of(made).match("b"));
  }

  @Test
  void aNewAuthorityEndsTheConnectionsOfTheFormerAndNewOnesUseIt() throws Exception {
    assertEquals(0, certificates(dir, "a", "b"));
    var a = node("a", security(dir, "a"));
    var b = node("b", security(dir, "b"));
    connect(a, b);
    var fresh = dir.resolve("fresh");
    assertEquals(0, certificates(fresh, "a", "b", "aaa"));
    for (var name : List.of("a.key", "b.key", "a.pem", "b.pem", "authority.pem")) {
      Files.move(fresh.resolve(name), dir.resolve(name), StandardCopyOption.REPLACE_EXISTING);
    }
    a.next(Broken.class);
    b.next(Broken.class);
    awaitConnected(a, b);
    Files.copy(dir.resolve("authority.pem"), fresh.resolve("authority.pem"));
    connect(node("aaa", security(fresh, "aaa")), b);
    assertNoConnection(node("a2", ours("a2")), b);
  }

  /** The files of a node of one authority, which trusts another one. */
  private LinkSecurity mixed(String node, String authorities) throws Exception {
    var name = Path.of(node).getFileName().toString();
    Files.copy(shared.resolve(node + ".key"), dir.resolve(name + ".key"));
    Files.copy(shared.resolve(node + ".pem"), dir.resolve(name + ".pem"));
    var authority = dir.resolve(name + "-trusts.pem");
    Files.writeString(authority, authorities);
    return LinkSecurity.of(dir.resolve(name + ".key"), dir.resolve(name + ".pem"), authority)
        .lookingEvery(Duration.ZERO);
  }

  @Test
  void whoIsTrustedNoMoreIsCutOffAndTheOthersStay() throws Exception {
    var ours = Files.readString(shared.resolve("ours/authority.pem"));
    var theirs = Files.readString(shared.resolve("theirs/authority.pem"));
    var a = node("a", ours("a"));
    var b = node("b", mixed("ours/b", theirs + ours));
    var x = node("x", mixed("theirs/x", ours));
    connect(a, b);
    connect(b, x);
    Files.writeString(dir.resolve("b-trusts.pem"), ours);
    assertEquals(x.id, b.next(Broken.class).node());
    a.send(b, numbered(1));
    assertEquals(numbered(1), b.nextMessage());
    assertEquals(1, b.breaks.get());
    assertFalse(b.links.isConnected(x.id));
  }

  @Test
  void whoIsRevokedIsCutOffAndTheOthersStay() throws Exception {
    assertEquals(0, certificates(dir, "a", "b", "c", "a2", "a3"));
    var a = node("a", security(dir, "a"));
    var b = node("b", security(dir, "b"));
    var c = node("c", security(dir, "c"));
    connect(a, b);
    connect(b, c);
    for (int i = 0; i < 2; i++) { // the second time there is nothing to do
      assertEquals(0, run(List.of("--revoke", dir.toString(), "c", "a2")));
    }
    assertEquals(c.id, b.next(Broken.class).node());
    a.send(b, numbered(1));
    assertEquals(numbered(1), b.nextMessage());
    assertEquals(1, b.breaks.get());
    assertNoConnection(node("a2", security(dir, "a2")), b);
    connect(node("a3", security(dir, "a3")), b);
  }

  @Test
  void whoIsRevokedIsCutOffThoughTheNodesOwnFilesCannotBeUsed() throws Exception {
    assertEquals(0, certificates(dir, "b", "c"));
    var b = node("b", security(dir, "b"));
    var c = node("c", security(dir, "c"));
    connect(b, c);
    Files.delete(dir.resolve("b.key"));
    assertEquals(0, run(List.of("--revoke", dir.toString(), "c")));
    assertEquals(c.id, b.next(Broken.class).node());
    assertFalse(b.links.isConnected(c.id));
  }

  /** It is let in by the former list, as it has begun by that. */
  @Test
  void whoIsRevokedAmidItsHandshakeGetsNothing() throws Exception {
    assertEquals(0, certificates(dir, "a", "b"));
    var a = security(dir, "a");
    var b = security(dir, "b");
    var here = InetAddress.getLoopbackAddress();
    try (var listener = new ServerSocket(0, 1, here);
        var dialled = new Socket(here, listener.getLocalPort());
        var accepted = listener.accept()) {
      var accepting = new FutureTask<>(() -> a.accept(accepted));
      var thread = Thread.startVirtualThread(accepting);
      await("its hello", () -> thread.getState() == Thread.State.WAITING);
      assertEquals(0, run(List.of("--revoke", dir.toString(), "b")));
      a.context();
      var _ = b.dial(dialled, here.getHostAddress(), listener.getLocalPort());
      var refused = assertThrows(ExecutionException.class, accepting::get);
      assertTrue(String.valueOf(refused.getMessage()).contains("trusted no more"));
    }
  }

  /** Whoever has stolen a key keeps it when the node gets another one. */
  @Test
  void theCertificateThatWasReplacedCanBeRevoked() throws Exception {
    assertEquals(0, certificates(dir, "a", "b"));
    var stolen = Files.createDirectory(dir.resolve("stolen"));
    for (var name : List.of("a.key", "a.pem", "authority.pem")) {
      Files.copy(dir.resolve(name), stolen.resolve(name));
    }
    assertEquals(0, certificates(dir, "a"));
    assertEquals(0, run(List.of("--revoke-former", dir.toString(), "a")));
    assertNoConnection(node("a", security(stolen, "a")), node("b", security(dir, "b")));
    connect(node("a", security(dir, "a")), node("b", security(dir, "b")));
  }

  @Test
  void aNodeWhoseCertificateIsNotForItsHostIsToldSo() throws Exception {
    var security = ours("a");
    for (var host : List.of("a", "localhost", "127.0.0.1")) {
      security.requireFor(host);
    }
    var refusal =
        assertThrows(IllegalArgumentException.class, () -> security.requireFor("10.0.0.1"));
    var message = String.valueOf(refusal.getMessage());
    assertTrue(message.contains("a.pem is for a, localhost, 127.0.0.1"), message);
    assertTrue(message.contains("at 10.0.0.1"), message);
    security.withoutHostNames().requireFor("10.0.0.1");
  }

  @Test
  void enginesForOtherProtocolsEndWhenTheirPeersAreTrustedNoMore() throws Exception {
    var ours = Files.readString(shared.resolve("ours/authority.pem"));
    var theirs = Files.readString(shared.resolve("theirs/authority.pem"));
    var b = mixed("ours/b", ours + theirs);
    var x = mixed("theirs/x", ours);
    var toOurs = b.engine(false, "x", 1);
    var toTheirs = b.engine(false, "x", 1);
    assertTrue(agree(ours("a").engine(true, "localhost", 1), toOurs));
    assertTrue(agree(x.engine(true, "localhost", 1), toTheirs));
    Files.writeString(dir.resolve("b-trusts.pem"), ours);
    assertNotSame(null, b.context());
    assertTrue(toTheirs.isInboundDone());
    assertFalse(toOurs.isInboundDone());
  }

  /** As by a disk that fails for a moment. */
  @Test
  void filesWhoseFirstReadingFailedAreReadAgainThoughTheyLookTheSame() throws Exception {
    assertEquals(0, certificates(dir, "a"));
    var security = security(dir, "a");
    var before = security.context();
    var file = dir.resolve("authority.pem");
    var whole = Files.readString(file);
    var later = FileTime.from(Instant.now().plusSeconds(60));
    Files.writeString(file, whole.replace("BEGIN", "BEGUN"));
    Files.setLastModifiedTime(file, later);
    assertSame(before, security.context());
    Files.writeString(file, whole);
    Files.setLastModifiedTime(file, later);
    assertNotSame(before, security.context());
  }

  @Test
  void filesThatDoNotFitEachOtherAreNotTakenUntilTheyDo() throws Exception {
    assertEquals(0, certificates(dir, "a"));
    var security = security(dir, "a");
    var before = security.context();
    assertSame(before, security.context());
    assertEquals(0, certificates(dir.resolve("other"), "a"));
    Files.move(
        dir.resolve("other/a.key"), dir.resolve("a.key"), StandardCopyOption.REPLACE_EXISTING);
    assertSame(before, security.context(), "a key without its certificate");
    Files.writeString(dir.resolve("a.pem"), "half of a certif");
    assertSame(before, security.context(), "half a file");
    Files.delete(dir.resolve("a.pem"));
    assertSame(before, security.context(), "no file");
    Files.move(dir.resolve("other/a.pem"), dir.resolve("a.pem"));
    assertNotSame(before, security.context());
  }

  @Test
  void filesThatCannotBeUsedAreNamed() throws Exception {
    assertEquals(0, certificates(dir, "a", "b"));
    var key = dir.resolve("a.key");
    var certificate = dir.resolve("a.pem");
    var authority = dir.resolve("authority.pem");
    assertNames("b.key", () -> LinkSecurity.of(dir.resolve("b.key"), certificate, authority));
    assertNames("a.pem", () -> LinkSecurity.of(certificate, certificate, authority));
    assertNames("a.key", () -> LinkSecurity.of(key, key, authority));
    assertThrows(IOException.class, () -> LinkSecurity.of(key, dir.resolve("nothing"), authority));
  }

  private static void assertNames(String file, Executable executable) {
    var thrown = assertThrows(GeneralSecurityException.class, executable);
    assertTrue(String.valueOf(thrown.getMessage()).contains(file), thrown::toString);
  }

  @Test
  void enginesForOtherProtocolsHaveTheSameRules() throws Exception {
    assertTrue(agree(ours("a").engine(true, "localhost", 1), ours("b").engine(false, "x", 1)));
    assertFalse(agree(ours("a").engine(true, "elsewhere", 1), ours("b").engine(false, "x", 1)));
    var anonymous = withoutCertificate().createSSLEngine();
    anonymous.setUseClientMode(true);
    assertFalse(agree(anonymous, ours("b").engine(false, "x", 1)));
  }

  /** Lets both speak in turn until both are content, or one is not. */
  private static boolean agree(SSLEngine client, SSLEngine server) {
    var toServer = ByteBuffer.allocate(64 << 10);
    var toClient = ByteBuffer.allocate(64 << 10);
    try {
      for (int i = 0; i < 50; i++) {
        step(client, toServer, toClient);
        step(server, toClient, toServer);
      }
    } catch (SSLException e) {
      return false;
    }
    return server.getSession().isValid() && server.getSession().getCipherSuite().contains("AES");
  }

  private static void step(SSLEngine engine, ByteBuffer out, ByteBuffer in) throws SSLException {
    var plain = ByteBuffer.allocate(64 << 10);
    switch (engine.getHandshakeStatus()) {
      case NEED_TASK -> {
        for (var task = engine.getDelegatedTask(); task != null; task = engine.getDelegatedTask()) {
          task.run();
        }
      }
      case NEED_WRAP -> engine.wrap(ByteBuffer.allocate(0), out);
      default -> {
        in.flip();
        engine.unwrap(in, plain);
        in.compact();
      }
    }
  }

  // The script

  @Test
  void keysAreTheOwnersOnlyAndAnAuthorityIsNeverReplaced() throws Exception {
    assertEquals(0, certificates(dir, "a"));
    for (var key : List.of("a.key", "authority.key")) {
      assertEquals(
          PosixFilePermissions.fromString("rw-------"),
          Files.getPosixFilePermissions(dir.resolve(key)));
    }
    byte[] authority = Files.readAllBytes(dir.resolve("authority.pem"));
    byte[] first = Files.readAllBytes(dir.resolve("a.pem"));
    assertEquals(0, certificates(dir, "b", "a"));
    assertEquals(
        List.of("a.key", "a.pem", "authority.key", "authority.pem", "b.key", "b.pem", "former"),
        names());
    assertEquals(new String(authority, US_ASCII), Files.readString(dir.resolve("authority.pem")));
    assertNotEquals(new String(first, US_ASCII), Files.readString(dir.resolve("a.pem")));
    Files.delete(dir.resolve("authority.key"));
    assertNotEquals(0, certificates(dir, "c"));
    assertNotEquals(0, certificates(dir, "authority"));
    assertNotEquals(0, certificates(dir, "../c"));
    assertFalse(Files.exists(dir.resolve("c.pem")));
  }

  private List<String> names() throws IOException {
    try (var files = Files.list(dir)) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }
}
