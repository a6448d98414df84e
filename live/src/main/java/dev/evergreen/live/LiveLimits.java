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
 * @param maxWorkPerSecond how much may be done for one payer of what it asks for, see {@link
 *     LiveResults#pay}, and as much again of results: each that is made counts, a long one as
 *     several; what is not used of it is saved for ten seconds
 * @param maxBytes of all results together, equal ones once, and of keys that are long
 * @param maxBytesOfPayer of those that were made for one payer
 * @param keepFor how long a computation goes on after the last one who used it has left
 */
public record LiveLimits(
    int maxResults,
    int maxResultsOfPayer,
    int maxNewPerSecond,
    int maxWorkPerSecond,
    long maxBytes,
    long maxBytesOfPayer,
    Duration keepFor) {

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
