package dev.evergreen.tls;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;

/**
 * The server's side of TLS: certificates of one or several hosts, chosen by the name that a client
 * asks for (SNI), and read again while the server runs.
 */
public final class ServerTls {

  /** Whether clients must have certificates; those that they show must be trusted in any case. */
  public enum Clients {
    /** They are not asked for one. */
    ANONYMOUS,
    /** They may have one. */
    WANTED,
    /** They must have one. */
    REQUIRED
  }

  /** The oldest version that is spoken. */
  public enum Version {
    /** TLS 1.2. */
    TLS_1_2,
    /** TLS 1.3. */
    TLS_1_3
  }

  /**
   * How a server proves who it is, and whom it lets in.
   *
   * @param certificates one or more, the first is for clients that name no host, or one that no
   *     certificate is for. Whom any of them trusts is let in, whatever host it names.
   * @param clients whether clients need certificates
   * @param least the oldest version
   * @param protocols the application protocols (ALPN) that it speaks, best first; a client that
   *     offers only others is refused. Empty if it does not choose.
   */
  public record Settings(
      List<PemFiles> certificates, Clients clients, Version least, List<String> protocols) {

    public Settings {
      certificates = List.copyOf(certificates);
      protocols = List.copyOf(protocols);
      if (certificates.isEmpty()) {
        throw new IllegalArgumentException("a server needs a certificate");
      }
      if (clients != Clients.ANONYMOUS
          && certificates.stream().allMatch(files -> files.authority() == null)) {
        throw new IllegalArgumentException(
            "clients' certificates cannot be checked without those of their authority");
      }
    }

    /** For anonymous clients of TLS 1.2 and 1.3, without application protocols. */
    public static Settings of(PemFiles... certificates) {
      return new Settings(List.of(certificates), Clients.ANONYMOUS, Version.TLS_1_2, List.of());
    }

    /** The same with application protocols. */
    public Settings withProtocols(String... spoken) {
      return new Settings(certificates, clients, least, List.of(spoken));
    }

    /** The same with other rules for clients. */
    public Settings withClients(Clients others) {
      return new Settings(certificates, others, least, protocols);
    }

    /** The same with another oldest version. */
    public Settings withLeast(Version version) {
      return new Settings(certificates, clients, version, protocols);
    }
  }

  private final Settings settings;
  private volatile SSLContext context;
  private volatile long readAtNanos;

  /**
   * Reads the files.
   *
   * @throws IOException if one cannot be read; the message says which
   * @throws GeneralSecurityException if one holds something else; the message says which
   */
  public ServerTls(Settings settings) throws IOException, GeneralSecurityException {
    this.settings = settings;
    reload();
  }

  /**
   * Reads the files again, for new connections; those that there are stay as they are. If that
   * fails, what was read before is used further. Of several callers each waits for those before:
   * one that read older files must not come last.
   *
   * @throws IOException if one cannot be read; the message says which
   * @throws GeneralSecurityException if one holds something else; the message says which
   */
  public synchronized void reload() throws IOException, GeneralSecurityException {
    context = load();
    readAtNanos = System.nanoTime();
  }

  /** How long ago the files that are used were read. */
  public Duration age() {
    return Duration.ofNanos(System.nanoTime() - readAtNanos);
  }

  private SSLContext load() throws IOException, GeneralSecurityException {
    var identities = new ArrayList<PemFiles.Identity>();
    for (var files : settings.certificates()) {
      identities.add(files.identity());
    }
    var authorities =
        settings.certificates().stream()
            .map(PemFiles::authority)
            .filter(Objects::nonNull)
            .distinct();
    var loaded = SSLContext.getInstance("TLS");
    loaded.init(
        new KeyManager[] {new HostKeys(identities)},
        new TrustManager[] {PemFiles.trust(authorities.toList())},
        null);
    // Clients keep their sessions in tickets; the cache for those that do not would take megabytes.
    // Its least size is 1, as 0 means that there is no limit.
    loaded.getServerSessionContext().setSessionCacheSize(1);
    return loaded;
  }

  /** An engine for one connection. */
  public SSLEngine engine() {
    var engine = context.createSSLEngine();
    engine.setUseClientMode(false);
    var parameters = engine.getSSLParameters();
    parameters.setProtocols(
        settings.least() == Version.TLS_1_2
            ? new String[] {"TLSv1.3", "TLSv1.2"}
            : new String[] {"TLSv1.3"});
    parameters.setApplicationProtocols(settings.protocols().toArray(String[]::new));
    switch (settings.clients()) {
      case ANONYMOUS -> {}
      case WANTED -> parameters.setWantClientAuth(true);
      case REQUIRED -> parameters.setNeedClientAuth(true);
    }
    engine.setSSLParameters(parameters);
    return engine;
  }
}
