package dev.evergreen.core;

import java.time.Duration;
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

  /** Something that changes grains, such as a call. */
  @FunctionalInterface
  interface Write<X extends Exception> {
    void perform() throws X;
  }

  /** As {@link #after(Write, Duration)}, for as long as a call may take by the node's settings. */
  <X extends Exception> T after(Write<X> write) throws X;

  /**
   * A result that reflects a write: performs it, then waits until a result has arrived that was
   * computed from what the write has left, or from what followed. Results come by themselves; this
   * is for who must not see an earlier one, such as a page that shows its own user's change.
   *
   * <p>All that others had acknowledged before is reflected too. What a write has others do after
   * its own acknowledgement is not waited for. A result that has a circle of reads below it may be
   * an earlier one.
   *
   * @param write is performed once, on the calling thread, before this waits
   * @param timeout limits the waiting
   * @return the result; it is shared and unmodifiable
   * @throws X what {@code write} throws
   * @throws RuntimeException if the result is an exception, as {@link ResultTracker#next()}
   * @throws NoNewResultException if none is known to reflect the write in time, for instance since
   *     something below is not heard of; the write is done
   * @throws InvalidGrainException if this is called inside of a computation, or of an operation
   *     that may write: a result may depend on what cannot run before that has ended
   * @throws ComputationClosedException if this computation is closed
   * @throws NodeStoppedException if the node has stopped
   */
  <X extends Exception> T after(Write<X> write, Duration timeout) throws X;

  /** Ends the computation and its trackers and gives everything back. Idempotent. */
  @Override
  void close();
}
