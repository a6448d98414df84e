package dev.evergreen.core;

import dev.evergreen.core.spi.NodeCounts;
import dev.evergreen.core.spi.NodeObserver;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/** One process's part in hosting grains, and the way in from outside. Thread-safe. */
public interface Node extends AutoCloseable {

  /** References to grains for callers that are no grains themselves. */
  Grains grains();

  /**
   * A computation over grains, tracked from its first run until it is closed. Results are compared
   * by their encoded bytes, or by {@code equals} where they are no values. Collections are
   * delivered unmodifiable, as a {@code List}, {@code Set} or {@code Map} of the runtime's: let the
   * computation return these and not, for instance, {@code ArrayList}.
   */
  <T extends @Nullable Object> ReactiveComputation<T> reactive(Computation<T> computation);

  /**
   * A computation whose results are delivered only when {@code same} says that they differ.
   *
   * @param same called with the last result and the new one
   */
  <T extends @Nullable Object> ReactiveComputation<T> reactive(
      Computation<T> computation, BiPredicate<? super T, ? super T> same);

  /**
   * What this node holds at the moment. Does not wait; takes time in proportion to the number of
   * active grains and summaries.
   */
  NodeCounts counts();

  /**
   * Who watches this node, for those who know it; {@code NodeReport.of(node)} of {@code
   * evergreen-reports} asks it for a report.
   */
  NodeObserver observer();

  /**
   * Stops: new calls fail with {@link NodeStoppedException}, trackers end with it, running turns
   * get a grace period of 5 seconds by default, then all activations are closed. Idempotent; blocks
   * until done.
   */
  @Override
  void close();
}
