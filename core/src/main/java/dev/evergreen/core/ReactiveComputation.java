package dev.evergreen.core;

import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * A result that is kept true (004 §3.3). The computation runs at first when a result is asked for,
 * and again whenever something it read has changed. Close it: until then the runtime tracks what it
 * depends on. All methods may be called by any thread.
 *
 * @param <T> the result's type
 */
public interface ReactiveComputation<T extends @Nullable Object> extends AutoCloseable {

  /** A new, independent consumer of the results. It is closed with this computation. */
  ResultTracker<T> tracker();

  /**
   * The results as a publisher, which starts a tracker of its own for each subscriber. A subscriber
   * that is slow gets the latest result, not each. Failures are results, delivered to {@code
   * onNext}; {@code onComplete} follows {@link #close}, {@code onError} the end of the node.
   */
  Flow.Publisher<Result<T>> publisher();

  /** Ends the computation and its trackers and gives everything back. Idempotent. */
  @Override
  void close();
}
