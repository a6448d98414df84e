package dev.evergreen.web;

/**
 * Thrown by handlers, computations and authenticators to answer with a status and a message that
 * the browser may see.
 */
public class WebException extends RuntimeException {

  private final int status;
  private final String type;

  /**
   * A failure.
   *
   * @param status 400 to 599
   * @param type a short name for programs, such as {@code "no-such-user"}
   * @param message for people
   */
  public WebException(int status, String type, String message) {
    super(message);
    if (status < 400 || status > 599) {
      throw new IllegalArgumentException("An error's status is 400 to 599, not " + status + ".");
    }
    this.status = status;
    this.type = type;
  }

  /** The HTTP status. */
  public int status() {
    return status;
  }

  /** The short name for programs. */
  public String type() {
    return type;
  }
}
