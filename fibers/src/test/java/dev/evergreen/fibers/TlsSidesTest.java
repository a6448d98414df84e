package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.tls.ClientTls;
import dev.evergreen.tls.ServerTls;
import dev.evergreen.tls.ServerTls.Clients;
import dev.evergreen.tls.ServerTls.Settings;
import dev.evergreen.tls.ServerTls.Version;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Clients and servers with TLS, both on connections of ours. */
@Timeout(120)
class TlsSidesTest {

  private static final Duration PATIENCE = Duration.ofSeconds(30);

  @TempDir Path folder;

  private static Settings oneAndTwo() {
    return Settings.of(Certificates.of("one.example"), Certificates.of("two.example"));
  }

  private static ClientTls client() throws Exception {
    return ClientTls.of(Certificates.of("node"));
  }

  /** Both sides of a connection, hands shaken, and a byte exchanged each way. */
  private record Both(Connection client, Connection server) implements AutoCloseable {

    static Both shakeHands(Fibers fibers, SSLEngine client, SSLEngine server) throws Exception {
      var pair = MemoryPair.of(fibers);
      var accepted = Fiber.start(fibers, () -> greet(pair.far(), server));
      var connected = Fiber.start(fibers, () -> greet(pair.near(), client));
      try {
        return new Both(Fiber.get(connected), Fiber.get(accepted));
      } catch (IOException e) {
        // The other side learns of it, and does not wait on.
        accepted.handle((_, _) -> 0).get(60, TimeUnit.SECONDS);
        connected.handle((_, _) -> 0).get(60, TimeUnit.SECONDS);
        throw e;
      }
    }

    /** In TLS 1.3 a client learns only by reading that its certificate is refused. */
    private static Connection greet(Connection raw, SSLEngine engine) throws IOException {
      try {
        var connection = raw.overTls(engine, PATIENCE);
        connection.write(Pair.bytes("!"));
        connection.flush();
        if (connection.read(ByteBuffer.allocate(1)) < 0) {
          throw new SSLException("the peer has refused");
        }
        return connection;
      } catch (IOException e) {
        raw.close();
        throw e;
      }
    }

    TlsSession clientSession() {
      return client.tlsSession().orElseThrow();
    }

    TlsSession serverSession() {
      return server.tlsSession().orElseThrow();
    }

    @Override
    public void close() {
      client.close();
      server.close();
    }
  }

  private static String name(X509Certificate certificate) {
    return certificate.getSubjectX500Principal().getName();
  }

  @ParameterizedTest
  @EnumSource
  void theCertificateIsThatOfTheHostThatIsAskedFor(Kind kind) throws Exception {
    var server = new ServerTls(oneAndTwo());
    try (var fibers = kind.start()) {
      for (var host : List.of("one.example", "two.example", "TWO.example", "localhost")) {
        try (var both = Both.shakeHands(fibers, client().engine(host, 443), server.engine())) {
          var expected = host.equalsIgnoreCase("two.example") ? "two" : "one";
          assertEquals(
              "CN=" + expected + ".example",
              name(both.clientSession().peerCertificates().getFirst()));
          assertEquals(
              Optional.of(host.toLowerCase(java.util.Locale.ROOT)),
              both.serverSession().requestedHost().map(String::toLowerCase));
          assertEquals("TLSv1.3", both.serverSession().version());
          assertEquals(List.of(), both.serverSession().peerCertificates());
        }
      }
      // An address is no name to ask for, but is checked as well.
      try (var both = Both.shakeHands(fibers, client().engine("127.0.0.1", 443), server.engine())) {
        assertEquals(Optional.empty(), both.serverSession().requestedHost());
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"TWO_PROCESSORS", "JDK"})
  void aServerThatIsNotTheHostOrNotTrustedIsRefused(Kind kind) throws Exception {
    var server = new ServerTls(oneAndTwo());
    Certificates.make(folder, "one.example");
    var trustsOthers = ClientTls.trusting(folder.resolve("authority.pem"));
    var trustsOurs =
        ClientTls.trusting(Optional.ofNullable(Certificates.of("node").authority()).orElseThrow());
    try (var fibers = kind.start()) {
      for (var engine :
          List.of(
              client().engine("three.example", 443),
              client().engine("192.0.2.1", 443),
              trustsOthers.engine("one.example", 443),
              ClientTls.trustingPublic().engine("one.example", 443))) {
        assertThrows(SSLException.class, () -> Both.shakeHands(fibers, engine, server.engine()));
      }
      Both.shakeHands(fibers, trustsOurs.engine("one.example", 443), server.engine()).close();
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"TWO_PROCESSORS", "JDK"})
  void theServerChoosesTheProtocolThatItLikesBest(Kind kind) throws Exception {
    var server = new ServerTls(oneAndTwo().withProtocols("h2", "http/1.1"));
    try (var fibers = kind.start()) {
      try (var both =
          Both.shakeHands(
              fibers,
              client().withProtocols("http/1.1", "h2").engine("one.example", 443),
              server.engine())) {
        assertEquals(Optional.of("h2"), both.clientSession().applicationProtocol());
        assertEquals(Optional.of("h2"), both.serverSession().applicationProtocol());
      }
      try (var both =
          Both.shakeHands(fibers, client().engine("one.example", 443), server.engine())) {
        assertEquals(Optional.empty(), both.clientSession().applicationProtocol());
      }
      assertThrows(
          SSLException.class,
          () ->
              Both.shakeHands(
                  fibers,
                  client().withProtocols("smtp").engine("one.example", 443),
                  server.engine()));
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"TWO_PROCESSORS", "JDK"})
  void clientsProveWhoTheyAreAsTheServerWants(Kind kind) throws Exception {
    Certificates.make(folder, "stranger");
    var stranger =
        new ServerTls(Settings.of(Certificates.of("one.example")).withLeast(Version.TLS_1_3));
    var anonymous = ClientTls.trusting(folder.resolve("authority.pem"));
    var required =
        new ServerTls(
            Settings.of(Certificates.in(folder, "stranger")).withClients(Clients.REQUIRED));
    var wanted =
        new ServerTls(Settings.of(Certificates.in(folder, "stranger")).withClients(Clients.WANTED));
    var known = ClientTls.of(Certificates.in(folder, "stranger"));
    try (var fibers = kind.start()) {
      try (var both = Both.shakeHands(fibers, known.engine("stranger", 1), required.engine())) {
        assertEquals("CN=stranger", name(both.serverSession().peerCertificates().getFirst()));
      }
      assertThrows(
          IOException.class,
          () -> Both.shakeHands(fibers, anonymous.engine("stranger", 1), required.engine()));
      try (var both = Both.shakeHands(fibers, anonymous.engine("stranger", 1), wanted.engine())) {
        assertEquals(List.of(), both.serverSession().peerCertificates());
      }
      try (var both =
          Both.shakeHands(fibers, client().engine("one.example", 1), stranger.engine())) {
        assertEquals("TLSv1.3", both.clientSession().version());
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"TWO_PROCESSORS", "JDK"})
  void newCertificatesAreTakenWithoutANewServer(Kind kind) throws Exception {
    Certificates.make(folder, "host.example");
    var files = Certificates.in(folder, "host.example");
    var server = new ServerTls(Settings.of(files));
    var client = ClientTls.of(files);
    try (var fibers = kind.start();
        var before = Both.shakeHands(fibers, client.engine("host.example", 1), server.engine())) {
      Certificates.make(folder, "host.example");
      var old = before.clientSession().peerCertificates().getFirst();
      assertEquals(old, certificateOf(fibers, client, server));
      server.reload();
      var renewed = certificateOf(fibers, client, server);
      assertTrue(!old.equals(renewed));
      // What cannot be read changes nothing.
      Files.writeString(files.key(), "no key");
      assertThrows(java.security.GeneralSecurityException.class, server::reload);
      assertEquals(renewed, certificateOf(fibers, client, server));
      before.server().write(Pair.bytes("still"));
      before.server().flush();
      assertEquals("still", Fiber.run(fibers, () -> Pair.read(before.client(), 5)));
    }
  }

  private static X509Certificate certificateOf(Fibers fibers, ClientTls client, ServerTls server)
      throws Exception {
    try (var both = Both.shakeHands(fibers, client.engine("host.example", 1), server.engine())) {
      return both.clientSession().peerCertificates().getFirst();
    }
  }
}
