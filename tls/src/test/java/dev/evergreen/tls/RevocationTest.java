package dev.evergreen.tls;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.tls.ServerTls.Clients;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Lists of revoked certificates, in the file of authorities. */
final class RevocationTest {

  @TempDir private static Path folder;
  private static Authority root;
  private static Authority between;
  private static String authority;

  @BeforeAll
  static void makeCertificates() throws IOException {
    root = Authority.root(folder.resolve("root"));
    root.host("good");
    root.host("bad");
    root.revoke("bad");
    between = root.intermediate("between");
    between.host("far");
    authority = Files.readString(root.authorities());
  }

  /** The files of a host whose file of authorities holds this. */
  private static PemFiles files(String name, String... authorities) throws IOException {
    var file = Files.createTempFile(folder, "authorities", ".pem");
    Files.writeString(file, String.join("\n", authorities));
    return new PemFiles(root.file(name + ".key"), root.file(name + ".pem"), file);
  }

  private static void shake(PemFiles client, String host, PemFiles server) throws Exception {
    var settings = ServerTls.Settings.of(server).withClients(Clients.REQUIRED);
    Handshakes.shake(ClientTls.of(client).engine(host, 1), new ServerTls(settings).engine());
  }

  private static void assertRefused(PemFiles client, String host, PemFiles server) {
    assertThrows(SSLException.class, () -> shake(client, host, server));
  }

  /** A file that is being written, or was damaged, would let in again who is revoked. */
  @Test
  void aListThatIsNotWholeIsRefused() throws Exception {
    var list = root.revoked("");
    int middle = list.length() / 2;
    assertUnclear(list.substring(0, list.indexOf("-----END X509 CRL")), "not whole");
    assertUnclear(list.substring(0, 8), "not whole");
    assertUnclear(list.replace("END X509 CRL", "END CRL"), "not whole");
    assertUnclear(list.substring(0, middle) + "-" + list.substring(middle), "not whole");
    assertUnclear(list.replace("X509 CRL", "CRL"), "a \"CRL\", which is not understood");
  }

  private static void assertUnclear(String list, String why) throws IOException {
    var files = files("good", authority, list);
    var refusal = assertThrows(GeneralSecurityException.class, files::load);
    assertTrue(String.valueOf(refusal.getMessage()).contains(why), refusal::toString);
  }

  @Test
  void whoIsOnTheListIsRefusedByEitherSide() throws Exception {
    var list = root.revoked("");
    shake(files("bad", authority), "good", files("good", authority));
    assertRefused(files("bad", authority), "good", files("good", authority, list));
    assertRefused(files("good", authority, list), "bad", files("bad", authority));
    shake(files("good", authority, list), "good", files("good", list, authority));
  }

  @Test
  void anExpiredListVouchesForNobody() throws Exception {
    var list = root.revoked("-crl_lastupdate 20200101000000Z -crl_nextupdate 20200102000000Z");
    assertRefused(files("good", authority), "good", files("good", authority, list));
  }

  @Test
  void aListCountsOnlyIfItIsItsAuthoritys() throws Exception {
    var other = Authority.root(Files.createTempDirectory(folder, "other"));
    // Of the same name, but with another key.
    var forged = other.revoked("");
    assertRefused(files("good", authority), "good", files("good", authority, forged));
  }

  @Test
  void eachAuthorityOnTheWayNeedsAList() throws Exception {
    var chain = between.file("chain.pem");
    Files.writeString(
        chain, Files.readString(between.file("far.pem")) + Files.readString(between.authorities()));
    var far = new PemFiles(between.file("far.key"), chain, root.authorities());
    var list = root.revoked("");
    assertRefused(far, "good", files("good", authority, list));
    shake(far, "good", files("good", authority, list, between.revoked("")));
  }

  @Test
  void aListThatCannotBeReadIsNamed() throws Exception {
    var list = root.revoked("").replaceFirst("(?m)^M.*$", "MIHOMHUw");
    var files = files("good", authority, list);
    var refusal = assertThrows(GeneralSecurityException.class, files::load);
    assertEquals(
        "a X509 CRL in " + files.authority(),
        String.valueOf(refusal.getMessage()).split(" cannot", -1)[0]);
  }
}
