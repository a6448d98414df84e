package dev.evergreen.fibers;

import java.io.InterruptedIOException;

/** Somebody has {@linkplain CancelScope#cancel cancelled} what the thread waited for. */
public final class WaitCancelledException extends InterruptedIOException {

  private static final long serialVersionUID = 1;

  WaitCancelledException(String what) {
    super("could not " + what + ": the wait was cancelled");
  }
}
