package dev.evergreen.core.spi;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * The platform threads that carry all virtual threads of this process, shared by these.
 *
 * <p>A carrier goes on with the virtual threads that others on it have made ready until none is
 * left. Only then it looks for those that came from outside: a request, a reply, the end of a wait.
 * So a few virtual threads that make each other ready without end, such as callers of grains in a
 * loop, keep all of these out, also where they yield. Who may be one of them waits, wakes and
 * yields by the methods here.
 *
 * <p>While they are used, a watcher starts a thread from outside every few milliseconds. If that
 * does not run soon, nobody is woken by these methods until it has: so the carriers come to an end
 * with what is ready, and take what came from outside.
 *
 * <p>Safe for any number of threads.
 */
public final class Carriers {

  private static final long PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(2);
  private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  /** Not longer, as others that do not use these methods may be what keeps the carriers busy. */
  private static final long LONGEST_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  /** For so many periods the watcher stays awake unused: to wake it costs who uses it next. */
  private static final int MOST_UNUSED = 50;

  private static final Carriers ALL = new Carriers();

  private final Thread watcher =
      Thread.ofPlatform()
          .daemon()
          .inheritInheritableThreadLocals(false)
          .name("evergreen-carriers")
          .unstarted(this::watch);

  private final AtomicBoolean watching = new AtomicBoolean(true);

  /** Who is to be woken when those from outside have had their turn. */
  private final Queue<Thread> woken = new ConcurrentLinkedQueue<>();

  /** Whether the methods here have been used since the watcher looked. */
  private volatile boolean used;

  /** Whether those from outside have waited for too long. */
  private volatile boolean outsideWaits;

  private Carriers() {
    watcher.start();
  }

  /** Starts the watcher while there is memory for its thread. Without this the first use does. */
  static void prepare() {
    // The class does.
  }

  /**
   * Lets other virtual threads run before the calling one goes on; nothing on a platform thread.
   * May use up the permit of {@link LockSupport#park}.
   */
  public static void letOthersRun() {
    if (Thread.currentThread().isVirtual()) {
      ALL.share();
    }
  }

  /**
   * To be called before a virtual thread parks. What it waits for is often done by another one that
   * is next in the queue: then its permit is there after one yield, and neither a timer is set nor
   * a thread resumed.
   */
  static void beforePark() {
    if (Thread.currentThread().isVirtual() && !ALL.outsideWaits) {
      ALL.yieldOnce();
    }
  }

  /** As {@link LockSupport#unpark}, maybe a few milliseconds later for a virtual thread. */
  static void unpark(Thread thread) {
    if (ALL.outsideWaits && thread.isVirtual()) {
      ALL.unparkLater(thread);
    } else {
      LockSupport.unpark(thread);
    }
  }

  private void share() {
    if (outsideWaits) {
      unparkLater(Thread.currentThread());
      LockSupport.park(this);
    } else {
      yieldOnce();
    }
  }

  @SuppressWarnings("ThreadPriorityCheck") // nothing relies on it
  private void yieldOnce() {
    if (!used) {
      used = true;
      if (!watching.get() && watching.compareAndSet(false, true)) {
        LockSupport.unpark(watcher);
      }
    }
    Thread.yield();
  }

  private void unparkLater(Thread thread) {
    try {
      woken.add(thread);
    } catch (OutOfMemoryError e) {
      LockSupport.unpark(thread);
      return;
    }
    if (!outsideWaits) {
      unparkAll(); // the watcher may have done it before
    }
  }

  private void unparkAll() {
    for (var thread = woken.poll(); thread != null; thread = woken.poll()) {
      LockSupport.unpark(thread);
    }
  }

  private void watch() {
    int unused = 0;
    while (true) {
      LockSupport.parkNanos(this, PERIOD_NANOS);
      if (used) {
        unused = 0;
        used = false;
        look();
      } else if (++unused == MOST_UNUSED) {
        unused = 0;
        sleep();
      }
    }
  }

  /** Until somebody uses the methods here. */
  private void sleep() {
    watching.set(false);
    if (used) {
      watching.set(true); // whoever did may have seen that it was
    }
    while (!watching.get()) {
      LockSupport.park(this);
    }
  }

  private void look() {
    long held = 0;
    try {
      long began = System.nanoTime();
      if (!runsWithin(PATIENCE_NANOS, () -> {})) {
        outsideWaits = true;
        // The second one comes after all that waited with the first.
        var _ = runsWithin(LONGEST_NANOS, () -> {}) && runsWithin(LONGEST_NANOS, this::goOn);
        held = System.nanoTime() - began;
      }
    } catch (OutOfMemoryError e) {
      held = LONGEST_NANOS; // another time
    } finally {
      goOn();
    }
    // Those that were held have as long for themselves.
    LockSupport.parkNanos(this, held);
  }

  /** Who was to be woken is; on the carrier itself where a virtual thread does this. */
  private void goOn() {
    outsideWaits = false;
    unparkAll();
  }

  /** Whether this has been done within so long by a virtual thread that is started from outside. */
  private boolean runsWithin(long nanos, Runnable what) {
    var done = new AtomicBoolean();
    Thread.startVirtualThread(
        () -> {
          what.run();
          done.set(true);
          LockSupport.unpark(watcher);
        });
    long deadline = System.nanoTime() + nanos;
    for (long left = nanos; left > 0 && !done.get(); left = deadline - System.nanoTime()) {
      LockSupport.parkNanos(this, left);
    }
    return done.get();
  }
}
