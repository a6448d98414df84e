package dev.evergreen.web;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.io.Connection;

/**
 * Every open connection, counted in all and by address.
 *
 * <p>Within the limits a connection is served; a little above them it is answered 503, so that a
 * browser learns when to come back; far above them it is closed unheard.
 */
final class Peers implements Connection.Listener {

  /**
   * How much of an IPv6 address says whose it is: a site may have a /48 (RFC 6177), and anybody can
   * get one. By a longer prefix its owner would be thousands of clients. By this one, customers of
   * a provider that gives each less are counted as one, as those behind one IPv4 address are.
   */
  private static final int SITE_BYTES = 6;

  private final WebSettings settings;
  private final Counters counters;
  private final Proxies proxies;
  private final Set<Peer> peers = ConcurrentHashMap.newKeySet();
  private final Map<Object, AtomicInteger> byAddress = new ConcurrentHashMap<>();

  Peers(WebSettings settings, Proxies proxies, Counters counters) {
    this.settings = settings;
    this.proxies = proxies;
    this.counters = counters;
  }

  void opened(Peer peer) {
    peers.add(peer);
    count(peer.address, 1);
  }

  void closed(Peer peer) {
    synchronized (peer) {
      if (peers.remove(peer)) {
        count(peer.address, -1);
      }
    }
  }

  @Override
  public void onOpened(Connection connection) {
    var endPoint = connection.getEndPoint();
    var peer = Peer.of(endPoint);
    if (proxies.speakProxyProtocol()) {
      if (!proxies.has(peer.getRemoteSocketAddress())) {
        counters.refused("no-proxy");
        peer.close();
        return;
      }
      count(peer, address(endPoint.getRemoteSocketAddress()));
    }
    if (peers.size() > beyond(settings.maxConnections())
        || (!willSayForWhom(peer)
            && of(peer.address) > beyond(settings.maxConnectionsPerAddress()))) {
      counters.refused("too-many-connections");
      peer.close();
    }
  }

  /** Whether its requests say whose it is: until then it is nobody's, and a proxy has many. */
  private boolean willSayForWhom(Peer peer) {
    return !proxies.speakProxyProtocol() && proxies.has(peer.getRemoteSocketAddress());
  }

  /**
   * Counts a proxy's connection for the client that it asks for now, and until its next request;
   * for the proxy itself if it does not say.
   *
   * @return the client, if a proxy says who that is
   */
  Optional<InetAddress> identify(Peer peer, HttpFields headers) {
    if (proxies.speakProxyProtocol()) {
      // It was said when the connection began, for all of its requests.
      return Optional.empty();
    }
    var remote = peer.getRemoteSocketAddress();
    var client = proxies.client(remote, headers);
    count(peer, client.map(Peers::network).orElseGet(() -> address(remote)));
    return client;
  }

  private void count(Peer peer, Object address) {
    synchronized (peer) {
      if (peers.contains(peer) && !peer.address.equals(address)) {
        count(peer.address, -1);
        peer.address = address;
        count(address, 1);
      }
    }
  }

  private static int beyond(int limit) {
    return limit + limit / 4 + 8;
  }

  private void count(Object address, int change) {
    byAddress.compute(
        address,
        (key, count) -> {
          var counter = count == null ? new AtomicInteger() : count;
          return counter.addAndGet(change) == 0 ? null : counter;
        });
  }

  private int of(Object address) {
    var count = byAddress.get(address);
    return count == null ? 0 : count.get();
  }

  int size() {
    return peers.size();
  }

  /**
   * Whether this connection may be served.
   *
   * @throws WebException 503 otherwise
   */
  void admit(Peer peer) {
    if (peers.size() > settings.maxConnections()) {
      throw new WebException(503, "too-many-connections", "The server is full; try again later.");
    }
    if (of(peer.address) > settings.maxConnectionsPerAddress()) {
      throw new WebException(
          503, "too-many-from-address", "Too many connections from your address.");
    }
  }

  /**
   * Closes connections that take too long to send a request, or between two, or to take an answer.
   * Jetty's own idle time is not enough: a byte now and then resets it.
   */
  void cutSlow(long now) {
    for (var peer : peers) {
      var fault = peer.fault(now, settings);
      if (fault != null) {
        counters.cut(fault);
        peer.close();
      }
    }
  }

  /** An IPv4 address, or the network of an IPv6 site: see {@link #SITE_BYTES}. */
  static Object address(SocketAddress remote) {
    return remote instanceof InetSocketAddress inet && inet.getAddress() != null
        ? network(inet.getAddress())
        : "unknown";
  }

  private static Object network(InetAddress address) {
    return address instanceof Inet6Address
        ? Arrays.toString(Arrays.copyOf(address.getAddress(), SITE_BYTES))
        : address;
  }
}
