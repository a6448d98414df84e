package dev.evergreen.core.sim;

import dev.evergreen.core.CallInterruptedException;
import dev.evergreen.core.ComputationClosedException;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.NoNewResultException;
import dev.evergreen.core.NodeStoppedException;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.Result;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.Snapshot;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/** A computation on one node, and the trackers that consume it, each in its way and at its pace. */
final class Watch {

  private static final long SECOND = 1_000_000_000;

  /** The way of a tracker that takes snapshots. */
  private static final int OBSERVES = 4;

  private final App app;
  private final SimNode node;
  private final Query query;
  private final String name;
  private final ReactiveComputation<Long> computation;
  private final List<Consumer> consumers = new ArrayList<>();
  private boolean closed;

  Watch(App app, SimNode node, Query query, String name) {
    this.app = app;
    this.node = node;
    this.query = query;
    this.name = name;
    var reader = new LiveReader(node, app, true);
    this.computation =
        query instanceof Query.ParityOf
            ? node.engine().reactive(() -> run(reader), (a, b) -> ((a ^ b) & 1) == 0)
            : node.engine().reactive(() -> run(reader));
    app.trace(node.toString(), name + " watches " + query);
  }

  private long run(LiveReader reader) throws Exception {
    app.executed("computation " + name);
    return app.callers().perform(() -> Queries.run(query, reader));
  }

  SimNode node() {
    return node;
  }

  Query query() {
    return query;
  }

  boolean open() {
    return !closed && node.serves();
  }

  /** The open trackers. */
  List<Consumer> consumers() {
    return consumers.stream().filter(consumer -> !consumer.done).toList();
  }

  /** Whether a tracker has shown a time-out. */
  boolean timedOut() {
    return consumers.stream().anyMatch(consumer -> consumer.log.timedOut());
  }

  /** How many results the trackers have delivered. */
  int deliveries() {
    return consumers.stream().mapToInt(consumer -> consumer.log.count()).sum();
  }

  /** Starts a tracker that takes every result as soon as it can. */
  void follow() {
    var consumer = new Puller(name + "." + (consumers.size() + 1), 0, 0);
    consumers.add(consumer);
    consumer.start();
  }

  /** Starts another tracker, of any kind and at any pace. */
  void consume() {
    var consumerName = name + "." + (consumers.size() + 1);
    int way = app.random().nextInt(6);
    long pause = app.random().nextInt(3) == 0 ? app.random().nextLong(3 * SECOND) : 0;
    var consumer =
        way == 5 ? new Subscriber(consumerName, pause) : new Puller(consumerName, way, pause);
    consumers.add(consumer);
    consumer.start();
  }

  /** Closes one of the trackers, if there are several. */
  void closeOne() {
    var open = consumers();
    if (open.size() > 1) {
      open.getFirst().close();
    }
  }

  /**
   * What the computation makes of a write.
   *
   * @throws NoNewResultException if it does not know in time
   */
  Seen after(ReactiveComputation.Write<RuntimeException> write) {
    try {
      return Seen.value(computation.after(write));
    } catch (NoNewResultException e) {
      throw e;
    } catch (SimulationFailure e) {
      throw e;
    } catch (RuntimeException e) {
      return Seen.failure(e);
    }
  }

  /** A cell's version that a call has read must be in a result that is asked for afterwards. */
  void checkAfter() {
    if (!(query instanceof Query.VersionOf) || !open()) {
      return;
    }
    try {
      long read = Queries.run(query, new LiveReader(node, app, false));
      long shown = app.callers().call(() -> computation.after(() -> {}));
      app.trace(node.toString(), name + " shows " + shown + " after " + read + " was read");
      if (shown < read) {
        app.violation("1: " + this + " shows " + shown + " after " + read + " was read");
      }
    } catch (SimulationFailure e) {
      throw e;
    } catch (Exception e) {
      // What is not reached in time need not know.
      app.trace(node.toString(), name + " knows nothing: " + e);
    } finally {
      Thread.interrupted();
    }
  }

  void close() {
    closed = true;
    app.trace(node.toString(), name + " is closed");
    computation.close();
  }

  @Override
  public String toString() {
    return name + " on " + node + " of " + query;
  }

  /** One tracker. */
  abstract class Consumer {
    final TrackerLog log;
    final String consumerName;
    final long pauseNanos;
    boolean done;

    Consumer(String consumerName, long pauseNanos) {
      this.consumerName = consumerName;
      this.pauseNanos = pauseNanos;
      this.log = new TrackerLog(app, Watch.this, consumerName);
    }

    abstract void start();

    abstract void close();

    /** Whether its result is known to be current; null if it cannot tell. */
    abstract @Nullable Freshness freshness();

    /** Notes the end, which must have a reason. */
    void ended(Throwable reason) {
      boolean expected =
          reason instanceof ComputationClosedException ? closed || done : node.candidate() == false;
      done = true;
      app.trace(node.toString(), consumerName + " ends: " + reason);
      if (!expected) {
        app.violation("1: " + consumerName + " on " + node + " ended without a reason: " + reason);
      }
    }

    /** Notes the end where no reason is told. */
    void completed() {
      if (!closed && !done && node.candidate()) {
        app.violation("1: " + consumerName + " was completed, but its computation is open");
      }
      done = true;
    }

    @Override
    public String toString() {
      return consumerName;
    }
  }

  /** A tracker that a thread waits at. */
  private final class Puller extends Consumer {
    private final int way;
    private final ResultTracker<Long> tracker;
    private @Nullable Snapshot<Long> observed;

    Puller(String name, int way, long pauseNanos) {
      super(name, pauseNanos);
      this.way = way;
      this.tracker = computation.tracker();
    }

    @Override
    void start() {
      app.scheduler().start(node.life(), consumerName, this::pull);
    }

    private void pull() {
      var iterator = tracker.iterator();
      while (!done) {
        try {
          app.callers().perform(() -> pull(iterator));
        } catch (NoNewResultException e) {
          continue;
        } catch (ComputationClosedException e) {
          ended(e);
        } catch (NodeStoppedException e) {
          if (!node.candidate()) {
            ended(e);
          } else {
            log.deliver(Seen.failure(e));
          }
        } catch (SimulationFailure e) {
          throw e;
        } catch (RuntimeException e) {
          // Who was interrupted itself was not told of a result.
          if (!Thread.interrupted() || !(e instanceof CallInterruptedException)) {
            log.deliver(Seen.failure(e));
          }
        }
        app.scheduler().sleep(pauseNanos);
      }
    }

    private boolean pull(Iterator<Long> iterator) {
      switch (way) {
        case 0 -> log.deliver(Seen.value(tracker.next()));
        case 1 -> log.deliver(Seen.value(tracker.next(randomSpan())));
        case 2 -> tracker.poll(randomSpan()).ifPresent(result -> log.deliver(Seen.of(result)));
        case OBSERVES -> tracker.observe(observingSpan()).ifPresent(this::take);
        default -> {
          if (iterator.hasNext()) {
            log.deliver(Seen.value(iterator.next()));
          } else {
            completed();
          }
        }
      }
      return Thread.interrupted();
    }

    /** A snapshot: of another result, or with another freshness. */
    private void take(Snapshot<Long> now) {
      var before = observed;
      observed = now;
      app.trace(node.toString(), consumerName + " observes " + now);
      var seen = Seen.of(now.result());
      if (before != null
          && (now.version() < before.version()
              || (now.version() == before.version() && !seen.equals(Seen.of(before.result()))))) {
        app.violation("1: " + consumerName + " observes " + now + " after " + before);
      }
      if (before == null || now.freshness() == before.freshness() || log.isOther(seen)) {
        log.deliver(seen);
      }
    }

    /** Often so long that nothing but being woken up shows it what is new. */
    private Duration observingSpan() {
      return app.random().nextBoolean() ? Duration.ofHours(9) : randomSpan();
    }

    private Duration randomSpan() {
      return Duration.ofNanos(app.random().nextLong(5 * SECOND));
    }

    @Override
    void close() {
      done = true;
      tracker.close();
    }

    /** Who observes is told. */
    @Override
    @Nullable Freshness freshness() {
      if (way != OBSERVES) {
        return tracker.freshness();
      }
      return observed == null ? null : observed.freshness();
    }
  }

  /** A tracker that calls back. */
  private final class Subscriber extends Consumer implements Flow.Subscriber<Result<Long>> {
    private Flow.@Nullable Subscription subscription;

    Subscriber(String name, long pauseNanos) {
      super(name, pauseNanos);
    }

    @Override
    void start() {
      computation.publisher().subscribe(this);
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
      given.request(1);
    }

    @Override
    public void onNext(Result<Long> item) {
      log.deliver(Seen.of(item));
      app.scheduler().after(pauseNanos, node.life(), this::requestMore);
    }

    private void requestMore() {
      if (subscription != null && !done) {
        subscription.request(1);
      }
    }

    @Override
    public void onError(Throwable throwable) {
      ended(throwable);
    }

    @Override
    public void onComplete() {
      completed();
    }

    @Override
    void close() {
      done = true;
      if (subscription != null) {
        subscription.cancel();
      }
    }

    @Override
    @Nullable Freshness freshness() {
      return null;
    }
  }
}
