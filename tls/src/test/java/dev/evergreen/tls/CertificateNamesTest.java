package dev.evergreen.tls;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CertificateNamesTest {

  private static final String PASSWORD = "secret";

  @TempDir private Path folder;

  @Test
  void aRangeOfAddressesStandsForNoHost() throws Exception {
    var names = made("SAN=IP:10.0.0.0/255.0.0.0,DNS:x.example,IP:127.0.0.1");
    assertEquals(List.of("x.example"), names.names());
    assertTrue(names.match("127.0.0.1"));
    assertTrue(names.match("X.example"));
    assertFalse(names.match("10.0.0.0"));
  }

  @Test
  void aStarStandsForOneLabel() throws Exception {
    var names = made("SAN=DNS:*.x.example");
    assertTrue(names.match("a.x.example"));
    assertFalse(names.match("a.b.x.example"));
    assertFalse(names.match("x.example"));
  }

  /** Of a certificate with that extension, made by the JDK's tool. */
  private CertificateNames made(String extension) throws Exception {
    var file = folder.resolve("keys").toFile();
    var tool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
    var command =
        List.of(
            tool,
            "-genkeypair",
            "-keyalg",
            "EC",
            "-dname",
            "CN=test",
            "-alias",
            "test",
            "-keystore",
            file.getPath(),
            "-storepass",
            PASSWORD,
            "-ext",
            extension);
    var process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    assertEquals(0, process.waitFor());
    return CertificateNames.of(keys(file).getCertificate("test"));
  }

  private static KeyStore keys(File file) throws Exception {
    return KeyStore.getInstance(file, PASSWORD.toCharArray());
  }
}
