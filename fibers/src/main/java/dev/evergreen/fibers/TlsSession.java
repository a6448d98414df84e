package dev.evergreen.fibers;

import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Optional;

/**
 * What the two sides of a connection with TLS have agreed on.
 *
 * @param version of TLS, such as "TLSv1.3"
 * @param cipherSuite by its standard name
 * @param applicationProtocol the one that was chosen (ALPN), such as "h2"; empty if none was
 * @param requestedHost the host that the client asked for (SNI); empty if it named none
 * @param peerCertificates the peer's, which was checked, and after it those of its authorities;
 *     empty if it showed none
 */
public record TlsSession(
    String version,
    String cipherSuite,
    Optional<String> applicationProtocol,
    Optional<String> requestedHost,
    List<X509Certificate> peerCertificates) {

  public TlsSession {
    peerCertificates = List.copyOf(peerCertificates);
  }
}
