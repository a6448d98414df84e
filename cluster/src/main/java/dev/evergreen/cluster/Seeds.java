package dev.evergreen.cluster;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** How a node that starts finds the others. */
public sealed interface Seeds {

  /** An address of a node in the cluster. */
  record Address(String host, int port) {

    /**
     * Reads {@code host:port}.
     *
     * @throws IllegalArgumentException if it is none
     */
    public static Address parse(String text) {
      int colon = text.lastIndexOf(':');
      try {
        int port = Integer.parseInt(text.substring(colon + 1));
        if (colon > 0 && port > 0 && port <= 0xFFFF) {
          return new Address(text.substring(0, colon), port);
        }
      } catch (NumberFormatException e) {
        // said below
      }
      throw new IllegalArgumentException(
          "A seed is written host:port, for instance 10.0.0.1:25520, but this is '" + text + "'");
    }

    @Override
    public String toString() {
      return host + ":" + port;
    }
  }

  /** This node begins a cluster of its own, which others join. */
  record None() implements Seeds {}

  /**
   * The cluster is found at these addresses, tried until one answers. The first of them begins the
   * cluster when nodes at all others have answered that they are in none; so all nodes must be
   * given the same first one, and a cluster begins when all seeds are started.
   */
  record Addresses(List<Address> addresses) implements Seeds {

    /**
     * @throws IllegalArgumentException if there is none
     */
    public Addresses {
      addresses = List.copyOf(addresses);
      if (addresses.isEmpty()) {
        throw new IllegalArgumentException("There must be at least one seed");
      }
    }

    @Override
    public String toString() {
      return addresses.toString();
    }
  }

  /**
   * The cluster is found at the addresses that a name has in DNS, for instance that of a headless
   * service in Kubernetes; nodes must listen by address, not by name. The lowest address begins the
   * cluster, once at least {@code atLeast} are known, the answer was the same for {@code
   * stableFor}, and nodes at all others have answered that they are in none. The JVM keeps answers
   * for 30 seconds unless it is started with {@code -Dsun.net.inetaddr.ttl=1}.
   *
   * @param atLeast more than half of the nodes that are started together, or two clusters may begin
   */
  record Dns(String name, int port, int atLeast, Duration stableFor) implements Seeds {

    /**
     * @throws IllegalArgumentException if {@code atLeast} is not positive
     */
    public Dns {
      if (atLeast < 1) {
        throw new IllegalArgumentException(
            "At least one address must be found for " + name + ", but atLeast was " + atLeast);
      }
    }

    /** Begins a cluster when the answer was the same for five seconds. */
    public Dns(String name, int port, int atLeast) {
      this(name, port, atLeast, Duration.ofSeconds(5));
    }
  }

  /** The addresses to join, in order; none to begin a cluster. Blocks while DNS is asked. */
  default List<Address> find(long deadlineNanos) {
    return switch (this) {
      case None() -> List.of();
      case Addresses(var addresses) -> addresses;
      case Dns dns -> resolve(dns, deadlineNanos);
    };
  }

  private static List<Address> resolve(Dns dns, long deadline) {
    List<Address> last = List.of();
    long since = System.nanoTime();
    while (true) {
      var now = lookUp(dns);
      if (!now.equals(last)) {
        last = now;
        since = System.nanoTime();
      }
      boolean enough = now.size() >= dns.atLeast();
      if (enough && System.nanoTime() - since >= dns.stableFor().toNanos()) {
        return now;
      }
      if (Thread.currentThread().isInterrupted()) {
        throw new IllegalStateException(
            "interrupted while " + dns.name() + " was asked for in DNS");
      }
      if (System.nanoTime() - deadline > 0) {
        throw new IllegalStateException(
            "%s has the addresses %s in DNS, but at least %d are needed; are the others started?"
                .formatted(dns.name(), now, dns.atLeast()));
      }
      LockSupport.parkNanos(Duration.ofMillis(200).toNanos());
    }
  }

  private static List<Address> lookUp(Dns dns) {
    try {
      var found = new ArrayList<>(Arrays.asList(InetAddress.getAllByName(dns.name())));
      return found.stream()
          .map(InetAddress::getHostAddress)
          .distinct()
          .sorted()
          .map(host -> new Address(host, dns.port()))
          .toList();
    } catch (UnknownHostException e) {
      return List.of(); // not yet: names appear with the first node
    }
  }
}
