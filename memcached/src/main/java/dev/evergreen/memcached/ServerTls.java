package dev.evergreen.memcached;

import dev.evergreen.fibers.Connection;
import dev.evergreen.memcached.MemcachedTls.ClientCertificates;
import dev.evergreen.memcached.MemcachedTls.Version;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;

/** Puts TLS over clients' connections, by files that can be read again while it does. */
final class ServerTls {
  final MemcachedTls settings;
  private volatile SSLContext context;
  private volatile long refreshed;

  /**
   * Reads the files.
   *
   * @throws IOException if they cannot be read or used; the message says which
   */
  ServerTls(MemcachedTls settings) throws IOException {
    this.settings = settings;
    context = load();
    refreshed = System.nanoTime();
  }

  /** Reads the files again, for new connections; what was read before stays if that fails. */
  void refresh() throws IOException {
    context = load();
    refreshed = System.nanoTime();
  }

  long secondsSinceRefresh() {
    return TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - refreshed);
  }

  private SSLContext load() throws IOException {
    try {
      var loaded = settings.files().load();
      // Clients keep their sessions in tickets. The cache for those that do not would take
      // megabytes;
      // its least size is 1, as 0 means that there is no limit.
      loaded.getServerSessionContext().setSessionCacheSize(1);
      return loaded;
    } catch (GeneralSecurityException e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  /** Shakes hands with a client, and answers the connection to go on with. */
  Connection accept(Connection raw, Duration limit) throws IOException {
    return raw.overTls(engine(), limit);
  }

  private SSLEngine engine() {
    var engine = context.createSSLEngine();
    engine.setUseClientMode(false);
    engine.setEnabledProtocols(
        settings.least() == Version.TLS_1_2
            ? new String[] {"TLSv1.3", "TLSv1.2"}
            : new String[] {"TLSv1.3"});
    engine.setWantClientAuth(settings.clients() == ClientCertificates.WANTED);
    if (settings.clients() == ClientCertificates.REQUIRED) {
      engine.setNeedClientAuth(true);
    }
    return engine;
  }
}
