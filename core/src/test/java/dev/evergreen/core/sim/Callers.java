package dev.evergreen.core.sim;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * The application's calls under way: of clients, of operations, of computations on threads of the
 * core and on lent ones, of their branches, and of those who wait for results. Whoever waits in one
 * may be interrupted.
 */
final class Callers {

  /** Whoever is interrupted goes on in less than this, which a pause of its node takes, too. */
  private static final long PATIENCE = 20_000_000_000L;

  private static final int ONE_IN = 12;
  private static final int ONE_COMPUTATION_IN = 3;

  /** The most time until an interrupt, to be halved several times. */
  private static final long LONGEST = 1L << 28;

  private static final int HALVINGS = 14;

  /** What one of them does. */
  interface Body<T, E extends Exception> {
    T run() throws E;
  }

  private final App app;
  private final List<SimThread> underWay = new ArrayList<>();
  private @Nullable SplittableRandom random;

  Callers(App app) {
    this.app = app;
  }

  /** From now on some are interrupted. */
  void interruptSome(SplittableRandom given) {
    random = given;
  }

  boolean areInterrupted() {
    return random != null;
  }

  /** No more are interrupted than there are now. */
  void interruptNobody() {
    random = null;
  }

  /** Calls once, which an interrupt ends. */
  <T, E extends Exception> T call(Body<T, E> body) throws E {
    return perform(true, body);
  }

  /** Does what may call several times, and may go on after an interrupt. */
  <T, E extends Exception> T perform(Body<T, E> body) throws E {
    return perform(false, body);
  }

  /** Sleeps, which an interrupt ends. */
  void sleep(Runnable sleep) {
    perform(
        true,
        () -> {
          sleep.run();
          return true;
        });
  }

  private <T, E extends Exception> T perform(boolean once, Body<T, E> body) throws E {
    var thread = app.scheduler().running();
    underWay.add(thread);
    try {
      return perform(thread, once, body);
    } finally {
      underWay.remove(thread);
    }
  }

  private <T, E extends Exception> T perform(SimThread thread, boolean once, Body<T, E> body)
      throws E {
    if (random == null || random.nextInt(once ? ONE_IN : ONE_COMPUTATION_IN) > 0) {
      return body.run();
    }
    var scheduler = app.scheduler();
    long nanos = random.nextLong(LONGEST >> random.nextInt(HALVINGS));
    var interrupt = scheduler.after(nanos, scheduler.world(), () -> interrupt(thread));
    var end = scheduler.after(nanos + PATIENCE, thread.life, () -> goesOn(thread, once));
    try {
      return body.run();
    } finally {
      interrupt.cancel();
      end.cancel();
    }
  }

  /** Whose calls are under way; those that called first come first. */
  List<SimThread> underWay() {
    return underWay.stream().distinct().toList();
  }

  void interrupt(SimThread thread) {
    if (!thread.life.dead()) {
      app.trace("callers", "interrupts " + thread);
      app.scheduler().interrupt(thread);
    }
  }

  private void goesOn(SimThread thread, boolean once) {
    if (once) {
      app.violation("4: " + thread + " was interrupted, and waits on");
    }
  }
}
