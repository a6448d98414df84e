package dev.evergreen.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.evergreen.cluster.Processes.Place;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Network namespaces of this machine, each with one address, on a bridge that leads nowhere else;
 * the wire of each can be cut. Needs the rights of an administrator.
 */
final class Namespaces implements AutoCloseable {

  private static final String SUBNET = "10.211.77.";

  private final String tag = Long.toString(ProcessHandle.current().pid());
  private final Map<String, Place> places = new LinkedHashMap<>();
  private final List<String> made = new ArrayList<>();
  private final List<List<String>> refusals = new ArrayList<>();

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

  private void connect(String name, String address) throws IOException {
    var own = namespace(name);
    add(own);
    in(hub(), "link", "add", wire(name), "type", "veth", "peer", "name", "eth0", "netns", own);
    in(hub(), "link", "set", wire(name), "master", "hub");
    in(hub(), "link", "set", wire(name), "up");
    in(own, "addr", "add", address + "/24", "dev", "eth0");
    in(own, "link", "set", "eth0", "up");
    in(own, "link", "set", "lo", "up");
    places.put(name, new Place(address, List.of("ip", "netns", "exec", own)));
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
    REFUSED_TO_IT
  }

  /** Nothing passes between one and the others any more. */
  void cut(String name, Cut how) throws IOException {
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

  /**
   * One regards the address of another as its own, where nobody listens: so its system answers for
   * the other, and takes what comes from there for forged.
   */
  private void refuse(String name, String other) throws IOException {
    in(namespace(name), "addr", "add", address(other) + "/32", "dev", "lo");
    refusals.add(List.of(name, other));
  }

  /** Everything passes again. */
  void heal(String name) throws IOException {
    in(hub(), "link", "set", wire(name), "up");
    for (var refusal : refusals) {
      var other = address(refusal.getLast());
      in(namespace(refusal.getFirst()), "addr", "del", other + "/32", "dev", "lo");
    }
    refusals.clear();
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
