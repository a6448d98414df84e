package dev.evergreen.core.engine;

import dev.evergreen.core.NodeStoppedException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** Whether a node takes calls, and why it no longer does. */
final class Lifetime {

  private final AtomicBoolean closing = new AtomicBoolean();
  private volatile @Nullable String stopped;

  boolean serving() {
    return !closing.get();
  }

  boolean stopped() {
    return stopped != null;
  }

  /** Why the node has stopped; null while it has not. */
  @Nullable String stopReason() {
    return stopped;
  }

  /**
   * To be called before a call.
   *
   * @param inside whether a grain makes it, which may go on while the node is closing
   * @throws NodeStoppedException if the call must not be made
   */
  void checkRunning(boolean inside) {
    var reason = stopped;
    if (reason != null) {
      throw new NodeStoppedException(reason);
    }
    if (!serving() && !inside) {
      throw new NodeStoppedException("the node is stopping; call another node");
    }
  }

  /** No calls from outside from now on; returns whether this is the first end. */
  boolean beginClosing() {
    return closing.compareAndSet(false, true);
  }

  /** No calls from now on. */
  void stop(String reason) {
    closing.set(true);
    stopped = reason;
  }
}
