package dev.evergreen.fibers;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import org.jspecify.annotations.Nullable;

/**
 * An open socket of ours: its number, which the last one to use it gives back.
 *
 * <p>The lowest bit of {@code uses} says that it is closed, the rest counts who is inside an
 * operation, waiting included. Invariants:
 *
 * <ol>
 *   <li>An operation touches the number only between {@link #enter} and {@link #leave}. {@code
 *       enter} fails once it is closed.
 *   <li>The number is closed when it is closed and nobody is inside, by the one whose change of
 *       {@code uses} made that so: exactly once, and never under a running operation.
 *   <li>Closing opens both gates after setting the bit, so that nobody waits on.
 *   <li>It leaves the table of descriptors before its number is given back.
 * </ol>
 */
final class Descriptor {

  private static final int CLOSED = 1;
  private static final int ONE_USE = 2;
  private static final VarHandle USES;

  static {
    try {
      USES = MethodHandles.lookup().findVarHandle(Descriptor.class, "uses", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Descriptors table;
  private final int number;
  private final long key;
  private final Gate readable = new Gate();
  private final Gate writable = new Gate();
  private volatile int uses;
  private volatile boolean moreExpected;
  private volatile @Nullable Poller poller;

  Descriptor(Descriptors table, int number) {
    this.table = table;
    this.number = number;
    key = table.newKey(number);
    table.add(this);
  }

  int number() {
    return number;
  }

  long key() {
    return key;
  }

  Gate readable() {
    return readable;
  }

  Gate writable() {
    return writable;
  }

  /** From now on a short read does not mean that there is no more: see {@link EventPoll}. */
  void expectMore() {
    moreExpected = true;
  }

  boolean moreExpected() {
    return moreExpected;
  }

  boolean closed() {
    return (uses & CLOSED) != 0;
  }

  void enter() throws ClosedChannelException {
    if (!tryEnter()) {
      throw new ClosedChannelException();
    }
  }

  /** Enters, unless it is closed. */
  boolean tryEnter() {
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

  void leave() {
    int before = (int) USES.getAndAdd(this, -ONE_USE);
    if (before == (ONE_USE | CLOSED)) {
      giveBack();
    }
  }

  /**
   * Closes it; whoever is inside learns it at once. Any thread may do this, any number of times.
   */
  boolean close() {
    return close(false);
  }

  /** Closes it such that the peer of a connection by TCP gets an error instead of the end. */
  boolean reset() {
    return close(true);
  }

  private boolean close(boolean reset) {
    while (true) {
      int before = uses;
      if ((before & CLOSED) != 0) {
        return false;
      }
      if (USES.compareAndSet(this, before, (before + ONE_USE) | CLOSED)) {
        if (reset) {
          Kernel.disconnect(Scratch.current(), number);
        }
        if (before != 0) {
          // Who is inside may take a moment to leave, and the peer shall not wait for that.
          Kernel.shutdown(Scratch.current(), number, Kernel.SHUT_RDWR);
          readable.open();
          writable.open();
        }
        leave();
        return true;
      }
    }
  }

  private void giveBack() {
    table.remove(this);
    Kernel.close(Scratch.current(), number);
  }

  /**
   * Waits inside an operation until the gate is opened: by an event, an alarm, or the end.
   *
   * @param atFirst the poller that looks after the socket from the first wait on
   */
  void await(Gate gate, Poller atFirst) throws IOException {
    if (poller == null) {
      register(atFirst);
    }
    if (!gate.await()) {
      close();
      throw new ClosedByInterruptException();
    }
    checkOpen();
  }

  void checkOpen() throws AsynchronousCloseException {
    if (closed()) {
      throw new AsynchronousCloseException();
    }
  }

  private synchronized void register(Poller chosen) throws IOException {
    if (poller == null) {
      chosen.register(this);
      poller = chosen;
    }
  }
}
