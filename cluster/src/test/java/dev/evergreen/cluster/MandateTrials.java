package dev.evergreen.cluster;

import org.jspecify.annotations.Nullable;

/** Runs seeds of simulated worlds; shared with broken versions. */
public interface MandateTrials {

  /** What is simulated: a {@link MandateWorld}, or what is said. */
  enum Kind {
    /** A {@link FenceWorld}. */
    FENCE,
    FENCED,
    FENCED_WITH_EVIDENCE,
    PINGED,
    PINGED_WITH_EVIDENCE,
    LAST_ONES_FENCED,
    LAST_ONES_PINGED,
    FEWER_REFUSED_FENCED,
    FEWER_REFUSED_PINGED,
    FEWER_STRUCK_FENCED,
    FEWER_STRUCK_PINGED,
    NEWCOMER_FENCED
  }

  /** What failed; null if nothing did. */
  @Nullable String failure(Kind kind, long seed);
}
