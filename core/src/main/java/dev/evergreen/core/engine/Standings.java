package dev.evergreen.core.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.engine.Cache.Dependent;
import dev.evergreen.core.model.Failures;
import java.util.ArrayDeque;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * Tells summaries that what they have read stands otherwise: has become doubtful or certain, or
 * deeper, but not different. Done by one thread at a time from a queue, so that a long chain is no
 * deep recursion.
 */
final class Standings {

  @GuardedBy("this")
  private final ArrayDeque<Dependent> queue = new ArrayDeque<>();

  @GuardedBy("this")
  private boolean underWay;

  /** Tells these, on this thread or on the one that does so already. Called without monitors. */
  void tell(Collection<Dependent> summaries) {
    if (summaries.isEmpty()) {
      return;
    }
    synchronized (this) {
      queue.addAll(summaries);
      if (underWay) {
        return;
      }
      underWay = true;
    }
    try {
      for (var next = next(); next != null; next = next()) {
        Failures.alone("telling a summary how it stands", next::standingChanged);
      }
    } catch (RuntimeException | Error e) {
      synchronized (this) {
        underWay = false; // as where the stack ends: the next one who tells goes on
      }
      throw e;
    }
  }

  private synchronized @Nullable Dependent next() {
    var next = queue.poll();
    underWay = next != null;
    return next;
  }
}
