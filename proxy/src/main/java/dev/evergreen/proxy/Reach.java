package dev.evergreen.proxy;

import dev.evergreen.fibers.Names;
import dev.evergreen.http.Fields;
import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Whom a request may be for. What was stored for one reach is never found for another: the same URI
 * may mean somebody else there.
 */
enum Reach {
  /** The proxy's own origins. */
  ORIGINS(""),

  /** Whatever this machine reaches, itself included: for clients on it. */
  EVERYTHING("everything "),

  /** Whatever this machine reaches, but neither itself nor what is next to it alone. */
  OTHERS("others ");

  private final String before;

  Reach(String before) {
    this.before = before;
  }

  /** That of a client's request. */
  static Reach of(@Nullable ForwardRules forward, Client client, Fields request) {
    if (forward == null) {
      return ORIGINS;
    }
    return forward.toItself() || client.isLocal(request) ? EVERYTHING : OTHERS;
  }

  /** All that are in use with such rules. */
  static List<Reach> all(@Nullable ForwardRules forward) {
    return forward == null ? List.of(ORIGINS) : List.of(EVERYTHING, OTHERS);
  }

  /** The key of what is stored for a URI. */
  String key(String uri) {
    return before.isEmpty() ? uri : before + uri;
  }

  /** A name leads to where its client may not go. */
  static final class RefusedException extends IOException {
    private static final long serialVersionUID = 1;

    RefusedException(String host) {
      super(host + " is this machine, or next to it alone: that is for clients on it");
    }
  }

  /**
   * The addresses that {@link #OTHERS} may be asked at, of whatever names. As the filter decides
   * about the very addresses that are dialled, a name that changes its meaning gets nobody further.
   */
  static Names others(Names names) {
    return names.filtered(
        (host, found) -> {
          var told = found.stream().filter(address -> !isOwn(address)).toList();
          if (told.isEmpty()) {
            throw new RefusedException(host);
          }
          return told;
        });
  }

  /** Whether an address is one of this machine, or means another one on each machine. */
  static boolean isOwn(InetAddress address) {
    try {
      return address.isLoopbackAddress()
          || address.isAnyLocalAddress()
          || address.isLinkLocalAddress()
          || address.isMulticastAddress()
          || NetworkInterface.getByInetAddress(address) != null;
    } catch (SocketException e) {
      return true; // Nobody knows.
    }
  }
}
