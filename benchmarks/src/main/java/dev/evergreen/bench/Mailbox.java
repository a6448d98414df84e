package dev.evergreen.bench;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The latest result for one waiting client, by hand: what a tracker is for a computation. Results
 * that nobody has taken yet are replaced.
 */
final class Mailbox implements Consumer<int[]>, Iterator<int[]> {

  private final AtomicReference<int @Nullable []> latest = new AtomicReference<>();
  private volatile @Nullable Thread waiter;

  @Override
  public void accept(int[] result) {
    latest.set(result);
    LockSupport.unpark(waiter);
  }

  /** Waits; false when interrupted. */
  @Override
  public boolean hasNext() {
    waiter = Thread.currentThread();
    while (latest.get() == null) {
      if (Thread.currentThread().isInterrupted()) {
        return false;
      }
      LockSupport.park(this);
    }
    return true;
  }

  @Override
  public int[] next() {
    var result = latest.getAndSet(null);
    if (result == null) {
      throw new NoSuchElementException("call hasNext first");
    }
    return result;
  }
}
