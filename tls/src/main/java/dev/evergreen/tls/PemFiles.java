package dev.evergreen.tls;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import org.jspecify.annotations.Nullable;

/**
 * The PEM files by which one side of TLS proves who it is, and knows whom to trust.
 *
 * @param key the private key (PKCS #8, not encrypted: "BEGIN PRIVATE KEY")
 * @param certificates the key's certificate, and after it those between it and its authority's; may
 *     be the same file as the key's
 * @param authority the certificates that are trusted; null for nobody's
 */
public record PemFiles(Path key, Path certificates, @Nullable Path authority) {

  private static final char[] NO_PASSWORD = {};
  private static final Pattern KEY = block("PRIVATE KEY");
  private static final Pattern CERTIFICATE = block("CERTIFICATE");

  private static Pattern block(String type) {
    return Pattern.compile("-----BEGIN " + type + "-----([^-]*)-----END " + type + "-----");
  }

  /** The files that there are. */
  public List<Path> all() {
    return authority == null ? List.of(key, certificates) : List.of(key, certificates, authority);
  }

  /**
   * Reads the files.
   *
   * @throws IOException if one cannot be read; the message says which
   * @throws GeneralSecurityException if one holds something else, or the key is not that of the
   *     certificate; the message says which
   */
  public SSLContext load() throws IOException, GeneralSecurityException {
    var identity = identity();
    var own = emptyStore();
    own.setKeyEntry("own", identity.key(), NO_PASSWORD, identity.chain());
    var keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(own, NO_PASSWORD);
    var made = SSLContext.getInstance("TLS");
    made.init(keys.getKeyManagers(), new TrustManager[] {trust()}, null);
    return made;
  }

  /** A key and its certificates. */
  record Identity(PrivateKey key, X509Certificate[] chain) {}

  Identity identity() throws IOException, GeneralSecurityException {
    var chain = certificates(certificates);
    var privateKey = privateKey(chain.getFirst().getPublicKey());
    return new Identity(privateKey, chain.toArray(X509Certificate[]::new));
  }

  /**
   * Reads whom to trust: what judges the certificates of others by those of the authority, as the
   * contexts of {@link #load} do.
   *
   * @throws IOException if the file cannot be read; the message says so
   * @throws GeneralSecurityException if it holds something else; the message says so
   */
  public X509TrustManager trust() throws IOException, GeneralSecurityException {
    return trust(authority == null ? List.of() : List.of(authority));
  }

  /** Reads whom to trust: what judges the certificates of others by those in some files. */
  static X509TrustManager trust(List<Path> authorities)
      throws IOException, GeneralSecurityException {
    var trusted = emptyStore();
    for (var authority : authorities) {
      for (var certificate : certificates(authority)) {
        trusted.setCertificateEntry("authority-" + trusted.size(), certificate);
      }
    }
    var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    return Arrays.stream(trust.getTrustManagers())
        .filter(X509TrustManager.class::isInstance)
        .map(X509TrustManager.class::cast)
        .findFirst()
        .orElseThrow();
  }

  private static KeyStore emptyStore() throws IOException, GeneralSecurityException {
    var store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    return store;
  }

  private static List<byte[]> blocks(Path file, Pattern block) throws IOException {
    try {
      return block
          .matcher(Files.readString(file, StandardCharsets.ISO_8859_1))
          .results()
          .map(found -> Base64.getMimeDecoder().decode(found.group(1)))
          .toList();
    } catch (NoSuchFileException e) {
      throw new IOException("there is no file " + file, e);
    } catch (IOException e) {
      throw new IOException(file + " cannot be read: " + e.getMessage(), e);
    }
  }

  private static List<X509Certificate> certificates(Path file)
      throws IOException, GeneralSecurityException {
    var factory = CertificateFactory.getInstance("X.509");
    var found = new ArrayList<X509Certificate>();
    try {
      for (var block : blocks(file, CERTIFICATE)) {
        found.add((X509Certificate) factory.generateCertificate(new ByteArrayInputStream(block)));
      }
    } catch (GeneralSecurityException | IllegalArgumentException e) {
      throw new GeneralSecurityException(file + " holds no certificates: " + e.getMessage(), e);
    }
    if (found.isEmpty()) {
      throw new GeneralSecurityException(file + " holds no certificate");
    }
    return found;
  }

  private PrivateKey privateKey(PublicKey isOf) throws IOException, GeneralSecurityException {
    PrivateKey made;
    try {
      var found = blocks(key, KEY);
      if (found.isEmpty()) {
        throw new GeneralSecurityException(
            key
                + " holds no private key in PKCS #8 (\"BEGIN PRIVATE KEY\"); openssl pkcs8 -topk8"
                + " -nocrypt makes one of other forms");
      }
      var spec = new PKCS8EncodedKeySpec(found.getFirst());
      made = KeyFactory.getInstance(isOf.getAlgorithm()).generatePrivate(spec);
    } catch (InvalidKeySpecException | IllegalArgumentException e) {
      throw new GeneralSecurityException(
          key + " is no key for the certificate in " + certificates + ": " + e.getMessage(), e);
    }
    if (!fit(made, isOf)) {
      throw new GeneralSecurityException(
          "the key in " + key + " is not that of the certificate in " + certificates);
    }
    return made;
  }

  private static boolean fit(PrivateKey mine, PublicKey theirs) throws GeneralSecurityException {
    var algorithm =
        switch (mine.getAlgorithm()) {
          case "RSA" -> "SHA256withRSA";
          case "EC" -> "SHA256withECDSA";
          default -> mine.getAlgorithm();
        };
    var signature = Signature.getInstance(algorithm);
    signature.initSign(mine);
    byte[] signed = signature.sign();
    signature.initVerify(theirs);
    return signature.verify(signed);
  }
}
