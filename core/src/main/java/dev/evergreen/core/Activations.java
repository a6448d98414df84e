package dev.evergreen.core;

import dev.evergreen.core.spi.GrainId;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The grains that are active on this node; at most one activation each. */
final class Activations {

  private final NodeRuntime node;
  private final Map<GrainId, Activation> table = new ConcurrentHashMap<>();
  private final AtomicLong epochs;

  Activations(NodeRuntime node) {
    this.node = node;
    this.epochs = new AtomicLong(node.firstEpoch());
  }

  int size() {
    return table.size();
  }

  @Nullable Activation get(GrainId id) {
    return table.get(id);
  }

  /** The summary of a call; null if it is not here. */
  @Nullable GrainSummary summary(CallKey key) {
    var activation = table.get(key.grain());
    return activation == null ? null : activation.summary(key);
  }

  /**
   * The activation of a grain; a new one starts to open as one of the tasks.
   *
   * @throws ActivationException if this node does not host the type
   */
  Activation open(GrainModel model, GrainId id, Tasks next) {
    var activation = table.get(id);
    if (activation != null) {
      return activation;
    }
    node.checkHosted(model, id);
    var opened = new Activation(node, model, id, epochs.incrementAndGet());
    var winner = table.putIfAbsent(id, opened);
    if (winner != null) {
      return winner;
    }
    next.add(opened::open);
    // Checked when whoever stops the node, or hands its grains off, can see this one.
    if (node.stopped()) {
      opened.close("the node has stopped", null, next);
    } else if (!node.placement().isHere(id)) {
      opened.close(id + " moved to another node", null, next);
    }
    return opened;
  }

  void remove(Activation activation) {
    table.remove(activation.id(), activation);
  }

  List<Activation> all() {
    return List.copyOf(table.values());
  }

  /**
   * Closes activations in order: nothing new starts, what runs gets a grace period.
   *
   * @return what was closed; a save may still be under way
   */
  List<Activation> close(Predicate<GrainId> leaving, String reason) {
    var closing = all().stream().filter(a -> leaving.test(a.id())).toList();
    closing.forEach(a -> a.beginClosing(reason));
    long deadline = node.clock().nanos() + node.settings().stopGrace().toNanos();
    closing.forEach(a -> a.awaitIdle(deadline));
    var next = new Tasks();
    closing.forEach(a -> a.close(reason, null, next));
    node.fork(next);
    return closing;
  }

  /** Closes at once. */
  void closeNow(String reason) {
    var next = new Tasks();
    all().forEach(a -> a.close(reason, null, next));
    node.fork(next);
  }

  /** Closes what nobody has used for a while, and drops subscriptions nobody has renewed. */
  void sweep() {
    long now = node.clock().nanos();
    long idle = now - node.settings().idleAfter().toNanos();
    long heard = now - node.settings().leaseFor().toNanos();
    var next = new Tasks();
    for (var activation : all()) {
      activation.expire(heard, null);
      activation.summaries().forEach(summary -> summary.collectCircle(next));
      if (activation.leaveIfIdle(idle)) {
        activation.close(activation.id() + " was idle", null, next);
      }
    }
    node.fork(next);
  }
}
