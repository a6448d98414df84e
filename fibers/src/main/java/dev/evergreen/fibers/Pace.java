package dev.evergreen.fibers;

/**
 * How a peer gets on: how many bytes it has moved, and how long it was waited for. One fiber at a
 * time changes it; any thread may look.
 *
 * <p>A connection measures its own directions, as {@link SlowPeers#hold(Connection,
 * SlowPeers.Direction)} wants. Who has many peers on one connection measures each of them.
 */
public final class Pace {
  private volatile long bytes;
  private volatile long waitedNanos;
  private volatile boolean waiting;
  private volatile long waitingSince;

  /** Of the fiber: who measures. */
  int holders;

  /** One that has not begun. */
  public Pace() {}

  /** The peer has moved so many bytes. */
  public void moved(int n) {
    long before = bytes;
    bytes = before + n;
  }

  /** A wait for the peer begins. */
  public void waits() {
    waitingSince = System.nanoTime();
    waiting = true;
  }

  /** The wait has ended. */
  public void goesOn() {
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
