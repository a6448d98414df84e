package dev.evergreen.live;

import java.time.Duration;

/**
 * What may be held. A payer is whoever a computation is made for, such as an address; one may have
 * several.
 *
 * @param maxResults how many computations
 * @param maxResultsOfPayer how many that were made for one payer
 * @param maxNewPerSecond how many may be made for one payer; what is not used of it is saved for a
 *     minute
 * @param maxResultsPerSecond how many results may be made for one payer, a long one counting as one
 *     for each {@value #COUNTED_BYTES} bytes; what would be more is made later, and some of it
 *     never, as another is there by then. What is not used of it is saved for two seconds
 * @param maxBytes of all results together, equal ones once, and of keys that are long
 * @param maxBytesOfPayer of those that were made for one payer
 * @param keepFor how long a computation goes on after the last one who used it has left
 */
public record LiveLimits(
    int maxResults,
    int maxResultsOfPayer,
    int maxNewPerSecond,
    int maxResultsPerSecond,
    long maxBytes,
    long maxBytesOfPayer,
    Duration keepFor) {

  /** So many bytes of a result cost about as much as to compute one. */
  static final int COUNTED_BYTES = 16 << 10;

  /** For edges that look after their limits themselves. */
  public static final LiveLimits NONE =
      new LiveLimits(
          Integer.MAX_VALUE,
          Integer.MAX_VALUE,
          Integer.MAX_VALUE,
          Integer.MAX_VALUE,
          Long.MAX_VALUE,
          Long.MAX_VALUE,
          Duration.ZERO);
}
