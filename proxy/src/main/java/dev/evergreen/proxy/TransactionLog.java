package dev.evergreen.proxy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;

/**
 * The last transactions, and who wants to be told of each. Any thread may call; who is told must
 * not wait.
 */
final class TransactionLog {

  private final AtomicReferenceArray<Course> last;
  private final AtomicLong added = new AtomicLong();
  private final List<Consumer<Course>> watchers = new CopyOnWriteArrayList<>();

  TransactionLog(int remembered) {
    last = new AtomicReferenceArray<>(remembered);
  }

  void add(Course course) {
    if (!isKept()) {
      return;
    }
    long number = added.getAndIncrement();
    last.set((int) (number % last.length()), course);
    for (var watcher : watchers) {
      watcher.accept(course);
    }
  }

  /** The last ones, the oldest first. */
  List<Course> last() {
    long end = added.get();
    var courses = new ArrayList<Course>();
    for (long i = Math.max(0, end - last.length()); i < end; i++) {
      var course = last.get((int) (i % last.length()));
      if (course != null) {
        courses.add(course);
      }
    }
    return courses;
  }

  /** Whether transactions are kept, so that their course is worth noting. */
  boolean isKept() {
    return last.length() > 0;
  }

  void watch(Consumer<Course> watcher) {
    watchers.add(watcher);
  }

  void unwatch(Consumer<Course> watcher) {
    watchers.remove(watcher);
  }
}
