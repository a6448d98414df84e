package dev.evergreen.http;

import java.io.IOException;

/** As many exchanges with an origin are under way as may be, and as many wait, or one too long. */
public final class UpstreamBusyException extends IOException {
  private static final long serialVersionUID = 1;

  /** Says which origin. */
  UpstreamBusyException(Origin origin) {
    super("all connections to " + origin + " are in use");
  }
}
