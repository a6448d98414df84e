package dev.evergreen.fibers;

/** Waits that go on when the waiting thread is interrupted, and leave it interrupted. */
final class Uninterruptibly {

  private Uninterruptibly() {}

  static void join(Thread thread) {
    boolean interrupted = false;
    while (true) {
      try {
        thread.join();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
