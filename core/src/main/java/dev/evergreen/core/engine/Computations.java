package dev.evergreen.core.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.ActivationException;
import dev.evergreen.core.Computation;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.work.StackRoom;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/** The reactive computations of a node that are open. */
final class Computations {

  private final Propagation parts;
  private final Settling settling;

  @GuardedBy("this")
  private final Set<RootComputation<?>> open = new LinkedHashSet<>();

  Computations(Propagation parts, Settling settling) {
    this.parts = parts;
    this.settling = settling;
  }

  synchronized int size() {
    return open.size();
  }

  /** One that is made outside of grains. */
  <T extends @Nullable Object> ReactiveComputation<T> open(
      Computation<T> computation, @Nullable BiPredicate<? super T, ? super T> comparer) {
    var lifetime = parts.base().lifetime();
    boolean inside = Scope.current() != null;
    lifetime.checkRunning(inside);
    var root = new RootComputation<T>(parts, null, computation, comparer, this::remove);
    add(root);
    if (lifetime.stopped()) {
      root.close();
      lifetime.checkRunning(inside);
    }
    return live(root);
  }

  /** One that a grain makes; it ends with the activation at the latest. */
  <T extends @Nullable Object> ReactiveComputation<T> open(
      Activation owner, Computation<T> computation) {
    var root =
        new RootComputation<T>(
            parts,
            owner,
            computation,
            null,
            closed -> {
              owner.disown(closed);
              remove(closed);
            });
    // Known to the node first: an activation that ends closes what it owns.
    add(root);
    try {
      owner.own(root);
    } catch (ActivationException e) {
      remove(root);
      throw e;
    }
    return live(root);
  }

  private <T extends @Nullable Object> ReactiveComputation<T> live(RootComputation<T> root) {
    return new LiveComputation<>(root, settling, parts.base().settings().callTimeout());
  }

  private synchronized void add(RootComputation<?> root) {
    StackRoom.check(); // who may open one can close it, which asks, too
    open.add(root);
  }

  private synchronized void remove(RootComputation<?> root) {
    open.remove(root);
  }

  void closeAll() {
    List<RootComputation<?>> all;
    synchronized (this) {
      all = List.copyOf(open);
    }
    all.forEach(RootComputation::close);
  }
}
