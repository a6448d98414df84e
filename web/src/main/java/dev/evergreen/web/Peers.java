package dev.evergreen.web;

import dev.evergreen.fibers.Pace;
import dev.evergreen.fibers.SlowPeers;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
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
  private final SlowPeers takers = new SlowPeers();

  /** Each is held among those who are to take what they are sent, for as long as it is open. */
  private final Map<Peer, SlowPeers.Hold> peers = new ConcurrentHashMap<>();

  private final Map<Object, AtomicInteger> byAddress = new ConcurrentHashMap<>();

  Peers(WebSettings settings, Proxies proxies, Counters counters) {
    this.settings = settings;
    this.proxies = proxies;
    this.counters = counters;
  }

  void opened(Peer peer) {
    peers.put(peer, takers.hold(peer.pace, () -> cut(peer, "stalled")));
    count(peer.address, 1);
  }

  /**
   * Of one that opens. What was long ago is no excuse for who has stopped, and is forgotten to who
   * goes on: so only the time until one that takes nothing is cut counts, and as much again.
   */
  Pace pace() {
    return new Pace(settings.stallAfter());
  }

  private void cut(Peer peer, String fault) {
    counters.cut(fault);
    peer.close();
  }

  void closed(Peer peer) {
    synchronized (peer) {
      var taking = peers.remove(peer);
      if (taking != null) {
        taking.close();
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
      if (peers.containsKey(peer) && !peer.address.equals(address)) {
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

  /** Closes connections that take nothing of what they are sent for too long, or too little. */
  void cutStalled() {
    takers.hangUp(Integer.MAX_VALUE, settings.stallAfter(), settings.minBytesPerSecond());
  }

  /**
   * Closes connections that take too long to send a request, or between two. Jetty's own idle time
   * is not enough: a byte now and then resets it.
   */
  void cutIdle(long now) {
    for (var peer : peers.keySet()) {
      var fault = peer.fault(now, settings);
      if (fault != null) {
        cut(peer, fault);
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
