package dev.evergreen.bench;

import dev.evergreen.core.CallInterruptedException;
import java.util.Iterator;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A virtual thread that waits for a view's results and notes when an expected one arrives. */
final class Client implements AutoCloseable {

  /** What is waited for: {@code value} at {@code position} of a result. */
  private record Expected(int position, int value, Thread waiter) {}

  private volatile @Nullable Expected expected;
  private volatile long arrived;
  private @Nullable Thread thread;

  /**
   * @param results whose iterator is used by the client's thread only
   */
  void follow(Supplier<Iterator<int[]>> results) {
    thread = Thread.startVirtualThread(() -> watch(results.get()));
  }

  private void watch(Iterator<int[]> results) {
    try {
      while (results.hasNext()) {
        var result = results.next();
        var wanted = expected;
        if (wanted != null && result[wanted.position] == wanted.value) {
          arrived = System.nanoTime();
          expected = null;
          LockSupport.unpark(wanted.waiter);
        }
      }
    } catch (CallInterruptedException e) {
      return; // closed
    }
  }

  /** Begins to expect a value. */
  void expect(int position, int value) {
    expected = new Expected(position, value, Thread.currentThread());
  }

  /** Waits for the expected value; returns when it arrived, by {@link System#nanoTime}. */
  long awaitArrival() {
    while (expected != null) {
      LockSupport.park(this);
    }
    return arrived;
  }

  @Override
  public void close() {
    if (thread != null) {
      thread.interrupt();
    }
  }
}
