package dev.evergreen.tls;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class PemFilesTest {

  @TempDir private static Path folder;
  private static Authority root;

  @BeforeAll
  static void makeAuthority() throws IOException {
    root = Authority.root(folder.resolve("root"));
    root.host("ec");
    root.host("rsa", "RSA -pkeyopt rsa_keygen_bits:2048");
  }

  private static void shake(ClientTls client, String host, PemFiles server) throws Exception {
    Handshakes.shake(client.engine(host, 1), new ServerTls(ServerTls.Settings.of(server)).engine());
  }

  /** A context that is made of such files is shown and believed. */
  private static void assertServes(PemFiles server, String host) throws Exception {
    server.load();
    shake(ClientTls.trusting(root.authorities()), host, server);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "EC -pkeyopt ec_paramgen_curve:P-384",
        "EC -pkeyopt ec_paramgen_curve:P-521",
        "RSA -pkeyopt rsa_keygen_bits:3072",
        "ED25519"
      })
  void keysOfEveryKindAreRead(String algorithm) throws Exception {
    assertServes(root.host("kind", algorithm), "kind");
  }

  @ParameterizedTest
  @CsvSource({
    "rsa, rsa -traditional, BEGIN RSA PRIVATE KEY",
    "ec, ec, BEGIN EC PRIVATE KEY",
    "ec, ec -conv_form compressed -no_public, BEGIN EC PRIVATE KEY",
    "rsa, pkcs8 -topk8 -nocrypt, BEGIN PRIVATE KEY",
    "ec, pkcs8 -topk8 -nocrypt, BEGIN PRIVATE KEY"
  })
  void keysInEveryFormAreRead(String name, String form, String begins) throws Exception {
    root.openssl(name, form + " -in %1$s.key -out form.key".formatted(name));
    assertTrue(Files.readString(root.file("form.key")).contains(begins));
    assertServes(new PemFiles(root.file("form.key"), root.file(name + ".pem"), null), name);
  }

  /** As "openssl ecparam -genkey" writes it, which says the curve first. */
  @Test
  void aKeyBehindItsParametersIsRead() throws Exception {
    root.openssl("old", "ecparam -genkey -name prime256v1 -out old.key");
    assertTrue(Files.readString(root.file("old.key")).startsWith("-----BEGIN EC PARAMETERS"));
    assertServes(root.sign("old", ""), "old");
  }

  @Test
  void keyAndCertificatesMayBeOneFileAmongOtherText() throws Exception {
    var both = root.file("both.pem");
    Files.writeString(
        both,
        "Bag Attributes\r\n"
            + Files.readString(root.file("ec.pem")).replace("\n", "\r\n")
            + "subject=CN = ec\r\n"
            + Files.readString(root.file("ec.key")).replace("\n", "\r\n"));
    assertServes(new PemFiles(both, both, null), "ec");
  }

  private static void assertRefused(String says, Executable loading) {
    var refusal = assertThrows(GeneralSecurityException.class, loading);
    assertTrue(String.valueOf(refusal.getMessage()).contains(says), refusal::toString);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "pkcs8 -topk8 -passout pass:secret -in ec.key",
        "ec -aes128 -passout pass:secret -in ec.key",
        "rsa -aes128 -traditional -passout pass:secret -in rsa.key"
      })
  void ofAnEncryptedKeyIsSaidWhatToDo(String command) throws Exception {
    root.openssl("ec", command + " -out secret.key");
    var files = new PemFiles(root.file("secret.key"), root.file("ec.pem"), null);
    assertRefused("secret.key holds a key that is encrypted", files::load);
    assertRefused("openssl pkcs8 -topk8 -nocrypt", files::load);
  }

  @Test
  void theKeyMustBeThatOfTheCertificate() throws Exception {
    root.host("other");
    for (var wrong : new String[] {"other", "rsa"}) {
      var files = new PemFiles(root.file(wrong + ".key"), root.file("ec.pem"), null);
      assertRefused(wrong + ".key", files::load);
    }
  }

  @Test
  void filesThatAreMissingOrHoldSomethingElseAreNamed() {
    var key = root.file("ec.key");
    var certificate = root.file("ec.pem");
    assertRefused("ec.pem", () -> new PemFiles(certificate, certificate, null).load());
    assertRefused("ec.key", () -> new PemFiles(key, key, null).load());
    assertRefused("ec.key", () -> new PemFiles(key, certificate, key).load());
    for (var files :
        new PemFiles[] {
          new PemFiles(root.file("nothing"), certificate, null),
          new PemFiles(key, root.file("nothing"), null),
          new PemFiles(key, certificate, root.file("nothing"))
        }) {
      var refusal = assertThrows(IOException.class, files::load);
      assertTrue(String.valueOf(refusal.getMessage()).contains("nothing"), refusal::toString);
    }
  }

  @Test
  void aFileThatIsNotWrittenToItsEndIsRefused() throws Exception {
    for (var name : new String[] {"ec.key", "ec.pem", "authority.pem"}) {
      var whole = Files.readString(root.file(name)).stripTrailing();
      var part = root.file("part");
      for (int end = 0; end < whole.length(); end += 97) {
        Files.writeString(part, whole.substring(0, end));
        var files =
            new PemFiles(
                name.equals("ec.key") ? part : root.file("ec.key"),
                name.equals("ec.pem") ? part : root.file("ec.pem"),
                name.equals("authority.pem") ? part : root.authorities());
        assertRefused("part", files::load);
      }
    }
  }

  @Test
  void theCertificatesBetweenAreShown() throws Exception {
    var between = root.intermediate("between");
    var host = between.host("host");
    var trusting = ClientTls.trusting(root.authorities());
    assertThrows(SSLException.class, () -> shake(trusting, "host", host));
    var chain = between.file("chain.pem");
    Files.writeString(
        chain, Files.readString(host.certificates()) + Files.readString(between.authorities()));
    shake(trusting, "host", new PemFiles(host.key(), chain, null));
    assertEquals(
        "CN=host",
        new PemFiles(host.key(), chain, null).certificate().getSubjectX500Principal().getName());
  }

  @Test
  void anExpiredCertificateIsRefused() throws Exception {
    root.openssl("late", "genpkey -quiet -algorithm ED25519 -out late.key");
    var late = root.sign("late", "-startdate 20200101000000Z -enddate 20200102000000Z");
    var trusting = ClientTls.trusting(root.authorities());
    assertThrows(SSLException.class, () -> shake(trusting, "late", late));
    root.sign("late", "");
    shake(trusting, "late", late);
  }
}
