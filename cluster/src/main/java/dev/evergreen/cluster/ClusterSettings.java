package dev.evergreen.cluster;

import dev.evergreen.cluster.links.LinkSecurity;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Pattern;

/**
 * Every setting of a node's part in a cluster. Made by {@link ClusterNode.Builder}, whose methods
 * have the defaults.
 *
 * @param name of the cluster; nodes of another are refused
 * @param host this node's name or address, as the others reach it
 * @param bindHost the address to listen at
 * @param port for membership; 0 for any free one
 * @param linkPort for calls and results; 0 for any free one
 * @param operatorPort for operators on this machine; 0 for any free one; none for no such port
 * @param hosts whether grains are placed on this node
 * @param partitions how many partitions all grains are divided into, the same on all nodes
 * @param seeds how the others are found
 * @param joinWithin how long the start may take
 * @param security the keys for TLS, required of both sides; none for plaintext
 * @param plaintextAnywhere whether plaintext may be spoken beyond this machine
 * @param crashEvidence whether a node is declared dead as soon as its connections were reset and
 *     its host refuses new ones
 */
record ClusterSettings(
    String name,
    String host,
    String bindHost,
    int port,
    int linkPort,
    OptionalInt operatorPort,
    boolean hosts,
    int partitions,
    Seeds seeds,
    Duration joinWithin,
    Optional<LinkSecurity> security,
    boolean plaintextAnywhere,
    boolean crashEvidence) {

  /** Pekko's own patience is set to that, as it must not be shorter ({@link PekkoRules}). */
  private static final Duration LONGEST_START = Duration.ofDays(30);

  private static final Pattern NAME = Pattern.compile("[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}");

  /**
   * @throws IllegalArgumentException if a setting makes no sense; the message names it
   */
  ClusterSettings {
    if (!NAME.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "The name of a cluster has 1 to 64 letters, digits, '-' and '_', but was '" + name + "'");
    }
    if (port < 0 || port > 0xFFFF || linkPort < 0 || linkPort > 0xFFFF) {
      throw new IllegalArgumentException(
          "Ports are between 0 and 65535, but were %d and %d".formatted(port, linkPort));
    }
    if (operatorPort.orElse(0) < 0 || operatorPort.orElse(0) > 0xFFFF) {
      throw new IllegalArgumentException(
          "The operator's port is between 0 and 65535, but was " + operatorPort.getAsInt());
    }
    if (partitions < 1 || partitions > 10_000) {
      throw new IllegalArgumentException(
          "There may be 1 to 10,000 partitions, but were to be " + partitions);
    }
    if (!joinWithin.isPositive() || joinWithin.compareTo(LONGEST_START) > 0) {
      throw new IllegalArgumentException(
          "joinWithin must be positive, and at most %d days, but was %s"
              .formatted(LONGEST_START.toDays(), joinWithin));
    }
    if (linkPort != 0
        && seeds instanceof Seeds.Addresses(var addresses)
        && addresses.contains(new Seeds.Address(host, linkPort))) {
      throw new IllegalArgumentException(
          ("The seed %s:%d is this node's own port for links; a node takes two, by default one after"
                  + " the other: leave room between the nodes' ports, or choose with linkPort(...)")
              .formatted(host, linkPort));
    }
    if (host.isBlank() || bindHost.isBlank()) {
      throw new IllegalArgumentException(
          "A node needs a host to listen at, but was given '%s' and '%s'"
              .formatted(host, bindHost));
    }
    checkReachable(host, seeds);
    checkReach(security, plaintextAnywhere, bindHost, port);
    security.ifPresent(keys -> keys.requireFor(host));
  }

  private static void checkReachable(String host, Seeds seeds) {
    var own = literal(host);
    if (own.filter(InetAddress::isAnyLocalAddress).isPresent()) {
      throw new IllegalArgumentException(
          "The others cannot reach a node at %s, which means all addresses of a machine: give the"
                  .formatted(host)
              + " one that they use as the host, and listen at all with bind(\"%s\")"
                  .formatted(host));
    }
    if (own.filter(InetAddress::isLoopbackAddress).isEmpty()
        || !(seeds instanceof Seeds.Addresses(var addresses))) {
      return;
    }
    for (var seed : addresses) {
      if (literal(seed.host()).filter(address -> !address.isLoopbackAddress()).isPresent()) {
        throw new IllegalArgumentException(
            "The seed %s cannot reach this node at %s, which is this machine for itself only: give"
                    .formatted(seed, host)
                + " the address by which the others reach it as the host");
      }
    }
  }

  /** Names are not asked for here: what they mean may change. */
  private static Optional<InetAddress> literal(String host) {
    try {
      return Optional.of(InetAddress.ofLiteral(host));
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }

  private static void checkReach(
      Optional<LinkSecurity> security, boolean plaintextAnywhere, String host, int port) {
    if (security.isEmpty() && !plaintextAnywhere && !isLoopback(host)) {
      throw new IllegalArgumentException(
          "Without TLS whoever reaches %s:%d could take part in the cluster: give the node keys with"
                  .formatted(host, port)
              + " security(...), listen at 127.0.0.1, or allow it by plaintextBeyondThisMachine()");
    }
  }

  private static boolean isLoopback(String host) {
    try {
      return InetAddress.getByName(host).isLoopbackAddress();
    } catch (UnknownHostException e) {
      throw new IllegalArgumentException("There is no address for the host '" + host + "'", e);
    }
  }
}
