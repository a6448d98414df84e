package dev.evergreen.http;

import org.jspecify.annotations.Nullable;

/**
 * The head of a response: its status and its fields.
 *
 * <p>The head of a {@link ClientExchange} is its caller's to keep and to change.
 */
public final class ResponseHead {
  private int status;
  private @Nullable String reason;
  private Version version = Version.HTTP_1_1;
  private final Fields fields;

  private ResponseHead(int status, Fields fields) {
    status(status);
    this.fields = fields;
  }

  /** A response without fields, with the status' usual reason. */
  public static ResponseHead of(int status) {
    return of(status, new Fields());
  }

  /**
   * A response with fields, and the status' usual reason.
   *
   * @throws IllegalArgumentException if the status is not from 100 to 599
   */
  public static ResponseHead of(int status, Fields fields) {
    return new ResponseHead(status, fields);
  }

  /** A copy that can be kept and changed. */
  public ResponseHead copy() {
    var made = of(status, fields.copy()).version(version);
    made.reason = reason;
    return made;
  }

  /** The status, 100 to 599. */
  public int status() {
    return status;
  }

  /** Gives it another status, with its usual reason. */
  public ResponseHead status(int code) {
    if (code < 100 || code > 599) {
      throw new IllegalArgumentException("a status is from 100 to 599, not " + code);
    }
    status = code;
    reason = null;
    return this;
  }

  /** Whether another response follows this one: 1xx, but for 101, which ends HTTP. */
  public boolean isInformational() {
    return status < 200 && status != 101;
  }

  /** The reason that came, which may be empty, or the usual one. */
  public String reason() {
    return reason != null ? reason : Reasons.of(status);
  }

  /**
   * Gives it a reason of its own.
   *
   * @throws IllegalArgumentException if it has controls
   */
  public ResponseHead reason(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) > 0xff || !Characters.isValue(text.charAt(i))) {
        throw new IllegalArgumentException("'" + text + "' cannot be a reason");
      }
    }
    reason = text;
    return this;
  }

  /** By which version it came; HTTP/1.1 for one that was made here. */
  public Version version() {
    return version;
  }

  /** Says by which version it came. */
  public ResponseHead version(Version by) {
    version = by;
    return this;
  }

  /** The fields; they may be changed. */
  public Fields fields() {
    return fields;
  }

  /** The head as it would be sent by HTTP/1.1. */
  @Override
  public String toString() {
    return version + " " + status + " " + reason() + "\r\n" + fields + "\r\n";
  }
}
