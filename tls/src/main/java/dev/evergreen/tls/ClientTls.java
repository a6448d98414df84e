package dev.evergreen.tls;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.List;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SNIServerName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import org.jspecify.annotations.Nullable;

/**
 * The client's side of TLS (1.2 and 1.3): whom it trusts, who it is, and which protocols it would
 * speak. Every server must prove by its certificate that it is the host that was meant.
 */
public final class ClientTls {
  private final SSLContext context;
  private final List<String> protocols;

  private ClientTls(SSLContext context, List<String> protocols) {
    this.context = context;
    this.protocols = protocols;
  }

  /** Trusts the authorities that the JDK trusts, and has no certificate. */
  public static ClientTls trustingPublic() throws GeneralSecurityException {
    return new ClientTls(context(null, null), List.of());
  }

  /**
   * Trusts the authorities of a PEM file, and has no certificate.
   *
   * @throws IOException if the file cannot be read; the message says so
   * @throws GeneralSecurityException if it holds something else; the message says so
   */
  public static ClientTls trusting(Path authorities) throws IOException, GeneralSecurityException {
    var trust = PemFiles.trust(List.of(authorities));
    return new ClientTls(context(null, new TrustManager[] {trust}), List.of());
  }

  /**
   * Trusts the files' authority, or those that the JDK trusts if they name none, and shows their
   * certificate to a server that asks for one.
   *
   * @throws IOException if a file cannot be read; the message says which
   * @throws GeneralSecurityException if one holds something else; the message says which
   */
  public static ClientTls of(PemFiles files) throws IOException, GeneralSecurityException {
    return new ClientTls(
        files.authority() == null ? context(files.keys(), null) : files.load(), List.of());
  }

  private static SSLContext context(KeyManager @Nullable [] keys, TrustManager @Nullable [] trust)
      throws GeneralSecurityException {
    var made = SSLContext.getInstance("TLS");
    made.init(keys, trust, null);
    return made;
  }

  /** The same, offering application protocols (ALPN), such as "h2" and "http/1.1", best first. */
  public ClientTls withProtocols(String... offered) {
    return new ClientTls(context, List.of(offered));
  }

  /**
   * An engine for one connection. It asks the server for the certificate of the host (SNI), unless
   * that is an address or no name that SNI can say, and refuses one that is not the host's.
   *
   * @param host a name, or an address
   * @param port where sessions with that host are remembered by
   */
  public SSLEngine engine(String host, int port) {
    var engine = context.createSSLEngine(host, port);
    engine.setUseClientMode(true);
    var parameters = engine.getSSLParameters();
    parameters.setProtocols(new String[] {"TLSv1.3", "TLSv1.2"});
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    parameters.setApplicationProtocols(protocols.toArray(String[]::new));
    parameters.setServerNames(serverNames(host));
    engine.setSSLParameters(parameters);
    return engine;
  }

  private static List<SNIServerName> serverNames(String host) {
    try {
      return isLiteral(host) ? List.of() : List.of(new SNIHostName(host));
    } catch (IllegalArgumentException e) {
      return List.of(); // It has "_" or ends with a dot, say, as names outside of SNI may.
    }
  }

  private static boolean isLiteral(String host) {
    try {
      var _ = InetAddress.ofLiteral(host);
      return true;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }
}
