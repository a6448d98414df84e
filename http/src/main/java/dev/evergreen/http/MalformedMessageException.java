package dev.evergreen.http;

import java.io.IOException;

/**
 * The peer sent what is no message of HTTP, or one that is beyond a limit. Nothing that follows on
 * the connection can be understood. A server has answered with {@link #status} and closes; a client
 * that is a gateway answers 502.
 */
public final class MalformedMessageException extends IOException {
  private static final long serialVersionUID = 1;

  private final int status;

  /** Answered by 400. */
  public MalformedMessageException(String what) {
    this(400, what);
  }

  /**
   * Answered by a status of its own.
   *
   * @param status such as 431
   */
  public MalformedMessageException(int status, String what) {
    super(what);
    this.status = status;
  }

  /** The status that a server answers with. */
  public int status() {
    return status;
  }
}
