package dev.evergreen.tls;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.tls.ServerTls.Clients;
import dev.evergreen.tls.ServerTls.Settings;
import dev.evergreen.tls.ServerTls.Version;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.GeneralSecurityException;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLPeerUnverifiedException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ServerTlsTest {

  @TempDir private Path folder;
  private Authority root;
  private PemFiles host;
  private ClientTls client;

  @BeforeEach
  void makeCertificates() throws Exception {
    root = Authority.root(folder.resolve("root"));
    host = root.host("host");
    client = ClientTls.trusting(root.authorities());
  }

  private static X509Certificate shown(SSLEngine client, ServerTls server) throws Exception {
    var sessions = Handshakes.shake(client, server.engine());
    return (X509Certificate) sessions.ofServer().getPeerCertificates()[0];
  }

  private X509Certificate shown(ServerTls server) throws Exception {
    return shown(client.engine("host", 1), server);
  }

  @Test
  void filesThatDoNotFitChangeNothingAndAreTriedAgain() throws Exception {
    var server = new ServerTls(Settings.of(host));
    var first = shown(server);
    var oldKey = Files.readString(host.key());
    root.host("host");
    var newKey = Files.readString(host.key());
    var newCertificate = Files.readString(host.certificates());
    for (var key : new String[] {oldKey, newKey.substring(0, newKey.length() / 2), ""}) {
      Files.writeString(host.key(), key);
      assertThrows(GeneralSecurityException.class, server::reload);
      assertEquals(first, shown(server));
    }
    Files.delete(host.key());
    assertThrows(IOException.class, server::reload);
    assertEquals(first, shown(server));
    Files.writeString(host.key(), newKey);
    Files.writeString(host.certificates(), newCertificate);
    server.reload();
    assertNotEquals(first, shown(server));
  }

  /** Who is told that they were read relies on it, whoever else has begun to read before. */
  @Test
  void whatIsReadAmidASlowerReadingOfFormerFilesStays() throws Exception {
    var server = new ServerTls(Settings.of(host));
    var former = shown(server);
    var slow = folder.resolve("slow");
    assertEquals(0, new ProcessBuilder("mkfifo", slow.toString()).start().waitFor());
    var authority = Files.readAllBytes(root.authorities());
    Files.move(slow, root.authorities(), StandardCopyOption.REPLACE_EXISTING);
    var first = reloading(server);
    Thread second;
    try (var toFirst = Files.newOutputStream(root.authorities())) {
      Files.delete(root.authorities());
      Files.write(root.authorities(), authority);
      root.host("host");
      second = reloading(server);
      while (second.getState() == Thread.State.NEW || second.getState() == Thread.State.RUNNABLE) {
        Thread.onSpinWait();
      }
      toFirst.write(authority);
    }
    first.join();
    second.join();
    assertNotEquals(former, shown(server));
  }

  private static Thread reloading(ServerTls server) {
    return Thread.ofPlatform()
        .start(
            () -> {
              try {
                server.reload();
              } catch (IOException | GeneralSecurityException e) {
                throw new AssertionError(e);
              }
            });
  }

  /** Also its tickets: nobody comes back by one of before. */
  @Test
  void whoIsRevokedIsRefusedAfterTheFilesWereReadAgain() throws Exception {
    var server = new ServerTls(Settings.of(host).withClients(Clients.REQUIRED));
    var known = ClientTls.of(root.host("known"));
    for (int i = 0; i < 3; i++) {
      shown(known.engine("host", 1), server);
    }
    root.revoke("known");
    Files.writeString(root.authorities(), Files.readString(root.authorities()) + root.revoked(""));
    server.reload();
    assertThrows(SSLException.class, () -> shown(known.engine("host", 1), server));
  }

  @Test
  void whoShowsACertificateAndNamesNoAuthorityTrustsThoseOfTheJdk() throws Exception {
    var known = root.host("known");
    var client = ClientTls.of(new PemFiles(known.key(), known.certificates(), null));
    var server = new ServerTls(Settings.of(host));
    var refused = assertThrows(SSLException.class, () -> shown(client.engine("host", 1), server));
    var why = String.valueOf(refused.getMessage());
    assertTrue(why.contains("unable to find valid certification path"), why);
  }

  @Test
  void clientsShowCertificatesAsTheServerDemands() throws Exception {
    var known = ClientTls.of(root.host("known"));
    var stranger =
        ClientTls.of(
            new PemFiles(
                Authority.root(folder.resolve("other")).host("x").key(),
                folder.resolve("other/x.pem"),
                root.authorities()));
    for (var clients : Clients.values()) {
      var server = new ServerTls(Settings.of(host).withClients(clients));
      var session = Handshakes.shake(known.engine("host", 1), server.engine()).ofClient();
      if (clients == Clients.ANONYMOUS) {
        assertThrows(SSLPeerUnverifiedException.class, session::getPeerCertificates);
        shown(stranger.engine("host", 1), server);
      } else {
        assertEquals(
            "CN=known",
            ((X509Certificate) session.getPeerCertificates()[0])
                .getSubjectX500Principal()
                .getName());
        // It does not show what the server does not take; who must show something is refused.
        if (clients == Clients.REQUIRED) {
          assertThrows(SSLException.class, () -> shown(stranger.engine("host", 1), server));
          assertThrows(SSLException.class, () -> shown(client.engine("host", 1), server));
        }
      }
    }
  }

  @Test
  void whomOneOfItsCertificatesTrustsIsLetInWhateverHostItNames() throws Exception {
    var other = Authority.root(folder.resolve("other"));
    var both = Settings.of(host, other.host("second")).withClients(Clients.REQUIRED);
    var known = other.host("known");
    var client = ClientTls.of(new PemFiles(known.key(), known.certificates(), root.authorities()));
    shown(client.engine("host", 1), new ServerTls(both));
  }

  @Test
  void clientsCannotBeDemandedToBeKnownByNobody() {
    var anonymous = new PemFiles(host.key(), host.certificates(), null);
    assertThrows(
        IllegalArgumentException.class, () -> Settings.of(anonymous).withClients(Clients.REQUIRED));
  }

  @Test
  void theKeyIsOneThatTheClientCanUse() throws Exception {
    var rsa = root.host("host-rsa", "RSA -pkeyopt rsa_keygen_bits:2048");
    var server = new ServerTls(Settings.of(rsa, host));
    var old = client.engine("host", 1);
    old.setEnabledProtocols(new String[] {"TLSv1.2"});
    old.setEnabledCipherSuites(new String[] {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"});
    assertEquals("EC", shown(old, server).getPublicKey().getAlgorithm());
    var other = client.engine("a.host-rsa", 1);
    assertEquals("RSA", shown(other, server).getPublicKey().getAlgorithm());
  }

  @Test
  void olderVersionsAreSpokenOnlyIfTheyMayBe() throws Exception {
    var old = new String[] {"TLSv1.2"};
    var engine = client.engine("host", 1);
    engine.setEnabledProtocols(old);
    shown(engine, new ServerTls(Settings.of(host)));
    var again = client.engine("host", 1);
    again.setEnabledProtocols(old);
    var strict = new ServerTls(Settings.of(host).withLeast(Version.TLS_1_3));
    assertThrows(SSLException.class, () -> shown(again, strict));
    assertEquals("EC", shown(strict).getPublicKey().getAlgorithm());
  }
}
