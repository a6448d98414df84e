package dev.evergreen.fibers;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * The thread that sees to it that an idle processor helps a busy one that does not come round, as
 * the busy one cannot tell and the idle one sleeps. It ticks only while processors are awake.
 *
 * <p>{@code ticking} is agreed on like a processor's sleep: the watch clears it, then looks whether
 * some processor is awake, and only if none is it parks; a processor that woke is no longer asleep
 * before it looks at {@code ticking}, and who sets it unparks the watch. As long as it ticks,
 * waking costs a processor one read. After the last tick with a processor awake comes one more, so
 * that a load that comes and goes costs a hundred ticks a second, not an unpark per wake-up.
 */
final class Watch implements Runnable {

  private final Scheduler scheduler;
  private final long tickNanos;
  private final Thread thread;
  private final AtomicBoolean ticking = new AtomicBoolean();
  private volatile boolean stopped;

  /** Set by processors that wake, cleared by each tick. */
  private volatile boolean active;

  Watch(Scheduler scheduler, String name, long tickNanos) {
    this.scheduler = scheduler;
    this.tickNanos = tickNanos;
    thread = Thread.ofPlatform().daemon().name(name + "-watch").unstarted(this);
  }

  void start() {
    thread.start();
  }

  void stop() {
    stopped = true;
    LockSupport.unpark(thread);
    Uninterruptibly.join(thread);
  }

  /** A processor has woken. */
  void wake() {
    if (!active) {
      active = true;
    }
    if (!ticking.get() && ticking.compareAndSet(false, true)) {
      LockSupport.unpark(thread);
    }
  }

  @Override
  public void run() {
    while (!stopped) {
      if (ticking.get()) {
        LockSupport.parkNanos(this, tickNanos);
        scheduler.helpIfOverdue();
        if (!active && allAsleep()) {
          ticking.set(false);
          // One may have woken before it could see that.
          if (active || !allAsleep()) {
            ticking.set(true);
          }
        }
        active = false;
      } else {
        LockSupport.park(this);
      }
    }
  }

  private boolean allAsleep() {
    for (var processor : scheduler.processors()) {
      if (!processor.sleeping()) {
        return false;
      }
    }
    return true;
  }
}
