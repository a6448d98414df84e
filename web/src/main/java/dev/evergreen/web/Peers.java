package dev.evergreen.web;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.websocket.core.WebSocketConnection;
import org.jspecify.annotations.Nullable;

/**
 * Every open connection, counted in all and by address.
 *
 * <p>Within the limits a connection is served; a little above them it is answered 503, so that a
 * browser learns when to come back; far above them it is closed unheard.
 */
final class Peers implements Connection.Listener {

  /** One open connection as far as time limits on requests go. */
  static final class Peer {

    final Object address;
    private volatile int working;
    private volatile long idleSinceNanos = System.nanoTime();
    private volatile boolean heardOf;

    Peer(Object address) {
      this.address = address;
    }

    void begin() {
      working = 1;
      heardOf = true;
    }

    void end() {
      idleSinceNanos = System.nanoTime();
      working = 0;
    }
  }

  private final WebSettings settings;
  private final Counters counters;
  private final Map<EndPoint, Peer> peers = new ConcurrentHashMap<>();
  private final Map<Object, AtomicInteger> byAddress = new ConcurrentHashMap<>();

  Peers(WebSettings settings, Counters counters) {
    this.settings = settings;
    this.counters = counters;
  }

  @Override
  public void onOpened(Connection connection) {
    if (connection instanceof WebSocketConnection) {
      return;
    }
    var endPoint = connection.getEndPoint();
    var peer = new Peer(address(endPoint));
    if (peers.putIfAbsent(endPoint, peer) != null) {
      return;
    }
    int ofAddress = count(peer.address, 1);
    if (peers.size() > beyond(settings.maxConnections())
        || ofAddress > beyond(settings.maxConnectionsPerAddress())) {
      counters.refused("too-many-connections");
      endPoint.close();
    }
  }

  @Override
  public void onClosed(Connection connection) {
    var endPoint = connection.getEndPoint();
    // An upgrade replaces the connection of an end point that stays open.
    if (endPoint.isOpen() && !(connection instanceof WebSocketConnection)) {
      return;
    }
    var peer = peers.remove(endPoint);
    if (peer != null) {
      count(peer.address, -1);
    }
  }

  private static int beyond(int limit) {
    return limit + limit / 4 + 8;
  }

  private int count(Object address, int change) {
    var left =
        byAddress.compute(
            address,
            (key, count) -> {
              var counter = count == null ? new AtomicInteger() : count;
              return counter.addAndGet(change) == 0 ? null : counter;
            });
    return left == null ? 0 : left.get();
  }

  @Nullable Peer of(EndPoint endPoint) {
    return peers.get(endPoint);
  }

  int size() {
    return peers.size();
  }

  /**
   * Whether this connection may be served.
   *
   * @throws WebException 503 otherwise
   */
  void admit(@Nullable Peer peer) {
    if (peers.size() > settings.maxConnections()) {
      throw new WebException(503, "too-many-connections", "The server is full; try again later.");
    }
    if (peer != null) {
      var ofAddress = byAddress.get(peer.address);
      if (ofAddress != null && ofAddress.get() > settings.maxConnectionsPerAddress()) {
        throw new WebException(
            503, "too-many-from-address", "Too many connections from your address.");
      }
    }
  }

  /**
   * Closes connections that take too long to send a request, or between two. Jetty's own idle time
   * is not enough: a byte now and then resets it.
   */
  void cutSlow(long now) {
    peers.forEach(
        (endPoint, peer) -> {
          if (!endPoint.isOpen()) {
            if (peers.remove(endPoint, peer)) {
              count(peer.address, -1);
            }
          } else if (peer.working == 0
              && !(endPoint.getConnection() instanceof WebSocketConnection)) {
            long limit = settings.requestWithin().toNanos() * (peer.heardOf ? 6 : 1);
            if (now - peer.idleSinceNanos > limit) {
              counters.cut(peer.heardOf ? "idle" : "slow-request");
              endPoint.close();
            }
          }
        });
  }

  /** An IPv4 address, or the /64 network that one IPv6 customer has. */
  private static Object address(EndPoint endPoint) {
    return endPoint.getRemoteSocketAddress() instanceof InetSocketAddress remote
            && remote.getAddress() != null
        ? network(remote.getAddress())
        : "unknown";
  }

  private static Object network(InetAddress address) {
    return address instanceof Inet6Address
        ? Arrays.toString(Arrays.copyOf(address.getAddress(), 8))
        : address;
  }
}
