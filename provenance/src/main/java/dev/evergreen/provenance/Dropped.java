package dev.evergreen.provenance;

import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * What became of requests that had no room on record, or are lost, as far as is known at a gap. The
 * texts are those in the table of gaps.
 */
enum Dropped {
  /** They are over. */
  OVER("the spool was full"),

  /** Some may still take effect; the recorder will tell when not. */
  UNDER_WAY("the spool was full; what was dropped may still take effect"),

  /**
   * Some may still take effect, and no recorder can tell when not, as the one has ended that has
   * dropped them: they are over when the store becomes another process than a later recorder has
   * found.
   */
  STRAYED("a recorder has ended, and what it has dropped may still take effect"),

  /**
   * Requests that were on record are destroyed. Some may still take effect, and nobody knows which
   * they were: they are over as those of a recorder that has ended.
   */
  LOST("the spool was damaged; what is lost may still take effect");

  /** The condition that a gap is one of these. */
  static final String THESE =
      Arrays.stream(values())
          .map(state -> "'" + state.why + "'")
          .collect(Collectors.joining(", ", "why in (", ")"));

  private final String why;

  Dropped(String why) {
    this.why = why;
  }

  String why() {
    return why;
  }

  /** Whether no word of a recorder ends it, but only that the store is another process. */
  boolean lasts() {
    return this == STRAYED || this == LOST;
  }

  static Dropped of(String why) {
    return Arrays.stream(values()).filter(state -> state.why.equals(why)).findFirst().orElse(OVER);
  }
}
