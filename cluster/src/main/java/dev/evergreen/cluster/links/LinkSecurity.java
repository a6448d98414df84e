package dev.evergreen.cluster.links;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.tls.CertificateNames;
import dev.evergreen.tls.PemFiles;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.security.GeneralSecurityException;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.X509TrustManager;

/**
 * How nodes prove to each other who they are: TLS 1.3, in which both sides must show a certificate
 * of an authority that both trust. Made from PEM files, which are looked at again from time to
 * time: new connections use what is there by then, and as long as new files cannot be used, or do
 * not fit each other yet, the former ones. When the file of authorities has changed, connections of
 * nodes are ended whose certificates it does not vouch for any more: since their authority is not
 * in it, or a list in it says that they are revoked ({@link PemFiles}). {@code
 * scripts/certificates} makes files for tests and small clusters.
 *
 * <p><b>Use an authority for the cluster alone.</b> Whoever has a certificate of it is a node: it
 * may join, and say on the port for membership that others are gone. Only a node whose certificate
 * has the host of another one in its names can take that one's place for calls and results, unless
 * {@link #withoutHostNames} is used; several nodes of a host are not told apart.
 *
 * <p>Thread-safe.
 */
public final class LinkSecurity {

  private static final Duration LOOK_EVERY = Duration.ofSeconds(10);
  private static final Duration LEAST_PAUSE = Duration.ofMillis(50);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);
  private static final String[] PROTOCOLS = {"TLSv1.3"};

  private final PemFiles files;
  private final boolean hostNames;
  private final Duration lookEvery;
  private final LinkLog log = new LinkLog();

  /** What tells whether a file has changed. */
  private record Stamp(FileTime modified, long size) {}

  /** Of the node's own key and certificate. */
  @GuardedBy("this")
  private List<Stamp> ownStamps;

  /** Of the authorities. They are looked at by themselves: a revocation waits for nothing else. */
  @GuardedBy("this")
  private List<Stamp> authorityStamps;

  @GuardedBy("this")
  private KeyManager[] keys;

  @GuardedBy("this")
  private SSLContext context;

  @GuardedBy("this")
  private X509TrustManager trust;

  @GuardedBy("this")
  private final Map<SSLSocket, Socket> sockets = new WeakHashMap<>();

  @GuardedBy("this")
  private final Map<SSLEngine, Boolean> engines = new WeakHashMap<>();

  @GuardedBy("this")
  private long lookedAt = System.nanoTime();

  private LinkSecurity(PemFiles files, boolean hostNames, Duration lookEvery)
      throws IOException, GeneralSecurityException {
    this.files = files;
    this.hostNames = hostNames;
    this.lookEvery = lookEvery;
    this.ownStamps = stamps(own());
    this.authorityStamps = stamps(authorities());
    this.keys = files.keys();
    this.trust = files.trust();
    this.context = PemFiles.context(keys, trust);
  }

  /**
   * Reads the files.
   *
   * @param key the node's private key, not encrypted, in a form of {@link PemFiles}
   * @param certificates the node's certificate, and after it those between it and the authority's
   * @param authority the certificates that are trusted, and lists of what they have revoked, if any
   * @throws IOException if a file cannot be read
   * @throws GeneralSecurityException if a file holds something else, or the key is not that of the
   *     certificate; the message says which
   */
  public static LinkSecurity of(Path key, Path certificates, Path authority)
      throws IOException, GeneralSecurityException {
    return new LinkSecurity(new PemFiles(key, certificates, authority), true, LOOK_EVERY);
  }

  /**
   * The same without a look at the names in certificates: any node of the authority may be at any
   * address, and may take the place of any other. For nodes whose addresses are not known when
   * their certificates are made.
   */
  public LinkSecurity withoutHostNames() throws IOException, GeneralSecurityException {
    return new LinkSecurity(files, false, lookEvery);
  }

  /** The same with another time after which the files are looked at again; 10 seconds if unset. */
  public LinkSecurity lookingEvery(Duration value) throws IOException, GeneralSecurityException {
    return new LinkSecurity(files, hostNames, value);
  }

  /** After which {@link #context} is to be called again, so that files are not looked at late. */
  Duration lookPause() {
    var half = lookEvery.dividedBy(2);
    return Collections.max(List.of(LEAST_PAUSE, Collections.min(List.of(half, LONGEST_PAUSE))));
  }

  /**
   * Checks that the others will let this node in.
   *
   * @param host by which they reach it
   * @throws IllegalArgumentException if names matter and its certificate is not for the host
   */
  public void requireFor(String host) {
    try {
      var own = CertificateNames.of(files.certificate());
      if (hostNames && !own.match(host)) {
        throw new IllegalArgumentException(
            "The certificate in %s is for %s, but the others reach this node at %s and would refuse it"
                    .formatted(files.certificates(), own, host)
                + ": let it name that among its alternative names, or use withoutHostNames()");
      }
    } catch (IOException | GeneralSecurityException e) {
      throw new IllegalArgumentException("The node's keys cannot be used: " + e.getMessage(), e);
    }
  }

  /**
   * A context of the files as they are now, or were a moment ago. Reads them where needed, and ends
   * connections of nodes that are trusted no more.
   */
  public SSLContext context() {
    var ended = new ArrayList<Runnable>();
    try {
      synchronized (this) {
        look(ended);
        return context;
      }
    } finally {
      ended.forEach(Runnable::run);
    }
  }

  @GuardedBy("this")
  private void look(List<Runnable> ended) {
    long now = System.nanoTime();
    if (now - lookedAt < lookEvery.toNanos()) {
      return;
    }
    lookedAt = now;
    lookAtAuthorities(ended);
    lookAtOwn();
  }

  @GuardedBy("this")
  private void lookAtAuthorities(List<Runnable> ended) {
    try {
      var found = stamps(authorities());
      if (!found.equals(authorityStamps)) {
        var loaded = files.trust();
        context = PemFiles.context(keys, loaded);
        trust = loaded;
        authorityStamps = found; // only now: what cannot be used yet is tried again
        review(ended);
      }
    } catch (IOException | GeneralSecurityException | RuntimeException e) {
      tell("the new file of authorities cannot be used yet, so whom it revokes is trusted", e);
    }
  }

  @GuardedBy("this")
  private void lookAtOwn() {
    try {
      var found = stamps(own());
      if (!found.equals(ownStamps)) {
        var loaded = files.keys();
        context = PemFiles.context(loaded, trust);
        keys = loaded;
        ownStamps = found;
      }
    } catch (IOException | GeneralSecurityException | RuntimeException e) {
      tell("the new key or certificate cannot be used yet, the former are", e);
    }
  }

  private void tell(String what, Exception why) {
    log.warn(LinkLog.Kind.CERTIFICATES, () -> what + ": " + why.getMessage());
  }

  /** Finds the connections that would not come about any more. */
  @GuardedBy("this")
  private void review(List<Runnable> ended) {
    for (var one : sockets.entrySet()) {
      var raw = one.getValue();
      if (!isTrusted(one.getKey().getSession())) {
        ended.add(() -> Link.close(raw));
      }
    }
    for (var engine : engines.keySet()) {
      if (!isTrusted(engine.getSession())) {
        ended.add(() -> end(engine));
      }
    }
    if (!ended.isEmpty()) {
      log.warn(
          LinkLog.Kind.CERTIFICATES,
          () -> ended.size() + " connections end, as their certificates are trusted no more");
    }
  }

  /** An engine that is amid its handshake is not: that is judged by the former authority. */
  @GuardedBy("this")
  private boolean isTrusted(SSLSession session) {
    try {
      var chain = session.getPeerCertificates();
      trust.checkClientTrusted(
          Arrays.copyOf(chain, chain.length, X509Certificate[].class),
          chain[0].getPublicKey().getAlgorithm());
      return true;
    } catch (SSLPeerUnverifiedException | CertificateException e) {
      return false;
    }
  }

  private static void end(SSLEngine engine) {
    engine.closeOutbound();
    try {
      engine.closeInbound();
    } catch (SSLException e) {
      // The other side has not said that it ends; that is so.
      return;
    }
  }

  /**
   * An engine with the same rules as the links: for other protocols between the same nodes.
   *
   * @param client whether this side makes the connection
   * @param host the host of the other side, as it must stand in its certificate
   */
  public SSLEngine engine(boolean client, String host, int port) {
    var ended = new ArrayList<Runnable>();
    try {
      // At once, so that whoever sees other authorities judges this engine, too.
      synchronized (this) {
        look(ended);
        var engine = context.createSSLEngine(host, port);
        engine.setUseClientMode(client);
        engine.setSSLParameters(parameters(engine.getSSLParameters(), client));
        engines.put(engine, true);
        return engine;
      }
    } finally {
      ended.forEach(Runnable::run);
    }
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
    return shakeHands(
        (SSLSocket) context().getSocketFactory().createSocket(raw, (InputStream) null, true),
        raw,
        false);
  }

  /** Puts TLS over a connection to another node. */
  Socket dial(Socket raw, String host, int port) throws IOException {
    return shakeHands(
        (SSLSocket) context().getSocketFactory().createSocket(raw, host, port, true), raw, true);
  }

  private Socket shakeHands(SSLSocket socket, Socket raw, boolean client) throws IOException {
    socket.setUseClientMode(client);
    socket.setSSLParameters(parameters(socket.getSSLParameters(), client));
    socket.startHandshake();
    synchronized (this) {
      sockets.put(socket, raw);
      if (!isTrusted(socket.getSession())) {
        throw new SSLHandshakeException("its certificate is trusted no more, since a moment ago");
      }
    }
    return socket;
  }

  /**
   * Whether the certificate of the other side is for a host, as far as names matter.
   *
   * @param socket one that was accepted
   */
  boolean isFor(String host, Socket socket) throws IOException {
    return !hostNames
        || CertificateNames.of(((SSLSocket) socket).getSession().getPeerCertificates()[0])
            .match(host);
  }

  // The files

  private List<Path> own() {
    return List.of(files.key(), files.certificates());
  }

  private List<Path> authorities() {
    return files.authority() == null ? List.of() : List.of(files.authority());
  }

  private static List<Stamp> stamps(List<Path> files) throws IOException {
    var found = new ArrayList<Stamp>();
    for (var file : files) {
      found.add(new Stamp(Files.getLastModifiedTime(file), Files.size(file)));
    }
    return found;
  }
}
