package dev.evergreen.storage;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Where callers, usually virtual threads, hand their requests to the platform threads that may
 * block in native code. First come, first served; a caller waits for room. What was put before the
 * queue was closed is still taken. Thread-safe.
 */
final class RequestQueue<R extends Request<?>> {

  private final Semaphore room;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  @GuardedBy("lock")
  private final ArrayDeque<R> waiting = new ArrayDeque<>();

  @GuardedBy("lock")
  private boolean closed;

  RequestQueue(int capacity) {
    room = new Semaphore(capacity, true);
  }

  /**
   * Waits for room and puts the request.
   *
   * @param nanos how long to wait at most
   * @return false if the queue is closed; the request will not be taken
   * @throws TimeoutException if there was no room in that time
   */
  boolean put(R request, long nanos) throws InterruptedException, TimeoutException {
    // When the queue is closed, it is emptied, so whoever waits here gets in and sees that.
    if (!room.tryAcquire(nanos, TimeUnit.NANOSECONDS)) {
      throw new TimeoutException("the queue is full");
    }
    lock.lock();
    try {
      if (closed) {
        room.release();
        return false;
      }
      waiting.add(request);
      changed.signal();
      return true;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits for a request and takes those that are there.
   *
   * @param most how many at most
   * @param enough how many bytes of them are enough
   * @return in the order they were put; empty if the queue is closed and nothing is left in it
   */
  List<R> take(int most, long enough) {
    List<R> taken;
    lock.lock();
    try {
      while (waiting.isEmpty() && !closed) {
        changed.awaitUninterruptibly();
      }
      // Has room for all, so that nothing is lost where memory ends.
      taken = new ArrayList<>(Math.min(most, waiting.size()));
      for (long bytes = 0; taken.size() < most && bytes < enough && !waiting.isEmpty(); ) {
        var request = waiting.remove();
        bytes += request.size();
        taken.add(request);
      }
    } finally {
      lock.unlock();
    }
    room.release(taken.size());
    return taken;
  }

  /** Lets nothing more in. */
  void close() {
    lock.lock();
    try {
      closed = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }
}
