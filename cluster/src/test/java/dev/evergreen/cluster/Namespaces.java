package dev.evergreen.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.evergreen.cluster.Processes.Place;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.opentest4j.TestAbortedException;

/**
 * Network namespaces of this machine, each with one address, on a bridge that leads nowhere else;
 * the wire of each can be cut, wholly or in part. Needs the rights of an administrator.
 */
final class Namespaces implements AutoCloseable {

  private static final String SUBNET = "10.211.77.";

  private static final AtomicInteger MADE = new AtomicInteger();

  /** Names that no others have, of this process or another. */
  private final String tag = ProcessHandle.current().pid() + "-" + MADE.incrementAndGet();

  private final Map<String, Place> places = new LinkedHashMap<>();
  private final List<String> made = new ArrayList<>();
  private final List<Healing> healings = new ArrayList<>();

  /**
   * Makes them.
   *
   * @throws IOException if this machine does not allow it; nothing is left behind
   */
  Namespaces(String... names) throws IOException {
    try {
      // The bridge has a namespace too, so that nothing of this machine's network is touched.
      add(hub());
      in(hub(), "link", "add", "hub", "type", "bridge");
      in(hub(), "link", "set", "hub", "up");
      for (var name : names) {
        connect(name, SUBNET + (places.size() + 1));
      }
    } catch (IOException e) {
      close();
      throw e;
    }
  }

  /** Makes them; where this machine does not allow it, the test is skipped. */
  static Namespaces orSkip(String... names) {
    try {
      return new Namespaces(names);
    } catch (IOException e) {
      // The same words for all, so that the summary tells it once.
      throw new TestAbortedException(
          "network namespaces cannot be made here, which takes an administrator's rights:"
              + " no network was cut",
          e);
    }
  }

  private void connect(String name, String address) throws IOException {
    var own = namespace(name);
    add(own);
    plug(wire(name), own, "eth0");
    in(own, "addr", "add", address + "/24", "dev", "eth0");
    in(own, "link", "set", "eth0", "address", card(address));
    in(own, "link", "set", "eth0", "up");
    in(own, "link", "set", "lo", "up");
    places.put(name, new Place(address, List.of("ip", "netns", "exec", own)));
  }

  /** Leads a wire from the hub to a namespace. What is sent into it is cut into packets before. */
  private void plug(String wire, String own, String card) throws IOException {
    in(hub(), "link", "add", wire, "type", "veth", "peer", "name", card, "netns", own);
    in(hub(), "link", "set", wire, "master", "hub");
    in(hub(), "link", "set", wire, "up");
    in(own, "link", "set", card, "gso_max_segs", "1");
  }

  /** The address of the card that has an address. */
  private static String card(String address) {
    return "02:00:00:00:00:0" + address.substring(SUBNET.length());
  }

  private String hub() {
    return namespace("hub");
  }

  private String namespace(String name) {
    return "evergreen-" + tag + "-" + name;
  }

  private static String wire(String name) {
    return "to-" + name;
  }

  Map<String, Place> places() {
    return places;
  }

  /** What becomes of what one and the others send each other. */
  enum Cut {
    /** It is lost. */
    DROPPED,
    /** Connections are reset and refused, as a firewall does. */
    REFUSED,
    /** Those of the one are; what the others send it is lost. */
    REFUSED_FROM_IT,
    /** Those of the others are; what the one sends them is lost. */
    REFUSED_TO_IT,
    /** What the one sends is lost, what the others send arrives. */
    LOST_FROM_IT,
    /** What the others send is lost, what the one sends arrives. */
    LOST_TO_IT,
    /** New connections come about, and nothing passes over them, nor over those that there are. */
    STUCK,
    /** The same, but what the others send passes. */
    STUCK_FROM_IT,
    /** The same, but what the one sends passes. */
    STUCK_TO_IT;

    private static final int USUAL = 5;

    /** In how many ways a cluster is cut in two, by {@code -Devergreen.cuts}. */
    static int tried() {
      return Integer.getInteger("evergreen.cuts", USUAL);
    }

    /** Whether more are wanted than an ordinary run has time for. */
    static boolean all() {
      return tried() > USUAL;
    }
  }

  /** Nothing, or not all, passes between one and the others any more. */
  void cut(String name, Cut how) throws IOException {
    switch (how) {
      case DROPPED, REFUSED, REFUSED_FROM_IT, REFUSED_TO_IT -> {
        // At once, whatever is answered then in the place of the others.
        in(hub(), "link", "set", wire(name), "down");
        for (var other : others(name)) {
          if (how == Cut.REFUSED || how == Cut.REFUSED_FROM_IT) {
            refuse(name, other);
          }
          if (how == Cut.REFUSED || how == Cut.REFUSED_TO_IT) {
            refuse(other, name);
          }
        }
      }
      case LOST_FROM_IT -> {
        for (var other : others(name)) {
          lose(name, other);
        }
      }
      case LOST_TO_IT -> {
        for (var other : others(name)) {
          lose(other, name);
        }
      }
      case STUCK -> narrow(hub(), wire(name));
      case STUCK_TO_IT -> {
        narrow(namespace(name), "eth0");
        // Else it would send such packets only as it can receive.
        route(name, SUBNET + "0/24", "eth0");
      }
      case STUCK_FROM_IT -> divert(name);
    }
  }

  /**
   * Nothing passes between two any more; what each exchanges with others does.
   *
   * @param refused whether their connections are reset and refused; else what is sent is lost
   */
  void part(String name, String other, boolean refused) throws IOException {
    if (!refused) {
      lose(name, other);
      lose(other, name);
      return;
    }
    for (var third : others(name)) {
      if (!third.equals(other)) {
        // Else one of them could answer it in the place of the other.
        know(third, name);
        know(third, other);
      }
    }
    refuse(name, other);
    refuse(other, name);
  }

  private void know(String name, String other) throws IOException {
    neighbour(name, other, card(address(other)), "eth0");
    healings.add(() -> in(namespace(name), "neigh", "del", address(other), "dev", "eth0"));
  }

  /** What one sends from or to some ports is lost. */
  void silence(String name, List<String> ports) throws IOException {
    for (var port : ports) {
      for (var end : List.of("sport", "dport")) {
        in(namespace(name), "rule", "add", "ipproto", "tcp", end, port, "blackhole");
        healings.add(
            () -> in(namespace(name), "rule", "del", "ipproto", "tcp", end, port, "blackhole"));
      }
    }
  }

  /** One sends what is for another to a card that there is not. */
  private void lose(String name, String other) throws IOException {
    neighbour(name, other, "02:00:00:00:00:ff", "eth0");
    healings.add(() -> in(namespace(name), "neigh", "del", address(other), "dev", "eth0"));
  }

  /** Lets pass what opens, acknowledges or ends connections, and drops what has data. */
  private void narrow(String namespace, String card) throws IOException {
    in(namespace, "link", "set", card, "mtu", "68");
    healings.add(() -> in(namespace, "link", "set", card, "mtu", "1500"));
  }

  /** One sends all by a second wire, which is narrow. */
  private void divert(String name) throws IOException {
    var own = namespace(name);
    var second = "from-" + name;
    plug(second, own, "eth1");
    healings.add(() -> in(hub(), "link", "del", second));
    in(own, "link", "set", "eth1", "up", "arp", "off");
    for (var other : others(name)) {
      neighbour(name, other, card(address(other)), "eth1");
      route(name, address(other) + "/32", "eth1");
    }
    in(hub(), "link", "set", second, "mtu", "68");
  }

  private void neighbour(String name, String other, String card, String by) throws IOException {
    in(
        namespace(name),
        "neigh",
        "replace",
        address(other),
        "lladdr",
        card,
        "dev",
        by,
        "nud",
        "permanent");
  }

  /** Sends packets of full size that way, whatever the card takes. */
  private void route(String name, String where, String card) throws IOException {
    in(
        namespace(name),
        "route",
        "replace",
        where,
        "dev",
        card,
        "src",
        address(name),
        "mtu",
        "lock",
        "1500");
  }

  /**
   * One regards the address of another as its own, where nobody listens: so its system answers for
   * the other, and takes what comes from there for forged.
   */
  private void refuse(String name, String other) throws IOException {
    in(namespace(name), "addr", "add", address(other) + "/32", "dev", "lo");
    healings.add(() -> in(namespace(name), "addr", "del", address(other) + "/32", "dev", "lo"));
  }

  /** Everything passes again. */
  void heal(String name) throws IOException {
    in(hub(), "link", "set", wire(name), "up");
    for (var healing : healings.reversed()) {
      healing.run();
    }
    healings.clear();
  }

  /** Takes a part of a cut back. */
  private interface Healing {
    void run() throws IOException;
  }

  private List<String> others(String name) {
    return places.keySet().stream().filter(other -> !other.equals(name)).toList();
  }

  private String address(String name) {
    return Objects.requireNonNull(places.get(name), name).host();
  }

  private void add(String namespace) throws IOException {
    run(List.of("ip", "netns", "add", namespace));
    made.add(namespace);
  }

  private static void in(String namespace, String... command) throws IOException {
    var whole = new ArrayList<>(List.of("ip", "-n", namespace));
    whole.addAll(List.of(command));
    run(whole);
  }

  private static void run(List<String> command) throws IOException {
    var process = new ProcessBuilder(command).redirectErrorStream(true).start();
    try {
      var output = new String(process.getInputStream().readAllBytes(), UTF_8);
      if (process.waitFor() != 0) {
        throw new IOException(String.join(" ", command) + ": " + output.strip());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
  }

  @Override
  public void close() {
    for (var namespace : made.reversed()) {
      try {
        run(List.of("ip", "netns", "del", namespace));
      } catch (IOException e) {
        // What is left goes with the machine.
      }
    }
  }
}
