package dev.evergreen.web;

import java.util.concurrent.Semaphore;

/**
 * Bounds how many requests are worked on at a time. A request has a place while it is worked on,
 * not while its sender, or who takes its answer, or the first result of a computation is waited
 * for: those hold a connection only.
 */
final class Places {

  private final Semaphore free;

  Places(int most) {
    this.free = new Semaphore(most);
  }

  /**
   * A place, until it is closed. For one thread.
   *
   * @throws WebException 503 if there is none
   */
  Place take() {
    return new Place();
  }

  private void acquire() {
    if (!free.tryAcquire()) {
      throw new WebException(503, "too-many-requests", "The server is busy; try again.");
    }
  }

  /** What waits for somebody else. */
  interface Waiting {
    void await() throws InterruptedException;
  }

  /** One request's. */
  final class Place implements AutoCloseable {

    private boolean held;

    private Place() {
      acquire();
      held = true;
    }

    /**
     * Waits without the place.
     *
     * @throws WebException 503 if there is none afterwards
     */
    void leaveFor(Waiting waiting) throws InterruptedException {
      close();
      waiting.await();
      acquire();
      held = true;
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
