package dev.evergreen.core.work;

import dev.evergreen.core.spi.Clock;
import dev.evergreen.core.spi.Threads;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;

/** Threads run when they are told to, one after the other; timers likewise. */
final class World implements Clock, Threads {
  record Alarm(long at, Runnable task) {}

  final List<Runnable> started = new ArrayList<>();
  final List<Alarm> alarms = new ArrayList<>();
  final List<Thread> woken = new ArrayList<>();
  boolean refusesThreads;
  boolean refusesTimers;

  /** How many threads are refused before they can be had. */
  int refusals;

  /** Whether the stack ends when a thread has been started. */
  boolean throwsAfterwards;

  /** Whether whoever asks for the time, or for a timer, has no stack left. */
  boolean stackEnds;

  /** Called before a timer is set. */
  Runnable whenTimerIsWanted = () -> {};

  long now;

  @Override
  public long nanos() {
    mayEnd();
    return now;
  }

  @Override
  public Instant now() {
    return Instant.ofEpochSecond(0, now);
  }

  @Override
  public Cancellable after(long delayNanos, Runnable task) {
    whenTimerIsWanted.run();
    mayEnd();
    if (refusesTimers) {
      throw new RejectedExecutionException("no timer");
    }
    var alarm = new Alarm(now + delayNanos, task);
    alarms.add(alarm);
    return () -> alarms.remove(alarm);
  }

  @Override
  public Thread start(Runnable task) {
    if (refusesThreads || refusals-- > 0) {
      throw new OutOfMemoryError("unable to create native thread");
    }
    started.add(task);
    if (throwsAfterwards) {
      throw new StackOverflowError("says the test");
    }
    return Thread.currentThread();
  }

  @Override
  public void park() {
    throw new UnsupportedOperationException();
  }

  @Override
  public void parkNanos(long nanos) {
    now += nanos;
  }

  @Override
  public void unpark(Thread thread) {
    woken.add(thread);
  }

  private void mayEnd() {
    if (stackEnds) {
      throw new StackOverflowError("says the test");
    }
  }

  void runNext() {
    started.removeFirst().run();
  }

  void runAll() {
    while (!started.isEmpty()) {
      runNext();
    }
  }

  void ring() {
    var alarm = alarms.removeFirst();
    now = alarm.at;
    alarm.task.run();
  }

  /** Those that have this clock and these threads. */
  Workers workers() {
    return new Workers(this, this, () -> 0);
  }
}
