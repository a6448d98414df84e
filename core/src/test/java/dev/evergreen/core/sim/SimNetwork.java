package dev.evergreen.core.sim;

import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * The messages between simulated nodes: late, lost, repeated and out of order as the weather has
 * it, and cut off where nodes are isolated or a connection breaks.
 */
final class SimNetwork {

  private record Pair(NodeId from, NodeId to) {}

  private final Scheduler scheduler;
  private final SplittableRandom random;
  private final Map<NodeId, SimNode> nodes = new HashMap<>();
  private final Map<Pair, Long> lastArrivals = new HashMap<>();
  private final Map<Pair, Integer> connections = new HashMap<>();
  private final Set<Pair> cuts = new HashSet<>();
  private Weather weather = Weather.FINE;
  private long sent;

  SimNetwork(Scheduler scheduler, SplittableRandom random) {
    this.scheduler = scheduler;
    this.random = random;
  }

  void attach(SimNode node) {
    nodes.put(node.id(), node);
  }

  void weather(Weather now) {
    weather = now;
  }

  /** How many messages nodes have sent. */
  long sent() {
    return sent;
  }

  /** Nothing passes between the two, in either direction, until they are joined. */
  void cut(NodeId a, NodeId b) {
    cuts.add(new Pair(a, b));
    cuts.add(new Pair(b, a));
  }

  void join(NodeId a, NodeId b) {
    cuts.remove(new Pair(a, b));
    cuts.remove(new Pair(b, a));
  }

  /** What is under way between the two is lost, and both are told. */
  void breakConnection(NodeId a, NodeId b) {
    loseUnderWay(a, b);
    loseUnderWay(b, a);
    tellBroken(a, b);
    tellBroken(b, a);
  }

  private void loseUnderWay(NodeId from, NodeId to) {
    connections.merge(new Pair(from, to), 1, Integer::sum);
  }

  private void tellBroken(NodeId whom, NodeId other) {
    var node = nodes.get(whom);
    if (node != null) {
      scheduler.after(
          random.nextLong(20_000_000),
          node.life(),
          () -> {
            trace(whom, "link to " + other + " broken");
            node.engine().linkBroken(other);
          });
    }
  }

  /** False if the sender knows that there is no connection; it may have broken unnoticed. */
  boolean send(NodeId from, NodeId to, Message message) {
    if (cuts.contains(new Pair(from, to)) && random.nextBoolean()) {
      traceMessage(from, "|> ", to, message);
      return false;
    }
    sent++;
    boolean lost = random.nextDouble() < weather.loss();
    traceMessage(from, lost ? "x> " : "-> ", to, message);
    if (!lost) {
      transmit(from, to, message);
    }
    if (random.nextDouble() < weather.duplication()) {
      transmit(from, to, message);
    }
    scheduler.preempt();
    return true;
  }

  private void transmit(NodeId from, NodeId to, Message message) {
    var receiver = nodes.get(to);
    if (receiver == null) {
      return;
    }
    var pair = new Pair(from, to);
    long arrival = scheduler.now() + travelNanos();
    if (random.nextDouble() >= weather.reordering()) {
      arrival = Math.max(arrival, lastArrivals.getOrDefault(pair, 0L));
      lastArrivals.put(pair, arrival);
    }
    int connection = connections.getOrDefault(pair, 0);
    boolean cut = cuts.contains(pair);
    scheduler.after(
        arrival - scheduler.now(),
        receiver.life(),
        () -> {
          boolean passes =
              !cut
                  && !cuts.contains(pair)
                  && connection == connections.getOrDefault(pair, 0)
                  && !receiver.refuses(from);
          traceMessage(to, passes ? "<- " : "<x ", from, message);
          if (passes) {
            receiver.engine().receive(from, message);
          }
        });
  }

  private long travelNanos() {
    if (random.nextDouble() < weather.slowness()) {
      return random.nextLong(weather.minNanos(), weather.slowNanos());
    }
    return random.nextLong(weather.minNanos(), weather.maxNanos());
  }

  private void trace(NodeId where, String what) {
    scheduler.trace().add(scheduler.now(), where.toString(), what);
  }

  private void traceMessage(NodeId where, String arrow, NodeId other, Message message) {
    var trace = scheduler.trace();
    trace.add(scheduler.now(), where.toString(), arrow + other + " " + text(trace, message));
  }

  private static String text(Trace trace, Message message) {
    return trace.detailed() ? Describe.text(message) : message.getClass().getSimpleName();
  }
}
