package dev.evergreen.live;

import dev.evergreen.core.Computation;
import dev.evergreen.core.ComputationClosedException;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.Grains;
import dev.evergreen.core.KeyedGrain;
import dev.evergreen.core.NoNewResultException;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeStoppedException;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.Result;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.Snapshot;
import dev.evergreen.core.spi.NodeCounts;
import dev.evergreen.core.spi.NodeObserver;
import java.time.Duration;
import java.util.Iterator;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Flow;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/**
 * A node without grains whose computations run again when a test says so. It makes what is hard to
 * bring about on a real node exact: doubt, the end of a node, and the number of runs.
 */
public final class HandNode implements Node {

  private final Set<Hand<?>> computations = ConcurrentHashMap.newKeySet();
  private volatile Freshness freshness = Freshness.CURRENT;
  private volatile boolean stopped;
  private volatile Runnable beforeClosing = () -> {};

  /** Runs every computation again; trackers deliver what differs. */
  public void changed() {
    computations.forEach(Hand::run);
  }

  /** What all trackers say from now on. */
  public void freshness(Freshness value) {
    freshness = value;
    computations.forEach(Hand::wake);
  }

  /** Whoever closes a computation does this first. */
  public void beforeClosing(Runnable what) {
    beforeClosing = what;
  }

  /** How many computations have not been closed. */
  public int running() {
    return computations.size();
  }

  @Override
  public Grains grains() {
    return new Grains() {
      @Override
      public <K, T extends KeyedGrain<K>> T get(Class<T> type, K key) {
        throw new UnsupportedOperationException("No grains here");
      }

      @Override
      public Grains withTimeout(Duration timeout) {
        return this;
      }
    };
  }

  @Override
  public <T extends @Nullable Object> ReactiveComputation<T> reactive(Computation<T> computation) {
    var made = new Hand<>(computation);
    computations.add(made);
    return made;
  }

  @Override
  public <T extends @Nullable Object> ReactiveComputation<T> reactive(
      Computation<T> computation, BiPredicate<? super T, ? super T> same) {
    return reactive(computation);
  }

  @Override
  public NodeCounts counts() {
    return new NodeCounts(0, computations.size(), 0, 0, 0, 0);
  }

  @Override
  public NodeObserver observer() {
    return NodeObserver.NONE;
  }

  @Override
  public void close() {
    stopped = true;
    computations.forEach(Hand::wake);
  }

  private final class Hand<T extends @Nullable Object> implements ReactiveComputation<T> {

    private final Computation<T> computation;
    private @Nullable Result<T> latest;
    private int version;
    private boolean closed;

    Hand(Computation<T> computation) {
      this.computation = computation;
    }

    /** One run at a time, so that the last result is that of the last run. */
    synchronized void run() {
      Result<T> result;
      try {
        result = new Result.Value<>(computation.compute());
      } catch (Exception e) {
        result = new Result.Failure<>(e);
      }
      if (!result.equals(latest)) {
        latest = result;
        version++;
        notifyAll();
      }
    }

    synchronized void wake() {
      notifyAll();
    }

    @Override
    public synchronized ResultTracker<T> tracker() {
      if (version == 0) {
        run();
      }
      return new HandTracker();
    }

    @Override
    public Flow.Publisher<Result<T>> publisher() {
      throw new UnsupportedOperationException();
    }

    @Override
    public <X extends Exception> T after(Write<X> write) {
      throw new UnsupportedOperationException();
    }

    @Override
    public <X extends Exception> T after(Write<X> write, Duration timeout) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
      beforeClosing.run();
      synchronized (this) {
        closed = true;
        computations.remove(this);
        notifyAll();
      }
    }

    private final class HandTracker implements ResultTracker<T> {

      private int seen;
      private boolean over;
      private @Nullable Freshness told;

      @Override
      public Optional<Result<T>> poll(Duration timeout) {
        return await(timeout, false).map(Snapshot::result);
      }

      @Override
      public Optional<Snapshot<T>> observe(Duration timeout) {
        return await(timeout, true);
      }

      private Optional<Snapshot<T>> await(Duration timeout, boolean orFreshness) {
        long deadline = System.nanoTime() + timeout.toNanos();
        synchronized (Hand.this) {
          while (true) {
            if (closed || over) {
              throw new ComputationClosedException("closed");
            }
            if (stopped) {
              throw new NodeStoppedException("stopped");
            }
            var now = freshness;
            if (latest != null && (version > seen || (orFreshness && now != told))) {
              seen = version;
              told = orFreshness ? now : told;
              return Optional.of(new Snapshot<>(latest, version, now));
            }
            long left = deadline - System.nanoTime();
            if (left <= 0) {
              return Optional.empty();
            }
            await(left);
          }
        }
      }

      private void await(long nanos) {
        try {
          Hand.this.wait(nanos / 1_000_000 + 1);
        } catch (InterruptedException e) {
          throw new NodeStoppedException("interrupted", e);
        }
      }

      @Override
      public T next() {
        return next(Duration.ofDays(1));
      }

      @Override
      public T next(Duration timeout) {
        return poll(timeout).orElseThrow(() -> new NoNewResultException("none")).get();
      }

      @Override
      public Freshness freshness() {
        return freshness;
      }

      @Override
      public Iterator<T> iterator() {
        throw new UnsupportedOperationException();
      }

      @Override
      public void close() {
        synchronized (Hand.this) {
          over = true;
          Hand.this.notifyAll();
        }
      }
    }
  }
}
