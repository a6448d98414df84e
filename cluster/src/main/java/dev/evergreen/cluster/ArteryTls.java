package dev.evergreen.cluster;

import dev.evergreen.cluster.links.LinkSecurity;
import java.util.NoSuchElementException;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSession;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.setup.Setup;
import org.apache.pekko.remote.artery.tcp.SSLEngineProvider;
import scala.Option;

/**
 * Gives Pekko's connections the same keys, certificates and authority as the links have. Made by
 * Pekko, by its name in the settings.
 */
public final class ArteryTls implements SSLEngineProvider {

  /** How the node hands its keys to the instance that Pekko makes. */
  static final class Security extends Setup {
    private final LinkSecurity security;

    Security(LinkSecurity security) {
      this.security = security;
    }
  }

  private final LinkSecurity security;

  /** Called by Pekko. */
  public ArteryTls(ActorSystem system) {
    this.security =
        system
            .settings()
            .setup()
            .get(Security.class)
            .orElseThrow(() -> new NoSuchElementException("the system was started without keys"))
            .security;
  }

  @Override
  public SSLEngine createServerSSLEngine(String host, int port) {
    return security.engine(false, host, port);
  }

  @Override
  public SSLEngine createClientSSLEngine(String host, int port) {
    return security.engine(true, host, port);
  }

  /** Nothing beyond what the handshake has verified. */
  @Override
  public Option<Throwable> verifyClientSession(String host, SSLSession session) {
    return Option.empty();
  }

  @Override
  public Option<Throwable> verifyServerSession(String host, SSLSession session) {
    return Option.empty();
  }
}
