package dev.evergreen.shims;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;

/**
 * Where a shim listens, or whom it speaks for.
 *
 * @param text as it was given
 * @param socket the host's name is not looked up yet
 * @param tls whether TLS is spoken there
 */
public record Address(String text, SocketAddress socket, boolean tls) {

  /**
   * Of {@code host:port}, {@code [host]:port}, {@code unix:PATH} or {@code tls:host:port}.
   *
   * @throws IllegalArgumentException if it is none of them; the message says what is wrong
   */
  public static Address of(String text) {
    if (text.startsWith("unix:")) {
      var path = text.substring(5);
      if (path.isEmpty()) {
        throw wrong(text, "it names no file");
      }
      return new Address(text, UnixDomainSocketAddress.of(path), false);
    }
    boolean tls = text.startsWith("tls:");
    var rest = tls ? text.substring(4) : text;
    int colon = rest.lastIndexOf(':');
    if (colon < 1) {
      throw wrong(text, "it has no host and port");
    }
    var host = rest.substring(0, colon);
    if (host.startsWith("[") && host.endsWith("]")) {
      host = host.substring(1, host.length() - 1);
    } else if (host.contains(":")) {
      throw wrong(text, "an address of IPv6 belongs in brackets");
    }
    return new Address(
        text, InetSocketAddress.createUnresolved(host, port(text, rest, colon)), tls);
  }

  private static int port(String text, String rest, int colon) {
    var digits = rest.substring(colon + 1);
    if (!digits.matches("[0-9]{1,5}") || Integer.parseInt(digits) > 0xFFFF) {
      throw wrong(text, "its port is not between 0 and 65535");
    }
    return Integer.parseInt(digits);
  }

  private static IllegalArgumentException wrong(String text, String why) {
    return new IllegalArgumentException(
        "an address is host:port, unix:PATH or tls:host:port, but '" + text + "' is not: " + why);
  }

  /** The host, or an empty text for a UNIX socket. */
  public String host() {
    return socket instanceof InetSocketAddress inet ? inet.getHostString() : "";
  }

  /** The port, or 0 for a UNIX socket. */
  public int port() {
    return socket instanceof InetSocketAddress inet ? inet.getPort() : 0;
  }

  /**
   * Where to listen: looks the host's name up, which blocks.
   *
   * @throws UnknownHostException if it has no address
   */
  public SocketAddress toListenAt() throws UnknownHostException {
    return socket instanceof InetSocketAddress
        ? new InetSocketAddress(InetAddress.getByName(host()), port())
        : socket;
  }

  @Override
  public String toString() {
    return text;
  }
}
