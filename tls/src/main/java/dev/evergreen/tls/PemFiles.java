package dev.evergreen.tls;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
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
import java.security.cert.CRL;
import java.security.cert.CertPathBuilder;
import java.security.cert.CertStore;
import java.security.cert.CertificateFactory;
import java.security.cert.CollectionCertStoreParameters;
import java.security.cert.PKIXBuilderParameters;
import java.security.cert.PKIXRevocationChecker;
import java.security.cert.PKIXRevocationChecker.Option;
import java.security.cert.X509CertSelector;
import java.security.cert.X509Certificate;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import javax.net.ssl.CertPathTrustManagerParameters;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import org.jspecify.annotations.Nullable;

/**
 * The PEM files by which one side of TLS proves who it is, and knows whom to trust.
 *
 * <p>The file of authorities may also hold their lists of certificates that are revoked ("BEGIN
 * X509 CRL"). If there is one, each authority must have one, and nobody is trusted of whom it is
 * not known, for instance since the list has expired.
 *
 * @param key the private key, not encrypted, in the forms that OpenSSL writes: PKCS #8 ("BEGIN
 *     PRIVATE KEY"), PKCS #1 ("BEGIN RSA PRIVATE KEY"), SEC 1 ("BEGIN EC PRIVATE KEY")
 * @param certificates the key's certificate, and after it those between it and its authority's; may
 *     be the same file as the key's
 * @param authority the certificates that are trusted; null for nobody's
 */
public record PemFiles(Path key, Path certificates, @Nullable Path authority) {

  private static final char[] NO_PASSWORD = {};
  private static final Pattern BLOCK =
      Pattern.compile("-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \\1-----");

  /** What begins or ends a block, or is cut off amid that. */
  private static final Pattern MARK = Pattern.compile("-----(BEGIN |END |[A-Z]*\\s*\\z)");

  private static final String CERTIFICATE = "CERTIFICATE";
  private static final String REVOKED = "X509 CRL";
  private static final String PKCS8 = "PRIVATE KEY";
  private static final Set<String> KEYS = Set.of(PKCS8, "RSA PRIVATE KEY", "EC PRIVATE KEY");

  /** What may stand beside certificates and is passed over. */
  private static final Set<String> OTHERS =
      Set.of("ENCRYPTED PRIVATE KEY", "EC PARAMETERS", "DH PARAMETERS");

  /** What a file holds between two lines that name its type. */
  private record Block(String type, byte[] bytes) {}

  /**
   * Reads the files.
   *
   * @throws IOException if one cannot be read; the message says which
   * @throws GeneralSecurityException if one holds something else, or the key is not that of the
   *     certificate; the message says which
   */
  public SSLContext load() throws IOException, GeneralSecurityException {
    return context(keys(), trust());
  }

  /** A context that shows one certificate, and judges those of others. */
  public static SSLContext context(KeyManager[] keys, X509TrustManager trust)
      throws GeneralSecurityException {
    var made = SSLContext.getInstance("TLS");
    made.init(keys, new TrustManager[] {trust}, null);
    return made;
  }

  /**
   * Reads the key, and the certificate that is shown.
   *
   * @throws IOException if a file cannot be read; the message says which
   * @throws GeneralSecurityException if one holds something else, or the key is not that of the
   *     certificate; the message says which
   */
  public KeyManager[] keys() throws IOException, GeneralSecurityException {
    var identity = identity();
    var own = emptyStore();
    own.setKeyEntry("own", identity.key(), NO_PASSWORD, identity.chain());
    var keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(own, NO_PASSWORD);
    return keys.getKeyManagers();
  }

  /**
   * Reads the certificate that is shown.
   *
   * @throws IOException if the file cannot be read; the message says so
   * @throws GeneralSecurityException if it holds something else; the message says so
   */
  public X509Certificate certificate() throws IOException, GeneralSecurityException {
    return certificates(certificates).getFirst();
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
    var revoked = new ArrayList<CRL>();
    for (var authority : authorities) {
      for (var certificate : certificates(authority)) {
        trusted.setCertificateEntry("authority-" + trusted.size(), certificate);
      }
      revoked.addAll(read(authority, REVOKED, CertificateFactory::generateCRL));
    }
    var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    if (revoked.isEmpty()) {
      trust.init(trusted);
    } else {
      trust.init(new CertPathTrustManagerParameters(unlessRevoked(trusted, revoked)));
    }
    return Arrays.stream(trust.getTrustManagers())
        .filter(X509TrustManager.class::isInstance)
        .map(X509TrustManager.class::cast)
        .findFirst()
        .orElseThrow();
  }

  /** Asks nobody else: neither by OCSP, nor where certificates say that lists are to be had. */
  private static PKIXBuilderParameters unlessRevoked(KeyStore trusted, List<CRL> revoked)
      throws GeneralSecurityException {
    var checker =
        (PKIXRevocationChecker) CertPathBuilder.getInstance("PKIX").getRevocationChecker();
    checker.setOptions(EnumSet.of(Option.PREFER_CRLS, Option.NO_FALLBACK));
    var parameters = new PKIXBuilderParameters(trusted, new X509CertSelector());
    parameters.addCertPathChecker(checker);
    parameters.addCertStore(
        CertStore.getInstance("Collection", new CollectionCertStoreParameters(revoked)));
    return parameters;
  }

  private static KeyStore emptyStore() throws IOException, GeneralSecurityException {
    var store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    return store;
  }

  /**
   * What is in a file, if all of it can be understood: what cannot may be a list of what is
   * revoked.
   */
  private static List<Block> wholeBlocks(Path file) throws IOException, GeneralSecurityException {
    var text = text(file);
    if (MARK.matcher(BLOCK.matcher(text).replaceAll("")).find()) {
      throw new GeneralSecurityException(
          file
              + " holds something that is not whole: each -----BEGIN X----- needs its -----END X-----,"
              + " and Base64 between them");
    }
    var blocks = blocks(text);
    for (var block : blocks) {
      var type = block.type;
      if (!type.equals(CERTIFICATE)
          && !type.equals(REVOKED)
          && !KEYS.contains(type)
          && !OTHERS.contains(type)) {
        throw new GeneralSecurityException(
            "%s holds a \"%s\", which is not understood; certificates are \"%s\", and a list of those that are revoked is \"%s\""
                .formatted(file, type, CERTIFICATE, REVOKED));
      }
    }
    return blocks;
  }

  private static String text(Path file) throws IOException {
    try {
      return Files.readString(file, StandardCharsets.ISO_8859_1);
    } catch (NoSuchFileException e) {
      throw new IOException("there is no file " + file, e);
    } catch (IOException e) {
      throw new IOException(file + " cannot be read: " + e.getMessage(), e);
    }
  }

  private static List<Block> blocks(String text) {
    return BLOCK
        .matcher(text)
        .results()
        .map(found -> new Block(found.group(1), Base64.getMimeDecoder().decode(found.group(2))))
        .toList();
  }

  private static List<X509Certificate> certificates(Path file)
      throws IOException, GeneralSecurityException {
    var found = read(file, CERTIFICATE, CertificateFactory::generateCertificate);
    if (found.isEmpty()) {
      throw new GeneralSecurityException(file + " holds no certificate");
    }
    return found.stream().map(X509Certificate.class::cast).toList();
  }

  /** Reads what is in a block. */
  private interface Form<T> {
    T read(CertificateFactory factory, InputStream in) throws GeneralSecurityException;
  }

  private static <T> List<T> read(Path file, String type, Form<T> form)
      throws IOException, GeneralSecurityException {
    var factory = CertificateFactory.getInstance("X.509");
    var found = new ArrayList<T>();
    try {
      for (var block : wholeBlocks(file)) {
        if (block.type.equals(type)) {
          found.add(form.read(factory, new ByteArrayInputStream(block.bytes)));
        }
      }
    } catch (GeneralSecurityException | IllegalArgumentException e) {
      throw new GeneralSecurityException(
          "a " + type + " in " + file + " cannot be read: " + e.getMessage(), e);
    }
    return found;
  }

  private PrivateKey privateKey(PublicKey isOf) throws IOException, GeneralSecurityException {
    PrivateKey made;
    try {
      var text = text(key);
      var found =
          blocks(text).stream()
              .filter(block -> KEYS.contains(block.type))
              .findFirst()
              .orElseThrow(() -> noKey(text));
      var encoded = found.type.equals(PKCS8) ? found.bytes : pkcs8(found.bytes, isOf);
      made =
          KeyFactory.getInstance(isOf.getAlgorithm())
              .generatePrivate(new PKCS8EncodedKeySpec(encoded));
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

  private GeneralSecurityException noKey(String text) {
    return new GeneralSecurityException(
        key
            + (text.contains("ENCRYPTED")
                ? " holds a key that is encrypted, and there is nobody to say the password"
                : " holds no private key")
            + "; openssl pkcs8 -topk8 -nocrypt makes one that can be used (\"BEGIN PRIVATE KEY\")");
  }

  /**
   * The older forms do not say what kind of key they are of, and which curve, as PKCS #8 does (RFC
   * 5208, section 5); the public key says it in the same words (RFC 5280, section 4.1).
   */
  private static byte[] pkcs8(byte[] older, PublicKey isOf) {
    var subject = ByteBuffer.wrap(isOf.getEncoded());
    enter(subject);
    int algorithm = subject.position();
    int length = enter(subject);
    byte[] words = Arrays.copyOfRange(subject.array(), algorithm, subject.position() + length);
    byte[] version = {INTEGER, 1, 0};
    return tagged(SEQUENCE, version, words, tagged(OCTETS, older));
  }

  // DER, ITU-T X.690

  private static final byte INTEGER = 2;
  private static final byte OCTETS = 4;
  private static final byte SEQUENCE = 0x30;

  /** Goes over a tag and a length, which is returned. */
  private static int enter(ByteBuffer der) {
    der.get();
    int first = der.get() & 0xFF;
    int length = first & 0x7F;
    if (first > 0x7F) {
      length = 0;
      for (int i = first & 0x7F; i > 0; i--) {
        length = (length << 8) | (der.get() & 0xFF);
      }
    }
    return length;
  }

  private static byte[] tagged(byte tag, byte[]... parts) {
    int length = Arrays.stream(parts).mapToInt(part -> part.length).sum();
    var made = ByteBuffer.allocate(4 + length).put(tag).put((byte) 0x82).putShort((short) length);
    for (var part : parts) {
      made.put(part);
    }
    return made.array();
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
