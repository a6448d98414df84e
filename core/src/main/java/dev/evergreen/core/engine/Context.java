package dev.evergreen.core.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.Computation;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTimer;
import dev.evergreen.core.Grains;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.State;
import dev.evergreen.core.model.Failures;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.Clock;
import dev.evergreen.core.work.Nanos;
import dev.evergreen.core.work.Tasks;
import dev.evergreen.core.work.Workers;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What one activation knows of its world. */
final class Context<K> implements GrainContext<K>, Activation.Inside {

  private final Activation activation;
  private final Base base;
  private final Workers workers;
  private final Grains grains;
  private final Computations computations;

  @GuardedBy("timers")
  private final Set<Timer> timers = new LinkedHashSet<>(2);

  private volatile @Nullable Thread constructing;

  @GuardedBy("timers")
  private boolean closed;

  Context(Activation activation, Calls calls, Computations computations) {
    this.activation = activation;
    this.base = activation.base();
    this.workers = base.workers();
    this.grains = new References(base, calls, activation, base.settings().callTimeout());
    this.computations = computations;
  }

  /** The object's constructor may use this context. */
  @Override
  public Object construct() {
    constructing = Thread.currentThread();
    try {
      var factory = base.models().hosted(activation.model(), activation.id()).factory();
      return Objects.requireNonNull(factory.apply(this), "its factory answered null");
    } finally {
      constructing = null;
    }
  }

  @Override
  public boolean isConstructing() {
    return constructing == Thread.currentThread();
  }

  @Override
  @SuppressWarnings("unchecked") // the model's keys are of the interface's key type
  public K key() {
    return (K) activation.model().keys().parse(activation.id().key());
  }

  @Override
  public Grains grains() {
    return grains;
  }

  @Override
  public <S> State<S> state(Class<S> type, S initial) {
    if (!isConstructing()) {
      throw new InvalidGrainException(
          activation.id() + ": call context.state(...) once, in the grain's constructor");
    }
    return activation.stateCell(type, initial);
  }

  @Override
  public GrainTimer timer(String name, Duration delay, Duration period, Runnable action) {
    activation.checkInside("timer(...)");
    if (period.isNegative()) {
      throw new IllegalArgumentException(
          activation.id() + ", timer " + name + ": the period " + period + " is negative");
    }
    var timer = new Timer(name, period, action);
    synchronized (timers) {
      if (closed) {
        timer.cancelled = true;
      } else {
        timers.add(timer);
      }
    }
    timer.wait(delay);
    return timer;
  }

  @Override
  public <T> ReactiveComputation<T> reactive(Computation<T> computation) {
    activation.checkInside("reactive(...)");
    return computations.open(activation, computation);
  }

  @Override
  public void sleep(Duration duration) {
    var scope = activation.checkInside("sleep(...)");
    if (scope == null) {
      throw new InvalidGrainException(activation.id() + ": sleep(...) was used in a constructor");
    }
    scope.await(() -> false, workers.nanos() + Nanos.of(duration), false);
  }

  @Override
  public Instant now() {
    return workers.clock().now();
  }

  @Override
  public void markChanged() {
    workers.now(activation::markChanged);
  }

  @Override
  public void deactivate() {
    activation.checkInside("deactivate()");
    activation.closeAfterTurn(activation.id() + " deactivated itself");
  }

  @Override
  public void close() {
    List<Timer> ended;
    synchronized (timers) {
      closed = true;
      ended = List.copyOf(timers);
    }
    ended.forEach(Timer::cancel);
  }

  /** Runs its action as turns of the activation. */
  private final class Timer implements GrainTimer {
    private final String name;
    private final Duration period;
    private final Runnable action;
    private volatile boolean cancelled;

    @GuardedBy("this")
    private Clock.@Nullable Cancellable due;

    /** How often it has begun to wait. */
    @GuardedBy("this")
    private long waits;

    Timer(String name, Duration period, Runnable action) {
      this.name = name;
      this.period = period;
      this.action = action;
    }

    private void wait(Duration delay) {
      long wait;
      synchronized (this) {
        wait = ++waits;
      }
      var alarm = workers.after(Nanos.of(delay), this::fire);
      synchronized (this) {
        if (wait == waits) { // else this one has fired, and it waits again
          due = alarm;
        }
      }
      if (cancelled) {
        alarm.cancel();
      }
    }

    private void fire(Tasks next) {
      if (cancelled) {
        return;
      }
      activation.submit(
          new Turn(
              activation,
              "timer " + name,
              false,
              grain -> {
                if (!cancelled) {
                  action.run();
                }
                return null;
              },
              this::ended),
          next);
    }

    private void ended(Outcome outcome) {
      if (outcome instanceof Outcome.Threw(var failure, var original)) {
        Failures.log(activation.id() + ", timer " + name, failure);
      }
      if (period.isZero()) {
        cancel();
      } else {
        wait(period);
      }
    }

    @Override
    public void cancel() {
      cancelled = true;
      synchronized (this) {
        if (due != null) {
          due.cancel();
        }
      }
      synchronized (timers) {
        timers.remove(this);
      }
    }
  }
}
