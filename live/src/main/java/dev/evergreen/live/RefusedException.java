package dev.evergreen.live;

/** No further computation may be made, or no longer result be held. */
public final class RefusedException extends RuntimeException {

  /** Why not. */
  public enum Reason {
    /** There are no results any more. */
    CLOSED,
    /** Somebody has had too many made in a while. */
    TOO_MANY_NEW,
    /** Somebody has too many, all in use. */
    TOO_MANY_OF_PAYER,
    /** There are too many, all in use. */
    TOO_MANY,
    /** What was made for somebody is too long. */
    TOO_LONG_OF_PAYER,
    /** All that is held is too long. */
    TOO_LONG
  }

  private final Reason reason;

  RefusedException(Reason reason) {
    // Not a trace: it is an answer, and may be given often.
    super(reason.toString(), null, false, false);
    this.reason = reason;
  }

  /** Why it was refused. */
  public Reason reason() {
    return reason;
  }
}
