package dev.evergreen.fibers;

import java.time.Duration;

/**
 * How a peer gets on: how many bytes it has moved, and how long it was waited for. One fiber at a
 * time changes it; any thread may look.
 *
 * <p>A connection measures its own directions, as {@link SlowPeers#hold(Connection,
 * SlowPeers.Direction)} wants. Who has many peers on one connection measures each of them.
 */
public final class Pace {
  /** How far it was at a moment. */
  record Mark(long at, long bytes, long waitedNanos) {}

  private final long memoryNanos;
  private volatile long bytes;
  private volatile long waitedNanos;
  private volatile boolean waiting;
  private volatile long waitingSince;

  /** What was before is forgotten. The later mark takes its place when it is old enough. */
  private volatile Mark mark;

  private volatile Mark laterMark;

  /** Of the fiber: who measures. */
  int holders;

  /** One that has not begun, and remembers all. */
  public Pace() {
    this(Nanos.FOREVER, System.nanoTime());
  }

  /**
   * One that has not begun.
   *
   * @param memory what is longer ago than twice that counts no more; what is not longer ago than
   *     that counts
   */
  public Pace(Duration memory) {
    this(Nanos.of(memory), System.nanoTime());
  }

  Pace(long memoryNanos, long now) {
    this.memoryNanos = memoryNanos;
    mark = new Mark(now, 0, 0);
    laterMark = mark;
  }

  /** The peer has moved so many bytes. */
  public void moved(int n) {
    long before = bytes;
    bytes = before + n;
  }

  /** A wait for the peer begins. */
  public void waits() {
    waits(System.nanoTime());
  }

  void waits(long now) {
    waitingSince = now;
    waiting = true;
    forget(now);
  }

  /** The wait has ended. */
  public void goesOn() {
    goesOn(System.nanoTime());
  }

  void goesOn(long now) {
    long before = waitedNanos;
    waiting = false;
    waitedNanos = before + now - waitingSince;
    forget(now);
  }

  private void forget(long now) {
    long age = now - laterMark.at;
    if (age >= memoryNanos) {
      var next = new Mark(now, bytes, waitedNanos);
      mark = age >= 2 * memoryNanos ? next : laterMark;
      laterMark = next;
    }
  }

  /** Since when it counts how it gets on. */
  Mark since(long now) {
    long from = waitingSince;
    if (waiting && now - from >= memoryNanos) {
      // Nothing has moved since, and so nobody has looked at the marks.
      return new Mark(from, bytes, waitedNanos);
    }
    var later = laterMark;
    return now - later.at >= memoryNanos ? later : mark;
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
