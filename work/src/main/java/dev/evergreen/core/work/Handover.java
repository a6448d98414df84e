package dev.evergreen.core.work;

import com.google.errorprone.annotations.concurrent.GuardedBy;
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
  private final Queue<Work> left = new ConcurrentLinkedQueue<>();

  @GuardedBy("left")
  private boolean triesAgain;

  /** Whether the last timer that was wanted was refused. */
  private final AtomicBoolean timersRefused = new AtomicBoolean();

  Handover(Clock clock, Threads threads) {
    this.clock = clock;
    this.threads = threads;
  }

  /** What is done once, however many threads come to it. */
  private final class Work implements Runnable {
    private final Runnable what;

    /** Whether a thread will come to it for certain. */
    private boolean safe;

    @GuardedBy("this")
    private boolean taken;

    Work(Runnable what) {
      this.what = what;
    }

    /** On a thread that was started for it, which does what is left as well. */
    @Override
    public void run() {
      Handover.this.run(this);
    }

    private void perform() {
      synchronized (this) {
        if (taken) {
          return;
        }
        taken = true;
      }
      what.run();
    }
  }

  /**
   * Starts a thread for this, now or as soon as there can be one. If this throws, as where the
   * stack ends, it is not done at all: else who tries again would have it done twice.
   */
  void start(Runnable what) {
    var work = new Work(what);
    try {
      boolean started = starts(work);
      if (!started || !left.isEmpty()) {
        tryAgain();
      }
    } catch (RuntimeException | Error e) {
      // By no calls: there may be no stack for one.
      if (!work.safe) {
        synchronized (work) {
          if (!work.taken) {
            work.taken = true;
            throw e;
          }
        }
      }
      synchronized (left) {
        triesAgain = false; // whoever ends its work next does what is left, or starts any
      }
    }
  }

  private boolean starts(Work work) {
    try {
      threads.start(work);
      work.safe = true;
      return true;
    } catch (RuntimeException | Error e) {
      left.add(work);
      work.safe = true;
      if (!triesAgain()) { // once, until it is possible again
        log("no thread can be started; what it is for is done as soon as that is possible", e);
      }
      return false;
    }
  }

  private void run(Work first) {
    boolean done = false;
    try {
      first.perform();
      for (var work = left.poll(); work != null; work = left.poll()) {
        Thread.interrupted(); // what one has left behind is no affair of the next
        work.perform();
      }
      done = true;
    } finally {
      if (!done && !left.isEmpty()) {
        tryAgain();
      }
    }
  }

  private boolean triesAgain() {
    synchronized (left) {
      return triesAgain;
    }
  }

  private void tryAgain() {
    synchronized (left) {
      if (triesAgain) {
        return;
      }
      triesAgain = true;
    }
    try {
      startLeftLater();
    } catch (RuntimeException | Error e) {
      synchronized (left) {
        triesAgain = false; // whoever ends its work next does what is left, or starts any
      }
    }
  }

  private void startLeftLater() {
    try {
      clock.after(AGAIN_NANOS, this::startLeft);
    } catch (RuntimeException | Error e) {
      threads.start(
          () -> {
            threads.parkNanos(AGAIN_NANOS);
            startLeft();
          });
    }
  }

  /** What is left stays there until there is a thread for it: it is done once, whoever comes. */
  private void startLeft() {
    synchronized (left) {
      triesAgain = false; // first, so that it is, wherever this ends
    }
    try {
      for (var work = left.peek(); work != null; work = left.peek()) {
        threads.start(work);
        left.remove(work);
      }
    } catch (RuntimeException | Error e) {
      tryAgain();
      return;
    }
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
