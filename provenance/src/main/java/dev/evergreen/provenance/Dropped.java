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

  /** Some may take effect if the store is again a process that it was before. */
  ELSEWHERE("the spool was full; a former process may still do what was dropped"),

  /**
   * Some may still take effect, and no recorder can tell when not, as the one has ended that has
   * dropped them: nobody else knows for which processes they were, and any may come back.
   */
  STRAYED("a recorder has ended, and what it has dropped may still take effect"),

  /**
   * Requests that were on record are destroyed. Some may still take effect, and nobody knows which
   * they were, and for which processes.
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

  /** Whether something may take effect while the store is the process that it is. */
  boolean mayTakeEffect() {
    return this != OVER && this != ELSEWHERE;
  }

  /** Whether nothing ends it. */
  boolean lasts() {
    return this == STRAYED || this == LOST;
  }

  static Dropped of(String why) {
    return Arrays.stream(values()).filter(state -> state.why.equals(why)).findFirst().orElse(OVER);
  }
}
