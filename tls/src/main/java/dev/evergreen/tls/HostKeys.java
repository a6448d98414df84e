package dev.evergreen.tls;

import java.net.Socket;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import javax.net.ssl.ExtendedSSLSession;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedKeyManager;
import org.jspecify.annotations.Nullable;

/** The keys of a server, chosen by the host that a client asks for. An alias is an index. */
final class HostKeys extends X509ExtendedKeyManager {
  /** A key, and the names that its certificate is for. */
  private record Host(PemFiles.Identity identity, CertificateNames names) {

    boolean isOfType(String keyType) {
      return identity.chain()[0].getPublicKey().getAlgorithm().equals(keyType);
    }
  }

  private final List<Host> hosts = new ArrayList<>();

  HostKeys(List<PemFiles.Identity> identities) {
    for (var identity : identities) {
      hosts.add(new Host(identity, CertificateNames.of(identity.chain()[0])));
    }
  }

  @Override
  public @Nullable String chooseEngineServerAlias(
      String keyType, Principal @Nullable [] issuers, SSLEngine engine) {
    var name = requested(engine);
    int otherwise = -1;
    for (int i = 0; i < hosts.size(); i++) {
      var host = hosts.get(i);
      if (host.isOfType(keyType)) {
        if (host.names.match(name)) {
          return String.valueOf(i);
        }
        otherwise = otherwise < 0 ? i : otherwise;
      }
    }
    // Another type of key may be that of the host; only if none is, the first will do.
    return otherwise < 0 || hosts.stream().anyMatch(host -> host.names.match(name))
        ? null
        : String.valueOf(otherwise);
  }

  private static String requested(SSLEngine engine) {
    if (engine.getHandshakeSession() instanceof ExtendedSSLSession session) {
      for (var name : session.getRequestedServerNames()) {
        if (name instanceof SNIHostName host) {
          return host.getAsciiName().toLowerCase(Locale.ROOT);
        }
      }
    }
    return "";
  }

  private Host host(String alias) {
    return hosts.get(Integer.parseInt(alias));
  }

  @Override
  public X509Certificate[] getCertificateChain(String alias) {
    return host(alias).identity.chain().clone();
  }

  @Override
  public PrivateKey getPrivateKey(String alias) {
    return host(alias).identity.key();
  }

  @Override
  public String[] getServerAliases(String keyType, Principal @Nullable [] issuers) {
    return new String[0];
  }

  @Override
  public @Nullable String chooseServerAlias(
      String keyType, Principal @Nullable [] issuers, Socket socket) {
    // Only engines are made with these keys.
    return null;
  }

  @Override
  public String[] getClientAliases(String keyType, Principal @Nullable [] issuers) {
    return new String[0];
  }

  @Override
  public @Nullable String chooseClientAlias(
      String[] keyTypes, Principal @Nullable [] issuers, Socket socket) {
    return null;
  }
}
