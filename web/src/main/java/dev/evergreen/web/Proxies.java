package dev.evergreen.web;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.eclipse.jetty.http.HttpFields;

/**
 * The reverse proxies that stand before a server, by the networks that they connect from, and how
 * they say for whom they ask. What anybody else says of that is not believed. Limits of an address
 * are then those of the client's, and {@link Request#remoteAddress} is the client's.
 */
public final class Proxies {

  /** None: every peer is a client. */
  static final Proxies NONE = new Proxies(Way.NONE, List.of());

  /** An address with a port or without; that may be hidden behind a name (RFC 7239, section 6). */
  private static final Pattern NODE =
      Pattern.compile(
          "(?:(?<four>N(?:\\.N){3})|\\[(?<six>[0-9A-Fa-f:.]+)])(?::(?:[0-9]{1,5}|_[\\w.-]+))?"
              .replace("N", "(?:0|[1-9][0-9]{0,2})"));

  /** An IPv6 address without the brackets that would tell a port from it. */
  private static final Pattern BARE_IPV6 = Pattern.compile("[0-9A-Fa-f]*:[0-9A-Fa-f:.]+");

  private enum Way {
    NONE,
    FORWARDED,
    X_FORWARDED_FOR,
    PROXY_PROTOCOL
  }

  /** Addresses that begin with the same bits. */
  private record Network(InetAddress address, int bits) {

    static Network of(String text) {
      var parts = text.split("/", 2);
      try {
        var address = InetAddress.ofLiteral(parts[0]);
        int most = address.getAddress().length * 8;
        int bits = parts.length == 1 ? most : Integer.parseInt(parts[1]);
        if (bits >= 0 && bits <= most) {
          return new Network(address, bits);
        }
      } catch (IllegalArgumentException e) {
        // told below
      }
      throw new IllegalArgumentException(
          "A network is written as 10.0.0.0/8 or 127.0.0.1, not '" + text + "'.");
    }

    boolean has(InetAddress other) {
      var one = address.getAddress();
      var two = other.getAddress();
      if (one.length != two.length) {
        return false;
      }
      for (int bit = 0; bit < bits; bit++) {
        if (((one[bit >> 3] ^ two[bit >> 3]) & (0x80 >> (bit & 7))) != 0) {
          return false;
        }
      }
      return true;
    }
  }

  private final Way way;
  private final List<Network> trusted;

  private Proxies(Way way, List<Network> trusted) {
    this.way = way;
    this.trusted = trusted;
  }

  /** Proxies of these networks, which add to the header {@code Forwarded} (RFC 7239). */
  public static Proxies forwarded(String... networks) {
    return of(Way.FORWARDED, networks);
  }

  /** Proxies of these networks, which add to the header {@code X-Forwarded-For}. */
  public static Proxies xForwardedFor(String... networks) {
    return of(Way.X_FORWARDED_FOR, networks);
  }

  /**
   * Proxies of these networks, which begin each connection by HAProxy's PROXY protocol, version 1
   * or 2. Nobody else can connect then.
   */
  public static Proxies proxyProtocol(String... networks) {
    return of(Way.PROXY_PROTOCOL, networks);
  }

  private static Proxies of(Way way, String... networks) {
    return new Proxies(way, Stream.of(networks).map(Network::of).toList());
  }

  boolean speakProxyProtocol() {
    return way == Way.PROXY_PROTOCOL;
  }

  boolean has(SocketAddress peer) {
    return peer instanceof InetSocketAddress inet
        && inet.getAddress() != null
        && isTrusted(inet.getAddress());
  }

  private boolean isTrusted(InetAddress address) {
    return trusted.stream().anyMatch(network -> network.has(address));
  }

  /**
   * For whom this peer asks, if it is one of the proxies and says so: the last one in the chain
   * that is none of them, as what stands before was written by that one.
   */
  Optional<InetAddress> client(SocketAddress peer, HttpFields headers) {
    if (way == Way.NONE || way == Way.PROXY_PROTOCOL || !has(peer)) {
      return Optional.empty();
    }
    Optional<InetAddress> client = Optional.empty();
    for (var said : chain(headers).reversed()) {
      if (said.isEmpty()) {
        return client;
      }
      client = said;
      if (!isTrusted(said.get())) {
        return client;
      }
    }
    return client;
  }

  /** For whom each proxy says that it asks; empty for one that does not, or not by an address. */
  private List<Optional<InetAddress>> chain(HttpFields headers) {
    return way == Way.X_FORWARDED_FOR
        ? values(headers, "X-Forwarded-For")
            .flatMap(line -> Stream.of(line.split(",", -1)))
            .map(said -> addressOrBare(said.strip()))
            .toList()
        : values(headers, "Forwarded")
            .flatMap(line -> Forwarded.clients(line).stream())
            .map(said -> said.flatMap(Proxies::address))
            .toList();
  }

  private static Stream<String> values(HttpFields headers, String name) {
    return headers.getValuesList(name).stream();
  }

  private static Optional<InetAddress> addressOrBare(String said) {
    return address(BARE_IPV6.matcher(said).matches() ? "[" + said + "]" : said);
  }

  /** The address of a node; empty for what is none, such as {@code unknown} or a hidden name. */
  private static Optional<InetAddress> address(String node) {
    var found = NODE.matcher(node);
    if (!found.matches()) {
      return Optional.empty();
    }
    try {
      return Optional.of(
          InetAddress.ofLiteral(
              Objects.requireNonNullElseGet(found.group("four"), () -> found.group("six"))));
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }
}
