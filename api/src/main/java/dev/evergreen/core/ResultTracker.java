package dev.evergreen.core;

import java.time.Duration;
import java.util.Iterator;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One consumer of a computation's results. It sees the latest result and may skip intermediate
 * ones; it never sees the same result twice in a row. For one thread at a time.
 *
 * @param <T> the result's type
 */
public interface ResultTracker<T extends @Nullable Object> extends AutoCloseable {

  /**
   * Waits for a result that this tracker has not delivered: the first one at once, then each time
   * the result differs. Never times out merely because nothing changed.
   *
   * @return the latest result; it is shared and unmodifiable
   * @throws RuntimeException if the latest result is an exception: that exception; a checked one is
   *     the cause of a {@link ComputationFailedException}. The computation goes on.
   * @throws ComputationClosedException if the computation or this tracker is closed
   * @throws NodeStoppedException if the node has stopped
   */
  T next();

  /**
   * As {@link #next()}, with a limit on the waiting.
   *
   * @throws NoNewResultException if there is no undelivered result within {@code timeout}
   */
  T next(Duration timeout);

  /**
   * As {@link #next()}, with failures as values and nothing when there is no undelivered result
   * within {@code timeout}.
   */
  Optional<Result<T>> poll(Duration timeout);

  /**
   * Waits for a snapshot that differs from what this tracker has delivered: in the result, or in
   * the freshness alone. The first comes as soon as there is a result.
   *
   * @return the latest; nothing if there is no other within {@code timeout}
   * @throws ComputationClosedException if the computation or this tracker is closed
   * @throws NodeStoppedException if the node has stopped
   */
  Optional<Snapshot<T>> observe(Duration timeout);

  /** Whether the latest result is known to be current. Never blocks; any thread may ask. */
  Freshness freshness();

  /** The results in order of arrival; {@code hasNext} waits, and is false after the end. */
  Iterator<T> iterator();

  /** Ends this tracker; a waiting {@link #next()} ends with an exception. Idempotent. */
  @Override
  void close();
}
