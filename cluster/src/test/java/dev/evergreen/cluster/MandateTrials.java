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
    NEWCOMER_FENCED,
    RARE_FENCED(2),
    RARE_PINGED(2),
    /** More nodes than watch each other. */
    MANY_FENCED(20),
    MANY_PINGED(20),
    STOOD_STILL_FENCED(4),
    STOOD_STILL_PINGED(4),
    STRANGER_FENCED(2),
    STRANGER_PINGED(2);

    private final int dearness;

    Kind() {
      this(1);
    }

    Kind(int dearness) {
      this.dearness = dearness;
    }

    /** By how much fewer seeds of it are tried, as each takes longer. */
    int dearness() {
      return dearness;
    }
  }

  /** What failed; null if nothing did. */
  @Nullable String failure(Kind kind, long seed);
}
