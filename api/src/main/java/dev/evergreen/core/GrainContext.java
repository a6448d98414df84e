package dev.evergreen.core;

import java.time.Duration;
import java.time.Instant;

/**
 * What a grain knows of its world; given to its constructor. Unless a method says otherwise it may
 * be used only from the grain's constructor and its turns, and refuses other threads.
 *
 * @param <K> the key's type
 */
public interface GrainContext<K> {

  /** The key of this grain. Any thread may ask. */
  K key();

  /** References to other grains, whose calls belong to the present turn. */
  Grains grains();

  /**
   * The persistent state of this grain; call it once, in the constructor.
   *
   * @param initial what the state is until it is first set
   */
  <S> State<S> state(Class<S> type, S initial);

  /**
   * Runs an action as a turn of this grain, after {@code delay} and then every {@code period} (zero
   * for once), until it is cancelled or the grain is deactivated. A turn that is due while the one
   * before still runs is skipped. A timer does not keep the grain active.
   */
  GrainTimer timer(String name, Duration delay, Duration period, Runnable action);

  /**
   * A computation made by this grain: it runs as read-only turns of this activation, is marked by
   * its writes, and is closed with it at the latest.
   */
  <T> ReactiveComputation<T> reactive(Computation<T> computation);

  /** Waits as a blocking point: other turns that may interleave do so meanwhile. */
  void sleep(Duration duration);

  /**
   * The node's time. Not tracked: a computation that reads it is not run again when time passes.
   */
  Instant now();

  /**
   * Says that this grain's results may have changed for a reason that the runtime cannot see. Any
   * thread may call it.
   */
  void markChanged();

  /** Deactivates this grain when the present turn has ended. */
  void deactivate();
}
