package dev.evergreen.provenance;

/** Why a request has no reply. */
public enum Unanswered {
  /** None is due, as its client wants none: nobody knows whether the store has refused it. */
  NONE_EXPECTED(0),

  /** The connection ended before it came: nobody can know whether the request had an effect. */
  OUTCOME_UNKNOWN(1),

  /** It was never forwarded: it had no effect. */
  NOT_SENT(2);

  private static final Unanswered[] REASONS = values();

  private final byte code;

  Unanswered(int code) {
    this.code = (byte) code;
  }

  byte code() {
    return code;
  }

  /** Of another reason, which a former version may have had, no more is known. */
  static Unanswered of(byte number) {
    return number < REASONS.length ? REASONS[number] : OUTCOME_UNKNOWN;
  }
}
