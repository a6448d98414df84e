package dev.evergreen.web;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Bounds how many requests are worked on at a time. A request has a place while it is worked on,
 * not while its sender, or who takes its answer, or the first result of a computation is waited
 * for: those hold a connection only.
 *
 * <p>Who left its place to wait for one of those was let in, and has spent its time: it gets the
 * next place that is free, before who comes anew. So whoever comes anew while others wait to go on
 * is refused.
 */
final class Places {
  /** So long does who goes on wait for a place at most. */
  static final Duration GO_ON_WITHIN = Duration.ofSeconds(5);

  /** Fair, so that those who go on do so in turn. */
  private final Semaphore free;

  private final Duration goOnWithin;
  private final CountDownLatch ended = new CountDownLatch(1);

  /** With a limit to how long who goes on waits for a place. */
  Places(int most, Duration goOnWithin) {
    this.free = new Semaphore(most, true);
    this.goOnWithin = goOnWithin;
  }

  /**
   * A place, until it is closed. For one thread.
   *
   * @throws WebException 503 if there is none
   */
  Place take() {
    return new Place();
  }

  /** The server ends: whoever rests is refused, and has not been worked for. */
  void end() {
    ended.countDown();
  }

  private static WebException busy() {
    return new WebException(503, "too-many-requests", "The server is busy; try again.");
  }

  /** What waits for somebody else. */
  interface Waiting {
    void await() throws InterruptedException;
  }

  /** One request's. */
  final class Place implements AutoCloseable {

    private boolean held;

    private Place() {
      // A place that is given back belongs to who waits for it already.
      if (free.hasQueuedThreads() || !free.tryAcquire()) {
        throw busy();
      }
      held = true;
    }

    /**
     * Waits without the place, and then for a place.
     *
     * @throws WebException 503 if there is none for too long
     */
    void leaveFor(Waiting waiting) throws InterruptedException {
      close();
      waiting.await();
      if (!free.tryAcquire(goOnWithin.toNanos(), TimeUnit.NANOSECONDS)) {
        throw busy();
      }
      held = true;
    }

    /**
     * Waits so long without the place, if at all.
     *
     * @throws WebException 503 if there is none for too long after that, or the server ends
     */
    void rest(long nanos) throws InterruptedException {
      if (nanos > 0) {
        leaveFor(
            () -> {
              if (ended.await(nanos, TimeUnit.NANOSECONDS)) {
                throw Failures.stopped();
              }
            });
      }
    }

    @Override
    public void close() {
      if (held) {
        held = false;
        free.release();
      }
    }
  }
}
