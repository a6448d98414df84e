package dev.evergreen.fibers;

/**
 * How one direction of a connection gets on, measured while somebody keeps something for the peer.
 * Only the fiber that reads, or that writes, changes it; any thread may look.
 */
final class Pace {
  private volatile long bytes;
  private volatile long waitedNanos;
  private volatile boolean waiting;
  private volatile long waitingSince;

  /** Of the fiber: who measures. */
  int holders;

  void moved(int n) {
    long before = bytes;
    bytes = before + n;
  }

  /** A wait for the peer begins. */
  void waits() {
    waitingSince = System.nanoTime();
    waiting = true;
  }

  /** The wait has ended. */
  void goesOn() {
    long before = waitedNanos;
    waiting = false;
    waitedNanos = before + System.nanoTime() - waitingSince;
  }

  long bytes() {
    return bytes;
  }

  /** How long the peer has been waited for; a moment less while a wait ends. */
  long waited(long now) {
    long before = waitedNanos;
    return waiting ? before + Math.max(0, now - waitingSince) : before;
  }
}
