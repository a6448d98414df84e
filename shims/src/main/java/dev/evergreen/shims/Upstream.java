package dev.evergreen.shims;

import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Dialer;
import dev.evergreen.tls.ClientTls;
import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The store that a shim speaks for.
 *
 * @param tls whom to trust, if TLS is spoken there
 */
public record Upstream(Dialer dialer, Address address, @Nullable ClientTls tls) {
  private static final Duration LONGEST_HANDSHAKE = Duration.ofSeconds(10);

  /** Makes a connection. Blocks the calling fiber. */
  public Connection connect() throws IOException {
    var raw = dialer.dial(address.socket());
    return tls == null
        ? raw
        : raw.overTls(tls.engine(address.host(), address.port()), LONGEST_HANDSHAKE);
  }
}
