package dev.evergreen.cluster.links;

import dev.evergreen.tls.PemFiles;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

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

  private final PemFiles files;
  private final boolean hostNames;
  private final Duration lookEvery;
  private final LinkLog log = new LinkLog();

  /** What tells whether a file has changed. */
  private record Stamp(FileTime modified, long size) {}

  private List<Stamp> stamps; // guarded by this
  private SSLContext context; // guarded by this
  private long lookedAt = System.nanoTime(); // guarded by this

  private LinkSecurity(PemFiles files, boolean hostNames, Duration lookEvery)
      throws IOException, GeneralSecurityException {
    this.files = files;
    this.hostNames = hostNames;
    this.lookEvery = lookEvery;
    this.stamps = stamps();
    this.context = files.load();
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
    return new LinkSecurity(new PemFiles(key, certificates, authority), true, LOOK_EVERY);
  }

  /**
   * The same without a look at the names in certificates: any node of the authority may be at any
   * address.
   */
  public LinkSecurity withoutHostNames() throws IOException, GeneralSecurityException {
    return new LinkSecurity(files, false, lookEvery);
  }

  /** The same with another time after which the files are looked at again; 10 seconds if unset. */
  public LinkSecurity lookingEvery(Duration value) throws IOException, GeneralSecurityException {
    return new LinkSecurity(files, hostNames, value);
  }

  /** A context of the files as they are now, or were a moment ago. Reads them where needed. */
  public synchronized SSLContext context() {
    long now = System.nanoTime();
    if (now - lookedAt >= lookEvery.toNanos()) {
      lookedAt = now;
      try {
        var found = stamps();
        if (!found.equals(stamps)) {
          context = files.load();
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
    for (var file : files.all()) {
      found.add(new Stamp(Files.getLastModifiedTime(file), Files.size(file)));
    }
    return found;
  }
}
