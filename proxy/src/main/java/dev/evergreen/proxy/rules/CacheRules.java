package dev.evergreen.proxy.rules;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * What RFC 9111 leaves to a cache.
 *
 * @param targets names of the fields that replace Cache-Control for this cache, the most important
 *     first (RFC 9213)
 * @param heuristicShare which share of a response's age since its last change it is taken to be
 *     fresh, if it does not say (§4.2.2); 0 for never
 * @param heuristicMost how long that may be
 * @param staleIfError for how long after its end a response may be used when the origin fails, if
 *     it does not say (RFC 5861 §4)
 * @param negative for how long a response that tells of nothing good is taken to be fresh, if it
 *     does not say, by its status; others by the share of their age. Only such statuses as RFC 9110
 *     §15.1 lets be guessed about.
 */
public record CacheRules(
    List<String> targets,
    double heuristicShare,
    Duration heuristicMost,
    Duration staleIfError,
    Map<Integer, Duration> negative) {

  /** CDN-Cache-Control, a tenth of the age but at most a day, and nothing stale. */
  public static final CacheRules DEFAULT =
      new CacheRules(
          List.of("CDN-Cache-Control"), 0.1, Duration.ofDays(1), Duration.ZERO, Map.of());

  public CacheRules {
    targets = List.copyOf(targets);
    negative = Map.copyOf(negative);
    for (int status : negative.keySet()) {
      if (status < 400 || !Statuses.heuristic(status)) {
        throw new IllegalArgumentException(
            "of the failures only %s may be kept where their origin does not say so, not %d"
                .formatted(Statuses.heuristicFailures(), status));
      }
    }
    if (heuristicShare < 0 || heuristicShare > 1) {
      throw new IllegalArgumentException(
          "the share of a response's age must be between 0 and 1, but is " + heuristicShare);
    }
  }
}
