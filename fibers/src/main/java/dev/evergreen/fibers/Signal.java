package dev.evergreen.fibers;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.time.Duration;

/**
 * Where a fiber waits for another one, as it waits for input at a connection: what it wrote leaves
 * first, and {@link CancelScope}s end the wait. One that is raised before anybody waits lets the
 * next wait return at once. One fiber at a time may wait.
 *
 * <p>A wait may return although nothing was raised, and one that ended by an exception may have
 * used up what was raised: who waits looks before each wait whether what it waits for is there.
 */
public final class Signal {
  private final FibersBase fibers;
  private final Gate gate = new Gate();

  /** One that is not raised, for the fibers of a runtime and any other threads. */
  public Signal(Fibers fibers) {
    this.fibers = (FibersBase) fibers;
  }

  /** Ends the present wait, or the next one. Any thread may call this; it does not block. */
  public void raise() {
    gate.open();
  }

  /**
   * Sends what the calling fiber wrote, as each wait does first: for who is about to queue up, and
   * would hold up others there if a peer takes nothing.
   */
  public void flushBeforeWaiting() {
    fibers.outputs().flushAll();
  }

  /** Waits until it is raised. */
  public void await() throws IOException {
    await(false, 0);
  }

  /**
   * Waits until it is raised, for a time at most.
   *
   * @throws SocketTimeoutException if it was not raised in time
   */
  public void await(Duration limit) throws IOException {
    await(true, System.nanoTime() + Nanos.of(limit));
  }

  private void await(boolean limited, long until) throws IOException {
    if (gate.pass()) {
      return;
    }
    flushBeforeWaiting();
    var scope = CancelScope.current();
    if (scope == null) {
      pass(limited, until);
    } else {
      awaitIn(scope, limited, until);
    }
    if (limited && until - System.nanoTime() <= 0) {
      throw new SocketTimeoutException("nobody raised the signal in time");
    }
  }

  private void awaitIn(CancelScope.Bound scope, boolean limited, long until) throws IOException {
    scope.checkWait("wait for a signal");
    boolean sooner = scope.limited() && (!limited || scope.until() - until < 0);
    scope.begin(gate);
    try {
      pass(limited || sooner, sooner ? scope.until() : until);
    } finally {
      scope.end(gate);
    }
    scope.checkWait("wait for a signal");
  }

  private void pass(boolean limited, long until) throws InterruptedIOException {
    if (!(limited ? gate.await(until) : gate.await())) {
      throw new InterruptedIOException("interrupted while waiting for a signal");
    }
  }
}
