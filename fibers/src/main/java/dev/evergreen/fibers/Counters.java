package dev.evergreen.fibers;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** What one processor has done. Only its carrier counts; others may read at any time. */
final class Counters {

  /** A number that one thread counts. */
  static final class Counter {
    private static final VarHandle VALUE;

    static {
      try {
        VALUE = MethodHandles.lookup().findVarHandle(Counter.class, "value", long.class);
      } catch (ReflectiveOperationException e) {
        throw new ExceptionInInitializerError(e);
      }
    }

    private long value;

    Counter() {}

    Counter(long value) {
      this.value = value;
    }

    void add() {
      VALUE.setOpaque(this, value + 1);
    }

    void add(long more) {
      VALUE.setOpaque(this, value + more);
    }

    void set(long now) {
      VALUE.setOpaque(this, now);
    }

    long value() {
      return (long) VALUE.getOpaque(this);
    }
  }

  final Counter runs = new Counter();
  final Counter polls = new Counter();
  final Counter sleeps = new Counter();
  final Counter steals = new Counter();
  final Counter helps = new Counter();
  final Counter posts = new Counter();
}
