package dev.evergreen.chirper;

import java.util.ArrayList;
import java.util.Collection;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A fixed number of threads that share a heap of work. */
final class Callers {

  private Callers() {}

  /**
   * Applies {@code action} to every item; returns when all are done.
   *
   * @throws RuntimeException the first one that was thrown; then items are left undone
   */
  static <T> void run(int threads, Collection<T> items, Consumer<T> action) {
    var work = new ConcurrentLinkedQueue<>(items);
    var failure = new AtomicReference<@Nullable RuntimeException>();
    var running = new ArrayList<Thread>();
    for (int i = 0; i < Math.min(threads, items.size()); i++) {
      running.add(Thread.ofVirtual().start(() -> workOff(work, action, failure)));
    }
    try {
      for (var thread : running) {
        thread.join();
      }
    } catch (InterruptedException e) {
      work.clear();
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted before the work was done", e);
    }
    var first = failure.get();
    if (first != null) {
      throw first;
    }
  }

  private static <T> void workOff(
      ConcurrentLinkedQueue<T> work,
      Consumer<T> action,
      AtomicReference<@Nullable RuntimeException> failure) {
    try {
      for (var item = work.poll(); item != null; item = work.poll()) {
        action.accept(item);
      }
    } catch (RuntimeException e) {
      failure.compareAndSet(null, e);
      work.clear();
    }
  }
}
