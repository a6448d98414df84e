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
   * Some may still take effect, as the recorder has ended that has dropped them: nobody else knows
   * for which processes they were, and any may come back.
   */
  STRAYED("a recorder has ended, and what it has dropped may still take effect"),

  /**
   * Of this nothing is left at the process that the store is, as the present recorder has found
   * out; if the store is another one, it may still take effect.
   */
  AWAY("a recorder has ended, and another process may still do what it has dropped"),

  /**
   * Requests that were on record are destroyed. Some may still take effect, and nobody knows which
   * they were, for which processes, and of which recorder. So nothing ends it until another one
   * begins to record, which comes after all of them.
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
    return this != OVER && this != ELSEWHERE && this != AWAY;
  }

  /** Whether it goes on behind whatever a recorder knows of what it has dropped itself. */
  boolean lasts() {
    return this == STRAYED || this == AWAY || this == LOST;
  }

  static Dropped of(String why) {
    return Arrays.stream(values()).filter(state -> state.why.equals(why)).findFirst().orElse(OVER);
  }
}
