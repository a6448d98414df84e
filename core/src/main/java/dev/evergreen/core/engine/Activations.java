package dev.evergreen.core.engine;

import dev.evergreen.core.ActivationException;
import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.model.Failures;
import dev.evergreen.core.model.GrainModel;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.work.Tasks;
import dev.evergreen.core.work.Workers;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The grains that are active on this node; at most one activation each. */
final class Activations {

  private final Propagation propagation;
  private final Base base;
  private final Workers workers;
  private final Function<Activation, Activation.Inside> inside;
  private final List<Map<GrainId, Activation>> parts;
  private final AtomicLong epochs;

  /**
   * @param firstEpoch differs between the lives of nodes
   * @param inside makes what is inside of an activation
   */
  Activations(
      Propagation propagation, long firstEpoch, Function<Activation, Activation.Inside> inside) {
    this.propagation = propagation;
    this.base = propagation.base();
    this.workers = base.workers();
    this.epochs = new AtomicLong(firstEpoch);
    this.inside = inside;
    this.parts =
        Stream.generate(
                () -> (Map<GrainId, Activation>) new ConcurrentHashMap<GrainId, Activation>(2))
            .limit(base.placement().parts())
            .toList();
  }

  int size() {
    return parts.stream().mapToInt(Map::size).sum();
  }

  @Nullable Activation get(GrainId id) {
    return table(id).get(id);
  }

  /** The summary of a call, or whose reads it asks for; null if it is not here. */
  @Nullable GrainSummary summary(CallKey key) {
    var activation = get(key.grain());
    return activation == null ? null : activation.summary(key);
  }

  /**
   * The activation of a grain; a new one starts to open as one of the tasks.
   *
   * @throws ActivationException if this node does not host the type
   */
  Activation open(GrainModel model, GrainId id, Tasks next) {
    var table = table(id);
    var activation = table.get(id);
    if (activation != null) {
      return activation;
    }
    base.models().hosted(model, id); // or it throws
    var opened =
        new Activation(propagation, model, id, epochs.incrementAndGet(), inside, this::remove);
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
    table(activation.id()).remove(activation.id(), activation);
  }

  private Map<GrainId, Activation> table(GrainId id) {
    return parts.get(base.placement().part(id));
  }

  List<Activation> all() {
    return parts.stream().flatMap(part -> part.values().stream()).toList();
  }

  /** Those of some parts of all grains. */
  List<Activation> of(int... some) {
    return Arrays.stream(some).boxed().flatMap(i -> parts.get(i).values().stream()).toList();
  }

  /**
   * Closes activations in order: nothing new starts, what runs gets a grace period. A save may
   * still be under way afterwards.
   */
  void close(List<Activation> closing, String reason) {
    each(closing, a -> a.beginClosing(reason));
    long deadline = workers.nanos() + base.settings().stopGrace().toNanos();
    closing.forEach(a -> a.awaitIdle(deadline));
    closeNow(closing, reason);
  }

  /** Closes them at once. */
  void closeNow(List<Activation> closing, String reason) {
    workers.now(next -> each(closing, a -> a.close(reason, null, next)));
  }

  /** Drops the subscriptions of nodes that left for good. */
  void forget(Set<NodeId> gone) {
    each(all(), a -> a.expire(subscriber -> gone.contains(subscriber.node())));
  }

  /** Closes what nobody has used for a while, and drops subscriptions nobody has renewed. */
  void sweep(Tasks next) {
    long now = workers.nanos();
    var idle = base.settings().idleAfter();
    long due = now - base.settings().leaseFor().toNanos();
    each(
        all(),
        activation -> {
          activation.expire(subscriber -> subscriber.isNotRenewedSince(due));
          if (activation.beginClosingIfIdle(now - activation.model().idleAfter(idle).toNanos())) {
            activation.close(activation.id() + " was idle", null, next);
          }
        });
  }

  private static void each(List<Activation> some, Consumer<Activation> what) {
    some.forEach(a -> Failures.alone("giving back what " + a.id() + " has", () -> what.accept(a)));
  }
}
