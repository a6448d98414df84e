package dev.evergreen.cluster;

import org.jspecify.annotations.Nullable;

/** Runs seeds of the {@link MandateWorld}; shared with broken versions. */
public interface MandateTrials {

  /** What is simulated. */
  enum Kind {
    FENCED,
    FENCED_WITH_EVIDENCE,
    PINGED,
    PINGED_WITH_EVIDENCE,
    LAST_ONES_FENCED,
    LAST_ONES_PINGED,
    FEWER_DIE_FENCED,
    FEWER_DIE_PINGED
  }

  /** What failed; null if nothing did. */
  @Nullable String failure(Kind kind, long seed);
}
