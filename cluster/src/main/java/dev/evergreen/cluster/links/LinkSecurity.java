package dev.evergreen.cluster.links;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

/**
 * How nodes prove to each other who they are: TLS 1.3, in which both sides must show a certificate
 * of an authority that both trust. Made from PEM files, which are looked at again from time to
 * time: new connections use what is there by then, and as long as new files cannot be used, or do
 * not fit each other yet, the former ones. {@code scripts/certificates} makes files for tests and
 * small clusters. Thread-safe.
 */
public final class LinkSecurity {

  private static final Duration LOOK_EVERY = Duration.ofSeconds(10);
  private static final String[] PROTOCOLS = {"TLSv1.3"};
  private static final char[] NO_PASSWORD = {};
  private static final Pattern KEY =
      Pattern.compile("-----BEGIN PRIVATE KEY-----([^-]*)-----END PRIVATE KEY-----");

  private final Path key;
  private final Path certificates;
  private final Path authority;
  private final boolean hostNames;
  private final Duration lookEvery;
  private final LinkLog log = new LinkLog();

  /** What tells whether a file has changed. */
  private record Stamp(FileTime modified, long size) {}

  private List<Stamp> stamps; // guarded by this
  private SSLContext context; // guarded by this
  private long lookedAt = System.nanoTime(); // guarded by this

  private LinkSecurity(
      Path key, Path certificates, Path authority, boolean hostNames, Duration lookEvery)
      throws IOException, GeneralSecurityException {
    this.key = key;
    this.certificates = certificates;
    this.authority = authority;
    this.hostNames = hostNames;
    this.lookEvery = lookEvery;
    this.stamps = stamps();
    this.context = load();
  }

  /**
   * Reads the files.
   *
   * @param key the node's private key (PKCS #8, not encrypted: "BEGIN PRIVATE KEY")
   * @param certificates the node's certificate, and after it those between it and the authority's
   * @param authority the certificates that are trusted
   * @throws IOException if a file cannot be read
   * @throws GeneralSecurityException if a file holds something else, or the key is not that of the
   *     certificate; the message says which
   */
  public static LinkSecurity of(Path key, Path certificates, Path authority)
      throws IOException, GeneralSecurityException {
    return new LinkSecurity(key, certificates, authority, true, LOOK_EVERY);
  }

  /**
   * The same without a look at the names in certificates: any node of the authority may be at any
   * address.
   */
  public LinkSecurity withoutHostNames() throws IOException, GeneralSecurityException {
    return new LinkSecurity(key, certificates, authority, false, lookEvery);
  }

  /** The same with another time after which the files are looked at again; 10 seconds if unset. */
  public LinkSecurity lookingEvery(Duration value) throws IOException, GeneralSecurityException {
    return new LinkSecurity(key, certificates, authority, hostNames, value);
  }

  /** A context of the files as they are now, or were a moment ago. Reads them where needed. */
  public synchronized SSLContext context() {
    long now = System.nanoTime();
    if (now - lookedAt >= lookEvery.toNanos()) {
      lookedAt = now;
      try {
        var found = stamps();
        if (!found.equals(stamps)) {
          context = load();
          stamps = found;
        }
      } catch (IOException | GeneralSecurityException | RuntimeException e) {
        log.warn(
            LinkLog.Kind.CERTIFICATES,
            () ->
                "the new certificate files cannot be used yet, the former are: " + e.getMessage());
      }
    }
    return context;
  }

  /**
   * An engine with the same rules as the links: for other protocols between the same nodes.
   *
   * @param client whether this side makes the connection
   * @param host the host of the other side, as it must stand in its certificate
   */
  public SSLEngine engine(boolean client, String host, int port) {
    var engine = context().createSSLEngine(host, port);
    engine.setUseClientMode(client);
    engine.setSSLParameters(parameters(engine.getSSLParameters(), client));
    return engine;
  }

  private SSLParameters parameters(SSLParameters parameters, boolean client) {
    parameters.setProtocols(PROTOCOLS);
    if (!client) {
      parameters.setNeedClientAuth(true);
    } else if (hostNames) {
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
    }
    return parameters;
  }

  /** Puts TLS over a connection that another node has made. */
  Socket accept(Socket raw) throws IOException {
    var socket =
        (SSLSocket) context().getSocketFactory().createSocket(raw, (InputStream) null, true);
    return shakeHands(socket, false);
  }

  /** Puts TLS over a connection to another node. */
  Socket dial(Socket raw, String host, int port) throws IOException {
    return shakeHands(
        (SSLSocket) context().getSocketFactory().createSocket(raw, host, port, true), true);
  }

  private Socket shakeHands(SSLSocket socket, boolean client) throws IOException {
    socket.setUseClientMode(client);
    socket.setSSLParameters(parameters(socket.getSSLParameters(), client));
    socket.startHandshake();
    return socket;
  }

  // The files

  private List<Stamp> stamps() throws IOException {
    var found = new ArrayList<Stamp>();
    for (var file : List.of(key, certificates, authority)) {
      found.add(new Stamp(Files.getLastModifiedTime(file), Files.size(file)));
    }
    return found;
  }

  private SSLContext load() throws IOException, GeneralSecurityException {
    var chain = certificates(certificates);
    var privateKey = privateKey(chain.getFirst().getPublicKey());
    var own = emptyStore();
    own.setKeyEntry("node", privateKey, NO_PASSWORD, chain.toArray(Certificate[]::new));
    var keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(own, NO_PASSWORD);
    var trusted = emptyStore();
    for (var certificate : certificates(authority)) {
      trusted.setCertificateEntry("authority-" + trusted.size(), certificate);
    }
    var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    var made = SSLContext.getInstance(PROTOCOLS[0]);
    made.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
    return made;
  }

  private static KeyStore emptyStore() throws IOException, GeneralSecurityException {
    var store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    return store;
  }

  private static List<Certificate> certificates(Path file)
      throws IOException, GeneralSecurityException {
    var factory = CertificateFactory.getInstance("X.509");
    try {
      List<Certificate> found =
          List.copyOf(
              factory.generateCertificates(new ByteArrayInputStream(Files.readAllBytes(file))));
      if (!found.isEmpty()) {
        return found;
      }
    } catch (GeneralSecurityException e) {
      throw new GeneralSecurityException(file + " holds no certificates: " + e.getMessage(), e);
    }
    throw new GeneralSecurityException(file + " holds no certificate");
  }

  private PrivateKey privateKey(PublicKey isOf) throws IOException, GeneralSecurityException {
    var found = KEY.matcher(Files.readString(key));
    if (!found.find()) {
      throw new GeneralSecurityException(
          key
              + " holds no private key in PKCS #8 (\"BEGIN PRIVATE KEY\"); openssl pkcs8 -topk8"
              + " -nocrypt makes one of other forms");
    }
    PrivateKey made;
    try {
      var spec = new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(found.group(1)));
      made = KeyFactory.getInstance(isOf.getAlgorithm()).generatePrivate(spec);
    } catch (GeneralSecurityException | IllegalArgumentException e) {
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
