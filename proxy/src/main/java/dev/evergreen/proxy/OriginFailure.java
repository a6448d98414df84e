package dev.evergreen.proxy;

import dev.evergreen.fibers.BuffersExhaustedException;
import dev.evergreen.http.HeadTooLargeException;
import dev.evergreen.http.IncompleteMessageException;
import dev.evergreen.http.MalformedMessageException;
import dev.evergreen.http.NoWebSocketException;
import dev.evergreen.http.UpstreamBusyException;
import java.io.IOException;
import java.net.SocketTimeoutException;

/** No origin gave an answer that can be used. */
final class OriginFailure extends IOException {
  private static final long serialVersionUID = 1;
  private static final String ANSWERED = "failed";

  private final int status;
  private final String detail;

  private OriginFailure(int status, String detail, Throwable cause) {
    super(cause.getMessage() == null ? cause.toString() : cause.getMessage(), cause);
    this.status = status;
    this.detail = detail;
  }

  static OriginFailure of(IOException cause) {
    return switch (cause) {
      case OriginFailure failure -> failure;
      case Reach.RefusedException refused -> new OriginFailure(403, "refused", refused);
      case SocketTimeoutException timeout -> new OriginFailure(504, "timeout", timeout);
      case MalformedMessageException malformed -> new OriginFailure(502, "malformed", malformed);
      case UpstreamBusyException busy -> new OriginFailure(503, "busy", busy);
      case BuffersExhaustedException none -> new OriginFailure(503, "no-buffers", none);
      case HeadTooLargeException large -> new OriginFailure(431, "head-too-large", large);
      case NoWebSocketException none -> new OriginFailure(502, "no-websockets", none);
      case IncompleteMessageException cut -> new OriginFailure(502, "cut-off", cut);
      default -> new OriginFailure(502, "unreachable", cause);
    };
  }

  /** An origin has answered with a failure that others need not see for themselves. */
  static OriginFailure answered(int status) {
    return new OriginFailure(status, ANSWERED, new IOException("it answered " + status));
  }

  /** An origin has answered a request to leave HTTP by what is no refusal, but stays with HTTP. */
  static OriginFailure staysWithHttp(int status) {
    return new OriginFailure(502, "stays-with-http", new IOException("it answered " + status));
  }

  /** What a client is answered: such as 502, 503 or 504. */
  int status() {
    return status;
  }

  /** Whether the origin was not reached, or has said nothing that can be understood. */
  boolean isNoAnswer() {
    return (status == 502 || status == 503) && !detail.equals(ANSWERED);
  }

  /** What happened, as a token. */
  String detail() {
    return detail;
  }
}
