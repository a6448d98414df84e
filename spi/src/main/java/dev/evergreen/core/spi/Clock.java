package dev.evergreen.core.spi;

import java.time.Instant;

/** The node's time. */
public interface Clock {

  /** Monotonic nanoseconds from an arbitrary origin. */
  long nanos();

  /** The wall clock; may be wrong and may jump. */
  Instant now();

  /**
   * Runs a task once, {@code delayNanos} from now, on a thread of the engine. The task must not
   * block. If this throws, the task does not run: the core waits for itself then.
   */
  Cancellable after(long delayNanos, Runnable task);

  /** A task that has not run yet. */
  interface Cancellable {
    /** The task does not start afterwards, unless it is starting now. Idempotent. */
    void cancel();
  }
}
