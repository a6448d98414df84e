package dev.evergreen.provenance;

import java.time.Duration;

/**
 * When and how long a loader pauses, so that it takes no core from those who are recorded. A low
 * priority is not enough: who runs is not sent from its core at once when somebody wakes up. And
 * with the lowest one the loader would be left without a core for a second, while the JVM waits for
 * it.
 *
 * <p>So the loader stops by itself. What it does is cut into small portions. If it has had to wait
 * for a core during one, others want them, and it pauses for long after it. What gathers meanwhile
 * is in the spool. It does not pause if somebody waits for what is recorded, if the spool has
 * little room, or if it is behind for too long.
 */
final class Courtesy {
  /** So many frames are a portion: some milliseconds of work. */
  static final int PORTION = 256;

  /** So long it may be behind. */
  static final Duration MOST_BEHIND = Duration.ofSeconds(5);

  /** So old a transaction becomes with pauses in it. */
  static final Duration LONGEST_TRANSACTION = Duration.ofSeconds(1);

  /** The longest pause. */
  private static final Duration LONGEST = Duration.ofMillis(200);

  /** Others want cores if it waited for one for more than this part of the time that it ran. */
  private static final int PART = 8;

  /** And then it pauses so many times as long as it ran. */
  private static final int TIMES = 20;

  private Courtesy() {}

  /**
   * How long to pause after a portion, in nanoseconds.
   *
   * @param portion what it took
   * @param behind how old what was loaded last is
   */
  static long pauseNanos(CoreTime.Reading portion, Duration behind) {
    boolean wanted = portion.waited() > portion.ran() / PART && portion.ran() > 0;
    return wanted && behind.compareTo(MOST_BEHIND) < 0
        ? Math.min(TIMES * portion.ran(), LONGEST.toNanos())
        : 0;
  }
}
