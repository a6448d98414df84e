package dev.evergreen.fibers;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Where one thread waits until somebody opens it: a permit for one.
 *
 * <p>The state is null (closed, nobody waits), {@link #OPEN}, or the thread that waits. Invariants:
 *
 * <ol>
 *   <li>{@link #open} leaves OPEN behind, and unparks the thread it found, if any. Whatever
 *       happened before it is seen by whoever passes afterwards.
 *   <li>Only the one who waits turns OPEN or itself into null, so no opening is lost: it is passed,
 *       or still there.
 *   <li>A thread parks only while the state is that thread, so that it is unparked after any
 *       opening.
 * </ol>
 *
 * <p>To run it is to open it: so what ends a wait from outside is made once, and not for each wait.
 */
final class Gate implements Runnable {

  private static final Object OPEN = new Object();
  private static final VarHandle STATE;

  static {
    try {
      STATE = MethodHandles.lookup().findVarHandle(Gate.class, "state", Object.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private volatile @Nullable Object state;

  /** Opens it for one passage, whether somebody waits or not. Any thread may call it. */
  void open() {
    // A passage that is still unused suffices: what we did before will be seen by it.
    if (state != OPEN && STATE.getAndSet(this, OPEN) instanceof Thread waiting) {
      LockSupport.unpark(waiting);
    }
  }

  @Override
  public void run() {
    open();
  }

  /** Passes if it is open. */
  boolean pass() {
    return state == OPEN && STATE.compareAndSet(this, OPEN, (Object) null);
  }

  /**
   * Waits until it is open and passes.
   *
   * @return false if the thread was interrupted instead
   * @throws IllegalStateException if another thread waits here already
   */
  boolean await() {
    return await(false, 0);
  }

  /** Like {@link #await()}, but returns at a time at the latest, as if it were open. */
  boolean await(long until) {
    return await(true, until);
  }

  private boolean await(boolean limited, long until) {
    var me = Thread.currentThread();
    while (true) {
      if (pass()) {
        return true;
      }
      if (me.isInterrupted()) {
        // Unless it was opened just now.
        return !STATE.compareAndSet(this, me, (Object) null) && pass();
      }
      long nanos = limited ? until - System.nanoTime() : 0;
      if (limited && nanos <= 0) {
        var _ = STATE.compareAndSet(this, me, (Object) null) || pass();
        return true;
      }
      var found = STATE.compareAndExchange(this, (Object) null, me);
      if (found == null || found == me) {
        park(limited, nanos);
      } else if (found != OPEN) {
        throw new IllegalStateException(
            "two fibers wait for the same direction of a socket: " + found + " and " + me);
      }
    }
  }

  private void park(boolean limited, long nanos) {
    if (limited) {
      LockSupport.parkNanos(this, nanos);
    } else {
      LockSupport.park(this);
    }
  }
}
