package dev.evergreen.fibers;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.channels.ClosedChannelException;

/**
 * Something with a number of the kernel's, which the last one to use it gives back.
 *
 * <p>The lowest bit of {@code uses} says that it is closed, the rest counts who is inside an
 * operation, waiting included. Invariants:
 *
 * <ol>
 *   <li>An operation touches the number only between {@link #enter} and {@link #leave}. {@code
 *       enter} fails once it is closed.
 *   <li>The number is given back when it is closed and nobody is inside, by the one whose change of
 *       {@code uses} made that so: exactly once, and never under a running operation.
 * </ol>
 */
abstract class UseCount {

  private static final int CLOSED = 1;
  private static final int ONE_USE = 2;
  private static final VarHandle USES;

  static {
    try {
      USES = MethodHandles.lookup().findVarHandle(UseCount.class, "uses", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private volatile int uses;

  final boolean closed() {
    return (uses & CLOSED) != 0;
  }

  final void enter() throws ClosedChannelException {
    if (!tryEnter()) {
      throw new ClosedChannelException();
    }
  }

  /** Enters, unless it is closed. */
  final boolean tryEnter() {
    while (true) {
      int before = uses;
      if ((before & CLOSED) != 0) {
        return false;
      }
      if (USES.compareAndSet(this, before, before + ONE_USE)) {
        return true;
      }
    }
  }

  final void leave() {
    int before = (int) USES.getAndAdd(this, -ONE_USE);
    if (before == (ONE_USE | CLOSED)) {
      giveBack();
    }
  }

  /**
   * Closes it, and enters, so that the number stays until the caller leaves.
   *
   * @return how many others are inside, or -1 if it was closed before and nothing was done
   */
  final int closeAndEnter() {
    while (true) {
      int before = uses;
      if ((before & CLOSED) != 0) {
        return -1;
      }
      if (USES.compareAndSet(this, before, (before + ONE_USE) | CLOSED)) {
        return before / ONE_USE;
      }
    }
  }

  /** Gives the number back to the kernel. */
  abstract void giveBack();
}
