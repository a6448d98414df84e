package dev.evergreen.core;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.spi.Threads;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * The results of a computation as a {@link Flow.Publisher}: a tracker and a thread a subscriber.
 */
final class ResultPublisher<T extends @Nullable Object> implements Flow.Publisher<Result<T>> {

  private static final Duration FOREVER = Duration.ofDays(10_000);

  private final Threads threads;
  private final RootComputation<T> computation;

  ResultPublisher(RootComputation<T> computation) {
    this.threads = computation.workers().threads();
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
    } catch (RuntimeException | Error e) {
      tracker.close();
      throw e;
    }
    delivery.thread = threads.start(delivery::run);
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

    @GuardedBy("this")
    private long requested;

    @GuardedBy("this")
    private boolean cancelled;

    @GuardedBy("this")
    private @Nullable IllegalArgumentException misuse;

    private volatile @Nullable Thread thread;

    Delivery(Flow.Subscriber<? super Result<T>> subscriber, Tracker<T> tracker) {
      this.subscriber = subscriber;
      this.tracker = tracker;
    }

    @Override
    public void request(long n) {
      synchronized (this) {
        if (n <= 0) {
          misuse = new IllegalArgumentException("request(" + n + "): ask for at least one result");
        } else {
          requested = requested + n < 0 ? Long.MAX_VALUE : requested + n;
        }
      }
      wake();
    }

    @Override
    public void cancel() {
      synchronized (this) {
        cancelled = true;
      }
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
        if (!isCancelled()) {
          subscriber.onComplete();
        }
      } catch (RuntimeException e) {
        subscriber.onError(e);
      } finally {
        tracker.close();
      }
    }

    private synchronized boolean isCancelled() {
      return cancelled;
    }

    private boolean awaitDemand() {
      computation.consumers.add(Thread.currentThread());
      try {
        while (!isCancelled()) {
          if (takeDemand()) {
            return true;
          }
          if (computation.closed()) {
            throw computation.closedException();
          }
          threads.park();
        }
        return false;
      } finally {
        computation.consumers.remove(Thread.currentThread());
      }
    }

    private synchronized boolean takeDemand() {
      if (misuse != null) {
        throw misuse;
      }
      boolean demanded = requested > 0;
      requested -= demanded ? 1 : 0;
      return demanded;
    }
  }
}
