package dev.evergreen.core;

import dev.evergreen.core.spi.TraceContext;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An operation with its last result (004 §4.1): of a grain ({@link GrainSummary}), or at the root
 * of a reactive computation ({@link RootComputation}). It depends on the caches that its last
 * accepted {@link Run} has read.
 */
interface Summary {

  /** The activation as whose read-only turns it runs; null for a computation outside of grains. */
  @Nullable Activation activation();

  /** What caches know it by; null for a root, which nobody reads. */
  @Nullable CallKey key();

  /** Runs the user's code, once. */
  @Nullable Object compute() throws Throwable;

  /**
   * Takes the result of a run.
   *
   * @param outcome null if there is none, since the run was discarded
   */
  void accept(Run run, @Nullable Outcome outcome, Tasks next);

  /**
   * Says that a dependency has changed. Nothing runs before {@link #schedule}.
   *
   * @param cause where in a trace the write was that changed it; null if that is not traced
   */
  void mark(@Nullable TraceContext cause);

  /** Lets what was marked run as soon as it may. */
  void schedule(Tasks next);

  /** Says that a dependency has become doubtful or certain, or deeper, but not different. */
  void standingChanged();

  /** The caches read by the accepted run. */
  List<Cache> dependencies();

  /** The caches that the run under way waits for. */
  List<Cache> waitingFor();
}
