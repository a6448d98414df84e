package dev.evergreen.core.engine;

import dev.evergreen.core.spi.Clock;
import dev.evergreen.core.spi.Threads;
import dev.evergreen.core.work.Workers;
import java.time.Instant;
import java.util.PriorityQueue;
import java.util.random.RandomGenerator;

/** A clock that a test sets: what is due is done when it is set to a later time. */
final class HandClock implements Clock {

  static final long MILLI = 1_000_000;

  private record Alarm(long at, Runnable action) {}

  private final PriorityQueue<Alarm> alarms =
      new PriorityQueue<>((one, other) -> Long.compare(one.at, other.at));
  private long now;

  @Override
  public long nanos() {
    return now;
  }

  @Override
  public Instant now() {
    return Instant.ofEpochSecond(0, now);
  }

  @Override
  public Cancellable after(long nanos, Runnable action) {
    var alarm = new Alarm(now + nanos, action);
    alarms.add(alarm);
    return () -> alarms.remove(alarm);
  }

  void passTo(long then) {
    for (var next = alarms.peek(); next != null && next.at <= then; next = alarms.peek()) {
      alarms.remove();
      now = Math.max(now, next.at);
      next.action.run();
    }
    now = then;
  }

  /** Those that go by this clock, do at once what is started, and draw half of each bound. */
  Workers workers() {
    return new Workers(this, new Immediately(), new Halves());
  }

  private static final class Immediately implements Threads {
    @Override
    public Thread start(Runnable task) {
      task.run();
      return Thread.currentThread();
    }

    @Override
    public void park() {
      throw new UnsupportedOperationException();
    }

    @Override
    public void parkNanos(long nanos) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void unpark(Thread thread) {}
  }

  private static final class Halves implements RandomGenerator {
    @Override
    public long nextLong() {
      throw new UnsupportedOperationException();
    }

    @Override
    public long nextLong(long bound) {
      return bound / 2;
    }
  }
}
