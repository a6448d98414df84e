package dev.evergreen.provenance;

/** Why a request has no reply. */
public enum Unanswered {
  /** The client had asked for none, or the protocol has none. */
  NONE_EXPECTED(0),

  /** The connection ended before it came: nobody can know whether the request had an effect. */
  OUTCOME_UNKNOWN(1),

  /** It was never forwarded: it had no effect. */
  NOT_SENT(2),

  /**
   * The client had asked for no reply, and what it has sent only waits for what carries out all of
   * its transaction: as if the store had said so, though it was not heard.
   */
  QUEUED(3);

  private static final Unanswered[] REASONS = values();

  private final byte code;

  Unanswered(int code) {
    this.code = (byte) code;
  }

  byte code() {
    return code;
  }

  static Unanswered of(byte number) {
    return REASONS[number];
  }
}
