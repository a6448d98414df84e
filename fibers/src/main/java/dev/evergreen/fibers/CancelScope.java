package dev.evergreen.fibers;

import java.io.IOException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * What ends waits from outside: a deadline for all of them together, or somebody who {@linkplain
 * #cancel cancels} them. It holds for whatever a thread waits for while it {@linkplain #call runs
 * in} the scope: input, room for output, a connection to be made or accepted, a name to be looked
 * up; on any number of connections.
 *
 * {@snippet :
 * var scope = CancelScope.within(Duration.ofSeconds(5));
 * var answer = scope.call(() -> {
 *   try (var upstream = dialer.dial("origin.example", 80)) {
 *     return ask(upstream);
 *   }
 * });
 * }
 *
 * <p>A wait that ends so throws a {@link WaitCancelledException} or a {@link DeadlineException},
 * and so does every later one in the scope. A connection or listener whose <em>input</em> was
 * waited for can be used further, by anybody: nothing is lost. One whose <em>output</em> had to
 * wait is closed, as its peer may have got the beginning of something; and so is one that was still
 * being made. What can be done without waiting is still done.
 *
 * <p>Scopes nest: inside an inner one the deadlines and cancellations of the outer ones hold, too.
 * Any number of threads may be in one scope, and any thread may cancel it. Threads that are started
 * inside are not in it, unless they enter it themselves.
 */
public final class CancelScope {

  // Invariant: whoever waits has entered itself in the waits of all its scopes before it looks for
  // the last time whether they are cancelled; and who cancels says so before it looks for waits.
  // Both are volatile: either the one is woken, or it does not wait.

  private static final ScopedValue<Bound> BOUND = ScopedValue.newInstance();

  private final Set<Runnable> waits = ConcurrentHashMap.newKeySet();
  private final long deadline;
  private volatile boolean cancelled;

  private CancelScope(long nanos) {
    deadline = System.nanoTime() + nanos;
  }

  /** A scope without a deadline, to be cancelled. */
  public static CancelScope open() {
    return new CancelScope(Nanos.FOREVER);
  }

  /** A scope whose deadline is a time from now on; it has passed if that is zero or negative. */
  public static CancelScope within(Duration time) {
    return new CancelScope(Nanos.of(time));
  }

  /** Something that is done in a scope. */
  @FunctionalInterface
  public interface Action<X extends Throwable> {
    /** Does it. */
    void run() throws X;
  }

  /** Does something in this scope, by the calling thread. */
  public <X extends Throwable> void run(Action<X> action) throws X {
    ScopedValue.<Bound>where(BOUND, new Bound(this, current()))
        .<@Nullable Void, X>call(
            () -> {
              action.run();
              return null;
            });
  }

  /** Does something in this scope, by the calling thread, and answers what comes of it. */
  public <T, X extends Throwable> T call(ScopedValue.CallableOp<? extends T, X> action) throws X {
    return ScopedValue.where(BOUND, new Bound(this, current())).call(action);
  }

  /** Ends all waits in this scope, now and from now on. Does not block. */
  public void cancel() {
    cancelled = true;
    waits.forEach(Runnable::run);
  }

  /** Whether it was cancelled. */
  public boolean cancelled() {
    return cancelled;
  }

  /** How long it is until the deadline; zero if that has passed, decades if there is none. */
  public Duration remaining() {
    return Duration.ofNanos(Math.max(0, deadline - System.nanoTime()));
  }

  /** The calling thread's scopes, or null if it is in none. */
  static @Nullable Bound current() {
    return BOUND.isBound() ? BOUND.get() : null;
  }

  /** Throws if the calling thread may not begin to wait. */
  static void check(String what) throws IOException {
    var bound = current();
    if (bound != null) {
      bound.checkWait(what);
    }
  }

  /** That a thread is in a scope, and in those around it. */
  static final class Bound {
    private final CancelScope scope;
    private final @Nullable Bound outer;

    /** The earliest of all deadlines. */
    private final long until;

    Bound(CancelScope scope, @Nullable Bound outer) {
      this.scope = scope;
      this.outer = outer;
      until = outer != null && outer.until - scope.deadline < 0 ? outer.until : scope.deadline;
    }

    boolean limited() {
      return until - System.nanoTime() < Nanos.FOREVER / 2;
    }

    long until() {
      return until;
    }

    private boolean cancelled() {
      return scope.cancelled || (outer != null && outer.cancelled());
    }

    void checkWait(String what) throws IOException {
      if (cancelled()) {
        throw new WaitCancelledException(what);
      }
      if (until - System.nanoTime() <= 0) {
        throw new DeadlineException(what);
      }
    }

    /** A wait begins that {@code wake} ends; it is called at once if the wait is cancelled. */
    void begin(Runnable wake) {
      for (var bound = this; bound != null; bound = bound.outer) {
        bound.scope.waits.add(wake);
      }
      if (cancelled()) {
        wake.run();
      }
    }

    void end(Runnable wake) {
      for (var bound = this; bound != null; bound = bound.outer) {
        bound.scope.waits.remove(wake);
      }
    }
  }
}
