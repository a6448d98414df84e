package dev.evergreen.fibers;

import java.util.ArrayList;

/**
 * The connections to which one thread has written what was not flushed yet. Before it waits on one
 * of them all the others' output leaves, too: a proxy's fiber that waits for one side must not sit
 * on what it wrote to the other. Only that thread uses it.
 */
final class Outputs {
  private static final ThreadLocal<Outputs> OF_OTHERS =
      ThreadLocal.withInitial(() -> new Outputs(Thread.currentThread()));

  final Thread owner;
  private final ArrayList<Connection> unflushed = new ArrayList<>(0);

  Outputs(Thread owner) {
    this.owner = owner;
  }

  /** The current thread's, if that is no fiber of ours. */
  static Outputs ofOther() {
    return OF_OTHERS.get();
  }

  void add(Connection connection) {
    unflushed.add(connection);
  }

  void remove(Connection connection) {
    unflushed.remove(connection);
  }

  void flushAll() {
    while (!unflushed.isEmpty()) {
      unflushed.removeLast().flushFor(owner);
    }
  }

  /** Flushes all but one, which is flushed by who waits on it. */
  void flushOthers(Connection but) {
    if (!unflushed.isEmpty() && (unflushed.size() > 1 || !unflushed.contains(but))) {
      unflushed.remove(but);
      flushAll();
    }
  }
}
