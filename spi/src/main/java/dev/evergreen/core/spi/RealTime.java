package dev.evergreen.core.spi;

import java.time.Instant;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/** The real clock and virtual threads, for engines in production. Close it with its node. */
public final class RealTime implements Clock, Threads, AutoCloseable {

  /** Waits of at least this are long. */
  private static final long LONG_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Waits of at least this, more than a lifetime, have no end. */
  private static final long ENDLESS_NANOS = Long.MAX_VALUE / 2;

  /** How often it is looked whether long waits are over; they may last longer by this. */
  private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  private final ScheduledThreadPoolExecutor timers;
  private final Map<Thread, Long> longWaits = new ConcurrentHashMap<>(); // and when they end
  private final AtomicBoolean ticking = new AtomicBoolean();
  private volatile boolean closed;

  /** By other timers. */
  RealTime(ScheduledThreadPoolExecutor timers) {
    this.timers = timers;
    timers.setRemoveOnCancelPolicy(true);
    timers.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    timers.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
    timers.prestartCoreThread(); // there may be no memory for a thread later
  }

  /** Starts a timer thread. */
  public static RealTime create() {
    return new RealTime(
        new ScheduledThreadPoolExecutor(
            1, Thread.ofPlatform().name("evergreen-timer").daemon().factory()));
  }

  @Override
  public long nanos() {
    return System.nanoTime();
  }

  @Override
  public Instant now() {
    return Instant.now();
  }

  @Override
  public Cancellable after(long delayNanos, Runnable task) {
    var scheduled = timers.schedule(task, delayNanos, TimeUnit.NANOSECONDS);
    return () -> scheduled.cancel(false);
  }

  @Override
  public Thread start(Runnable task) {
    return Thread.startVirtualThread(Carriers.inTurn(task));
  }

  @Override
  public void letOthersRun() {
    Carriers.letOthersRun();
  }

  @Override
  public void park() {
    Carriers.beforePark();
    LockSupport.park(this);
  }

  /**
   * {@inheritDoc}
   *
   * <p>Long waits are limits of waiting for something that nearly always comes first. A timer of
   * its own for each would cost more than the rest of the wait: where few wait, setting one wakes
   * the thread of the timers.
   *
   * <p>Who sets a timer may wait for a lock meanwhile, and that takes the permit of whoever unparks
   * it in this moment. So the thread that set one does not park: its caller looks again.
   */
  @Override
  public void parkNanos(long nanos) {
    Carriers.beforePark();
    parkNanosForOthers(nanos);
  }

  @Override
  public void parkNanosForOthers(long nanos) {
    Carriers.use();
    if (nanos < LONG_NANOS) {
      LockSupport.parkNanos(this, nanos);
    } else if (nanos < ENDLESS_NANOS) {
      parkLong(nanos);
    } else {
      LockSupport.park(this);
    }
  }

  private void parkLong(long nanos) {
    var self = Thread.currentThread();
    longWaits.put(self, System.nanoTime() + nanos);
    try {
      if (closed) {
        LockSupport.parkNanos(this, nanos);
      } else if (!tickLater()) {
        LockSupport.park(this);
      }
    } finally {
      longWaits.remove(self);
    }
  }

  /**
   * Returns whether a timer was set for it; else there is one. If it cannot be set nobody is left
   * without one who believes to have one: all who wait look again.
   */
  private boolean tickLater() {
    if (ticking.get() || !ticking.compareAndSet(false, true)) {
      return false;
    }
    try {
      var _ = timers.schedule(this::tick, TICK_NANOS, TimeUnit.NANOSECONDS);
    } catch (RuntimeException | Error e) {
      ticking.set(false);
      longWaits.keySet().forEach(LockSupport::unpark);
      throw e;
    }
    return true;
  }

  private void tick() {
    try {
      wakeWhoWaitedLongEnough(System.nanoTime());
    } finally {
      ticking.set(false);
      if (!longWaits.isEmpty()) {
        var _ = tickLater();
      }
    }
  }

  private void wakeWhoWaitedLongEnough(long now) {
    longWaits.forEach(
        (thread, end) -> {
          if (now - end >= 0) {
            LockSupport.unpark(thread);
          }
        });
  }

  @Override
  public void unpark(Thread thread) {
    Carriers.unpark(thread);
  }

  @Override
  public void close() {
    closed = true;
    timers.shutdown();
    longWaits.keySet().forEach(LockSupport::unpark); // from now on each has a timer of its own
  }
}
