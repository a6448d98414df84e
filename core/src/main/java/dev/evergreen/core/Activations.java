package dev.evergreen.core;

import dev.evergreen.core.spi.GrainId;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The grains that are active on this node; at most one activation each. */
final class Activations {

  private final Propagation parts;
  private final Base base;
  private final Workers workers;
  private final Function<Activation, Activation.Inside> inside;
  private final Map<GrainId, Activation> table = new ConcurrentHashMap<>();
  private final AtomicLong epochs;

  /**
   * @param firstEpoch differs between the lives of nodes
   * @param inside makes what is inside of an activation
   */
  Activations(Propagation parts, long firstEpoch, Function<Activation, Activation.Inside> inside) {
    this.parts = parts;
    this.base = parts.base();
    this.workers = base.workers();
    this.epochs = new AtomicLong(firstEpoch);
    this.inside = inside;
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
    base.models().hosted(model, id); // or it throws
    var opened = new Activation(parts, model, id, epochs.incrementAndGet(), inside, this::remove);
    var winner = table.putIfAbsent(id, opened);
    if (winner != null) {
      return winner;
    }
    next.add(opened::open);
    // Checked when whoever stops the node, or hands its grains off, can see this one.
    if (base.lifetime().stopped()) {
      opened.close("the node has stopped", null, next);
    } else if (!base.placement().isHere(id)) {
      opened.close(id + " moved to another node", null, next);
    }
    return opened;
  }

  private void remove(Activation activation) {
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
    long deadline = workers.nanos() + base.settings().stopGrace().toNanos();
    closing.forEach(a -> a.awaitIdle(deadline));
    var next = new Tasks();
    closing.forEach(a -> a.close(reason, null, next));
    workers.fork(next);
    return closing;
  }

  /** Closes at once. */
  void closeNow(String reason) {
    var next = new Tasks();
    all().forEach(a -> a.close(reason, null, next));
    workers.fork(next);
  }

  /** Closes what nobody has used for a while, and drops subscriptions nobody has renewed. */
  void sweep(Tasks next) {
    long now = workers.nanos();
    long idle = now - base.settings().idleAfter().toNanos();
    long heard = now - base.settings().leaseFor().toNanos();
    for (var activation : all()) {
      activation.expire(heard, null);
      if (activation.leaveIfIdle(idle)) {
        activation.close(activation.id() + " was idle", null, next);
      }
    }
  }
}
