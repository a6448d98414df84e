package dev.evergreen.core.sim;

import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * The messages between simulated nodes: late, lost, repeated and out of order as the weather has
 * it, and cut off where nodes are isolated or a connection breaks.
 */
final class SimNetwork {

  private record Pair(NodeId from, NodeId to) {}

  /**
   * A message on its way.
   *
   * @param nanos how long it travels
   * @param inOrder whether it stays behind those before it
   */
  record Copy(long nanos, boolean inOrder) {}

  private final Scheduler scheduler;
  private final SplittableRandom random;
  private final Map<NodeId, SimNode> nodes = new HashMap<>();
  private final Map<Pair, Long> lastArrivals = new HashMap<>();
  private final Map<Pair, Integer> connections = new HashMap<>();
  private final Set<Pair> cuts = new HashSet<>();
  private Weather weather = Weather.FINE;
  private Supplier<List<Copy>> post = this::byWeather;
  private Predicate<Message> unsent = message -> false;
  private Predicate<Message> refused = message -> false;
  private Predicate<Message> failing = message -> false;
  private Predicate<Message> kept = message -> false;
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

  /** What becomes of each message from now on, instead of what the weather has. */
  void post(Supplier<List<Copy>> now) {
    post = now;
  }

  /** There is no connection for these messages, or no room, and the sender knows. */
  void unsent(Predicate<Message> which) {
    unsent = which;
  }

  /** These messages are too large for any link. */
  void refuses(Predicate<Message> tooLarge) {
    refused = tooLarge;
  }

  /** To send these messages fails, and they do not leave. */
  void fails(Predicate<Message> which) {
    failing = which;
  }

  /** No weather loses these messages. */
  void keeps(Predicate<Message> which) {
    kept = which;
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
    if (unsent.test(message)) {
      return false;
    }
    if (refused.test(message)) {
      throw new IllegalArgumentException("a message that no link takes");
    }
    if (failing.test(message)) {
      throw new IllegalStateException("a link with a fault");
    }
    sent++;
    var copies = post.get();
    if (copies.isEmpty() && kept.test(message)) {
      copies = List.of(copyByWeather());
    }
    traceMessage(from, copies.isEmpty() ? "x> " : "-> ", to, message);
    copies.forEach(copy -> transmit(from, to, message, copy));
    scheduler.preempt();
    return true;
  }

  private void transmit(NodeId from, NodeId to, Message message, Copy copy) {
    var receiver = nodes.get(to);
    if (receiver == null) {
      return;
    }
    var pair = new Pair(from, to);
    long arrival = scheduler.now() + copy.nanos();
    if (copy.inOrder()) {
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

  private List<Copy> byWeather() {
    var copies = new ArrayList<Copy>(1);
    if (random.nextDouble() >= weather.loss()) {
      copies.add(copyByWeather());
    }
    if (random.nextDouble() < weather.duplication()) {
      copies.add(copyByWeather());
    }
    return copies;
  }

  private Copy copyByWeather() {
    scheduler.touchShared();
    return new Copy(travelNanos(), random.nextDouble() >= weather.reordering());
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
