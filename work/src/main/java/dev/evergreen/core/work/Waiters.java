package dev.evergreen.core.work;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Threads that wait until something changes. Who waits is added before it looks, and who changes
 * something wakes them afterwards: so no change is missed.
 */
public final class Waiters {

  @GuardedBy("this")
  private @Nullable Set<Thread> threads; // only while somebody waits

  public synchronized void add(Thread thread) {
    if (threads == null) {
      threads = new LinkedHashSet<>(2);
    }
    threads.add(thread);
  }

  public synchronized void remove(Thread thread) {
    if (threads != null && threads.remove(thread) && threads.isEmpty()) {
      threads = null;
    }
  }

  public synchronized void wake(Workers workers) {
    if (threads != null) {
      threads.forEach(workers::unpark);
    }
  }
}
