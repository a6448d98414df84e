package dev.evergreen.cluster.links;

import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.RealTime;
import org.jspecify.annotations.Nullable;

/** What all links of a node have in common. */
record LinkShared(
    LinkSettings settings,
    NodeId self,
    @Nullable LinkSecurity security,
    LinkListener listener,
    Counters counters,
    LinkLog log,
    RealTime time) {

  /** Calls the listener; what it throws ends no thread of the links. */
  void tell(Runnable event) {
    try {
      event.run();
    } catch (Throwable t) {
      log.warn(LinkLog.Kind.LISTENER, () -> "the listener of the links failed", t);
    }
  }
}
