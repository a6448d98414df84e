package dev.evergreen.core.engine;

import dev.evergreen.core.ComputationClosedException;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.Result;
import dev.evergreen.core.spi.Threads;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The results of a computation as a {@link Flow.Publisher}: a tracker and a thread a subscriber.
 */
final class ResultPublisher<T extends @Nullable Object> implements Flow.Publisher<Result<T>> {

  private static final Duration FOREVER = Duration.ofDays(10_000);

  private final Threads threads;
  private final RootComputation<T> computation;

  ResultPublisher(RootComputation<T> computation) {
    this.threads = computation.base.workers().threads();
    this.computation = computation;
  }

  @Override
  public void subscribe(Flow.Subscriber<? super Result<T>> subscriber) {
    Tracker<T> tracker;
    try {
      tracker = Tracker.of(computation);
    } catch (GrainException e) {
      refuse(Objects.requireNonNull(subscriber), e);
      return;
    }
    var delivery = new Delivery(subscriber, tracker);
    try {
      subscriber.onSubscribe(delivery);
    } catch (Throwable e) {
      tracker.close();
      throw e;
    }
    computation.base.workers().begin(delivery::run);
  }

  /** Who comes too late is told the same as those that were there at the end. */
  private static void refuse(Flow.Subscriber<?> subscriber, GrainException end) {
    subscriber.onSubscribe(
        new Flow.Subscription() {
          @Override
          public void request(long n) {}

          @Override
          public void cancel() {}
        });
    if (end instanceof ComputationClosedException) {
      subscriber.onComplete();
    } else {
      subscriber.onError(end);
    }
  }

  /** Delivers the latest result whenever the subscriber has asked for one more. */
  private final class Delivery implements Flow.Subscription {
    private final Flow.Subscriber<? super Result<T>> subscriber;
    private final Tracker<T> tracker;

    private final AtomicLong requested = new AtomicLong();
    private volatile boolean cancelled;
    private volatile @Nullable IllegalArgumentException misuse;
    private volatile @Nullable Thread thread;

    Delivery(Flow.Subscriber<? super Result<T>> subscriber, Tracker<T> tracker) {
      this.subscriber = subscriber;
      this.tracker = tracker;
    }

    @Override
    public void request(long n) {
      if (n <= 0) {
        misuse = new IllegalArgumentException("request(" + n + "): ask for at least one result");
        tracker.close(); // which ends the waiting for a result
      } else {
        requested.accumulateAndGet(n, (a, b) -> a + b < 0 ? Long.MAX_VALUE : a + b);
      }
      wake();
    }

    @Override
    public void cancel() {
      cancelled = true;
      tracker.close();
      wake();
    }

    private void wake() {
      var waiting = thread;
      if (waiting != null) {
        threads.unpark(waiting);
      }
    }

    private void run() {
      thread = Thread.currentThread();
      try {
        while (awaitDemand()) {
          var result = tracker.poll(FOREVER);
          if (result.isPresent()) {
            subscriber.onNext(result.get());
          }
          // A subscriber that interrupted its own thread must not disturb the waiting.
          Thread.interrupted();
        }
      } catch (ComputationClosedException e) {
        ended();
      } catch (Throwable e) {
        subscriber.onError(e);
      } finally {
        tracker.close();
      }
    }

    /** There is nothing more to be had from the tracker. */
    private void ended() {
      var refused = misuse;
      if (cancelled) {
        return;
      }
      if (refused != null) {
        subscriber.onError(refused);
      } else {
        subscriber.onComplete();
      }
    }

    private boolean awaitDemand() {
      computation.consumers.add(Thread.currentThread());
      try {
        while (!cancelled) {
          var refused = misuse;
          if (refused != null) {
            throw refused;
          }
          if (requested.get() > 0) {
            requested.decrementAndGet();
            return true;
          }
          if (computation.isOver()) {
            throw computation.closedException();
          }
          threads.park();
          Thread.interrupted(); // else it would never park again
        }
        return false;
      } finally {
        computation.consumers.remove(Thread.currentThread());
      }
    }
  }
}
