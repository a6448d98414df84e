package dev.evergreen.proxy;

import java.net.InetAddress;
import java.util.List;

/**
 * Addresses whose word counts: proxies of one's own.
 *
 * @param networks as an address and how many of its first bits count
 */
public record Trust(List<Network> networks) {

  /** Nobody. */
  public static final Trust NOBODY = new Trust(List.of());

  public Trust {
    networks = List.copyOf(networks);
  }

  /**
   * Reads several as {@link Network#parse} does.
   *
   * @throws IllegalArgumentException if one is none
   */
  public static Trust of(List<String> texts) {
    return new Trust(texts.stream().map(Network::parse).toList());
  }

  /**
   * A network.
   *
   * @param bits how many of the address' first bits count
   */
  public record Network(InetAddress address, int bits) {

    public Network {
      int most = address.getAddress().length * 8;
      if (bits < 0 || bits > most) {
        throw new IllegalArgumentException(
            "a network of " + address.getHostAddress() + " has 0 to " + most + " bits");
      }
    }

    /**
     * Reads one such as "10.0.0.0/8", "::1" or "192.168.1.7".
     *
     * @throws IllegalArgumentException if the text is none; names are not looked up
     */
    public static Network parse(String text) {
      int slash = text.indexOf('/');
      var address = InetAddress.ofLiteral(slash < 0 ? text : text.substring(0, slash));
      var bits = slash < 0 ? "" + address.getAddress().length * 8 : text.substring(slash + 1);
      if (!bits.matches("[0-9]{1,3}")) {
        throw new IllegalArgumentException("a network is such as 10.0.0.0/8, but not " + text);
      }
      return new Network(address, Integer.parseInt(bits));
    }

    boolean contains(InetAddress other) {
      byte[] own = address.getAddress();
      byte[] its = other.getAddress();
      if (own.length != its.length) {
        return false;
      }
      for (int bit = 0; bit < bits; bit += 8) {
        int mask = bits - bit >= 8 ? 0xff : 0xff << (8 - (bits - bit));
        if (((own[bit / 8] ^ its[bit / 8]) & mask) != 0) {
          return false;
        }
      }
      return true;
    }
  }

  /** Whether an address is one of these. */
  public boolean includes(InetAddress address) {
    for (var network : networks) {
      if (network.contains(address)) {
        return true;
      }
    }
    return false;
  }
}
