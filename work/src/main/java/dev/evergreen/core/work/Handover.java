package dev.evergreen.core.work;

import dev.evergreen.core.Node;
import dev.evergreen.core.spi.Clock;
import dev.evergreen.core.spi.Threads;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Hands work over to threads and timers, and loses none where these refuse it: no thread can be had
 * while there is no memory for one, and who does not take work may be closed.
 *
 * <p>What was refused is done by the next thread that has ended its own work, or by one that can be
 * had a little later; while timers are refused, too, a thread waits for that, or else it is tried
 * again when anything else is to be started. So nothing else than slow threads is seen of it: what
 * the work holds, such as a {@link Baton}, goes on when it is done, and who waits for it has its
 * time limit.
 */
final class Handover {

  private static final System.Logger LOG = System.getLogger(Node.class.getName());

  /** After this it is tried again whether threads can be had. */
  static final long AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final Clock clock;
  private final Threads threads;

  /** What no thread could be had for. */
  private final Queue<Runnable> left = new ConcurrentLinkedQueue<>();

  private final AtomicBoolean triesAgain = new AtomicBoolean();

  /** Whether the last timer that was wanted was refused. */
  private final AtomicBoolean timersRefused = new AtomicBoolean();

  Handover(Clock clock, Threads threads) {
    this.clock = clock;
    this.threads = threads;
  }

  /** Starts a thread for this, now or as soon as there can be one. */
  void start(Runnable work) {
    boolean started = starts(work);
    if (!started || !left.isEmpty()) {
      tryAgain();
    }
  }

  private boolean starts(Runnable work) {
    try {
      threads.start(() -> run(work));
      return true;
    } catch (RuntimeException | Error e) {
      left.add(work);
      if (!triesAgain.get()) { // once, until it is possible again
        log("no thread can be started; what it is for is done as soon as that is possible", e);
      }
      return false;
    }
  }

  private void run(Runnable first) {
    boolean done = false;
    try {
      first.run();
      for (var work = left.poll(); work != null; work = left.poll()) {
        Thread.interrupted(); // what one has left behind is no affair of the next
        work.run();
      }
      done = true;
    } finally {
      if (!done && !left.isEmpty()) {
        tryAgain();
      }
    }
  }

  private void tryAgain() {
    if (!triesAgain.getAndSet(true)) {
      startLeftLater();
    }
  }

  private void startLeftLater() {
    try {
      clock.after(AGAIN_NANOS, this::startLeft);
    } catch (RuntimeException | Error e) {
      startLeftByThread();
    }
  }

  private void startLeftByThread() {
    try {
      threads.start(
          () -> {
            threads.parkNanos(AGAIN_NANOS);
            startLeft();
          });
    } catch (RuntimeException | Error e) {
      triesAgain.set(false); // whoever ends its work next does what is left, or starts any
    }
  }

  private void startLeft() {
    for (var work = left.poll(); work != null; work = left.poll()) {
      if (!starts(work)) {
        startLeftLater();
        return;
      }
    }
    triesAgain.set(false);
    if (!left.isEmpty()) {
      tryAgain();
    }
  }

  /** Runs a task on the clock's thread after a while; where that refuses it, on one of its own. */
  Clock.Cancellable after(long nanos, Runnable task) {
    try {
      var timer = clock.after(nanos, task);
      if (timersRefused.get()) {
        timersRefused.set(false);
      }
      return timer;
    } catch (RuntimeException | Error e) {
      if (!timersRefused.getAndSet(true)) {
        log("no timer can be set; a thread waits instead", e);
      }
      return waitFor(nanos, task);
    }
  }

  private Clock.Cancellable waitFor(long nanos, Runnable task) {
    long due = clock.nanos() + nanos;
    var cancelled = new AtomicBoolean();
    start(
        () -> {
          while (!cancelled.get() && due - clock.nanos() > 0) {
            Thread.interrupted(); // else it would not park
            threads.parkNanos(due - clock.nanos());
          }
          if (!cancelled.get()) {
            task.run();
          }
        });
    return () -> cancelled.set(true);
  }

  /** A log that fails as well has nobody to tell. */
  static void log(String what, Throwable why) {
    try {
      LOG.log(System.Logger.Level.WARNING, what, why);
    } catch (RuntimeException | Error e) {
      return;
    }
  }
}
