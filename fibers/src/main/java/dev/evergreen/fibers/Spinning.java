package dev.evergreen.fibers;

import java.time.Duration;

/**
 * Whether a processor that has nothing to do looks for events for a while before it sleeps. To
 * sleep and be woken takes longer than to find what comes soon. Whether it does, the last sleeps
 * tell: so a processor that has little to do does not spin, nor one whose events come late because
 * it spins. Of one carrier.
 */
final class Spinning {
  /** So many short sleeps in a row, at most, have to tell that it pays. */
  private static final int MOST_NEEDED = 64;

  private final long limitNanos;
  private int needed = 1;
  private int shortSleeps;

  /** For so long at most; zero for never. */
  Spinning(Duration limit) {
    limitNanos = limit.toNanos();
  }

  /** How long it may last. */
  long limitNanos() {
    return limitNanos;
  }

  /** Whether to try now. */
  boolean pays() {
    return shortSleeps >= needed;
  }

  /** Something came while it lasted. */
  void found() {
    needed = 1;
  }

  /** It was for nothing. */
  void missed() {
    needed = Math.min(2 * needed, MOST_NEEDED);
    shortSleeps = 0;
  }

  /** The processor has slept for so long. */
  void slept(long nanos) {
    shortSleeps = nanos < limitNanos ? shortSleeps + 1 : 0;
  }
}
