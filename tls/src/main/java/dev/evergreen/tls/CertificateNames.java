package dev.evergreen.tls;

import java.net.InetAddress;
import java.security.cert.Certificate;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The hosts that a certificate is for: its subject's alternative names.
 *
 * @param names host names, in lower case, perhaps with {@code *} as the first label
 * @param addresses IP addresses
 */
public record CertificateNames(List<String> names, List<InetAddress> addresses) {

  // The numbers of RFC 5280, section 4.2.1.6
  private static final int DNS = 2;
  private static final int IP = 7;

  /** Those of a certificate; none if it has none that can be read. */
  public static CertificateNames of(Certificate certificate) {
    var names = new ArrayList<String>();
    var addresses = new ArrayList<InetAddress>();
    try {
      var all = ((X509Certificate) certificate).getSubjectAlternativeNames();
      for (var name : all == null ? List.<List<?>>of() : all) {
        if (name.getFirst().equals(DNS)) {
          names.add(String.valueOf(name.getLast()).toLowerCase(Locale.ROOT));
        } else if (name.getFirst().equals(IP)) {
          address(String.valueOf(name.getLast())).ifPresent(addresses::add);
        }
      }
    } catch (CertificateParsingException e) {
      return new CertificateNames(List.of(), List.of());
    }
    return new CertificateNames(names, addresses);
  }

  /** Empty for all else, such as a range of addresses, which stands for no host. */
  private static Optional<InetAddress> address(String text) {
    try {
      return Optional.of(InetAddress.ofLiteral(text));
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }

  /** Whether a host, by its name or its address, is one of them. Asks no DNS. */
  public boolean match(String host) {
    var address = address(host);
    if (address.isPresent()) {
      return addresses.contains(address.get());
    }
    var asked = host.toLowerCase(Locale.ROOT);
    int dot = asked.indexOf('.');
    return names.contains(asked) || (dot > 0 && names.contains("*" + asked.substring(dot)));
  }

  @Override
  public String toString() {
    var all = new ArrayList<>(names);
    addresses.forEach(address -> all.add(address.getHostAddress()));
    return all.isEmpty() ? "no host" : String.join(", ", all);
  }
}
