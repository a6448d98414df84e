package dev.evergreen.web;

import dev.evergreen.core.Computation;
import dev.evergreen.core.ComputationClosedException;
import dev.evergreen.core.Freshness;
import dev.evergreen.core.Node;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.Result;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.json.ResultJson;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One live computation of the process: a view with its parameters, however many look at it. A
 * virtual thread of its own follows the results, turns each into JSON once and tells the
 * subscribers, who take the latest when they can.
 *
 * @param <P> the view's parameters
 */
final class LiveResult<P extends Record> {

  /** Told that {@link #present} has changed; must not block. */
  interface Subscriber {

    /**
     * The latest result or its freshness is another.
     *
     * @param newResult whether the result is
     */
    void changed(boolean newResult);

    /** Whether it can make use of {@link #delta}. */
    default boolean takesDeltas() {
      return false;
    }

    /** There will be no further results. */
    void ended(WebException why);
  }

  private static final Duration LONG = Duration.ofDays(1);

  final LiveView<P> view;

  final ViewKey key;

  /** The address that had it made, and the caller if there is one. */
  final List<Object> payers;

  private final Caller caller;
  private final P params;
  private final Hub hub;
  private final Node node;
  private final Failures failures;
  private final Counters counters;
  private final int maxResultBytes;
  private final Set<Subscriber> subscribers = ConcurrentHashMap.newKeySet();
  private final CountDownLatch first = new CountDownLatch(1);
  private volatile @Nullable Present present;
  private volatile @Nullable Delta delta;
  private volatile @Nullable WebException end;
  private volatile @Nullable ReactiveComputation<?> running;
  private volatile @Nullable ResultTracker<?> results;
  private final CountDownLatch closing = new CountDownLatch(1);

  /** Guarded by the hub's lock. */
  int users;

  /** What the hub counts for it; guarded by the hub's lock. */
  @Nullable Present held;

  /** How long the delta is that the hub counts beside it; guarded by the hub's lock. */
  int deltaBytes;

  /** When to close it if it still has no users; guarded by the hub's lock. */
  long closeAtNanos;

  LiveResult(
      LiveView<P> view,
      ViewKey key,
      List<Object> payers,
      Hub hub,
      Node node,
      Failures failures,
      Counters counters,
      int maxResultBytes) {
    this.view = view;
    this.key = key;
    this.caller = key.seenCaller();
    this.payers = payers;
    this.params = key.params(view);
    this.hub = hub;
    this.node = node;
    this.failures = failures;
    this.counters = counters;
    this.maxResultBytes = maxResultBytes;
  }

  void start() {
    Thread.ofVirtual().name("view " + view.name()).start(this::follow);
  }

  /** The latest result, or null before the first. */
  @Nullable Present present() {
    return present;
  }

  /**
   * How what somebody has becomes the latest result, or null if that is not known: it is only from
   * the result before, and only while somebody takes deltas.
   */
  @Nullable Delta delta(@Nullable String from, Present to) {
    var last = delta;
    return last != null && last.from().equals(from) && last.to().tag().equals(to.tag())
        ? last
        : null;
  }

  /** Why there will be no further results, or null while there may be. */
  @Nullable WebException end() {
    return end;
  }

  /** Waits for the first result; null when there is none within {@code limit}. */
  @Nullable Present awaitFirst(Duration limit) throws InterruptedException {
    first.await(limit.toNanos(), TimeUnit.NANOSECONDS);
    return present;
  }

  /** Whether this caller may see the result now. */
  boolean allows(Caller who) {
    try {
      return view.authorisation().allows(who, params);
    } catch (RuntimeException e) {
      failures.log("The authorisation check of view " + view.name() + " failed.", e);
      return false;
    }
  }

  void subscribe(Subscriber subscriber) {
    subscribers.add(subscriber);
    var ended = end;
    if (ended != null) {
      subscriber.ended(ended);
    } else if (present != null) {
      subscriber.changed(false);
    }
  }

  void unsubscribe(Subscriber subscriber) {
    subscribers.remove(subscriber);
  }

  void close() {
    closing.countDown();
    var computation = running;
    if (computation != null) {
      computation.close();
    }
  }

  private void follow() {
    WebException why;
    try {
      var every = view.every();
      if (every == null) {
        followResults();
      } else {
        askEvery(every);
      }
      why = new WebException(503, "closed", "This view has been closed; try again.");
    } catch (RuntimeException e) {
      why = told(e);
    }
    end = why;
    first.countDown();
    for (var subscriber : subscribers) {
      subscriber.ended(why);
    }
  }

  private void followResults() {
    try (var computation = node.reactive(computation());
        var tracker = computation.tracker()) {
      running = computation;
      results = tracker;
      while (!isClosed()) {
        var result = tracker.poll(LONG);
        if (result.isPresent()) {
          publish(read(result.get(), tracker.freshness()));
        }
      }
    } catch (ComputationClosedException e) {
      // Closed by the hub because nobody looks any more, or by the application's node.
      return;
    }
  }

  private boolean isClosed() {
    return closing.getCount() == 0;
  }

  private void askEvery(Duration pause) {
    var computation = view.computation(caller, params);
    try {
      do {
        publish(ask(computation));
      } while (!closing.await(pause.toNanos(), TimeUnit.NANOSECONDS));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private Present ask(Computation<?> computation) {
    try {
      return serialise(computation.compute(), Freshness.CURRENT);
    } catch (Exception e) {
      return Present.failure(told(e), Freshness.CURRENT);
    }
  }

  /** The view's computation, asked for in the first run so that its failure is a result. */
  private Computation<@Nullable Object> computation() {
    var made = new AtomicReference<@Nullable Computation<?>>();
    return () -> {
      var computation = made.get();
      if (computation == null) {
        computation = view.computation(caller, params);
        made.set(computation);
      }
      return computation.compute();
    };
  }

  private Present read(Result<?> result, Freshness freshness) {
    return switch (result) {
      case Result.Failure<?> failure -> Present.failure(told(failure.exception()), freshness);
      case Result.Value<?> value -> serialise(value.value(), freshness);
    };
  }

  private Present serialise(@Nullable Object value, Freshness freshness) {
    try {
      counters.serialised.increment();
      return Present.value(ResultJson.write(value, maxResultBytes), freshness);
    } catch (ResultJson.TooLargeException e) {
      return Present.failure(
          new WebException(500, "result-too-large", "The result is larger than the server sends."),
          freshness);
    } catch (IOException | RuntimeException e) {
      return Present.failure(told(e), freshness);
    }
  }

  private WebException told(Exception failure) {
    return failures.tell("View " + view.name(), failure);
  }

  /**
   * Tells when the same result has become doubtful or current again. The core has no event for
   * that, so it is called now and then.
   */
  synchronized void lookAtFreshness() {
    var last = present;
    var tracker = results;
    if (last != null && tracker != null) {
      publish(last.with(tracker.freshness()));
    }
  }

  /**
   * Makes this the latest result.
   *
   * @throws WebException if it is more than whoever had it made may have held
   */
  private synchronized void publish(Present next) {
    var last = present;
    if (last == null || !last.tag().equals(next.tag())) {
      delta = null;
      var held = hub.hold(this, next);
      delta = last == null ? null : heldDelta(last, held);
      present = held;
      first.countDown();
      tell(true);
    } else if (last.freshness() != next.freshness()) {
      // The bytes stay those that connections are writing already.
      present = last.with(next.freshness());
      tell(false);
    }
  }

  private @Nullable Delta heldDelta(Present last, Present next) {
    if (subscribers.stream().noneMatch(Subscriber::takesDeltas)) {
      return null;
    }
    var made = Delta.between(last, next);
    return made != null && hub.holdDelta(this, made.to().bytes().length) ? made : null;
  }

  private void tell(boolean newResult) {
    for (var subscriber : subscribers) {
      subscriber.changed(newResult);
    }
  }
}
