package dev.evergreen.provenance;

/** What is known of the end of a request; the numbers are those of the column {@code outcome}. */
enum Outcome {
  OPEN(0),
  REPLIED(1),
  NONE_EXPECTED(2),
  UNKNOWN(3),
  NOT_SENT(4);

  private static final Outcome[] OUTCOMES = values();

  private final int code;

  Outcome(int code) {
    this.code = code;
  }

  int code() {
    return code;
  }

  static Outcome of(int code) {
    return OUTCOMES[code];
  }

  static Outcome of(Unanswered reason) {
    return switch (reason) {
      case NONE_EXPECTED -> NONE_EXPECTED;
      case OUTCOME_UNKNOWN -> UNKNOWN;
      case NOT_SENT -> NOT_SENT;
    };
  }
}
