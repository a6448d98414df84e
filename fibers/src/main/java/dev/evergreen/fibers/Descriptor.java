package dev.evergreen.fibers;

import dev.evergreen.kernel.FileCalls;
import dev.evergreen.kernel.SocketCalls;
import java.io.IOException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import org.jspecify.annotations.Nullable;

/**
 * An open socket of ours: its number, which the last one to use it gives back, as {@link UseCount}
 * tells. Further invariants:
 *
 * <ol>
 *   <li>Closing opens both gates after it has closed the descriptor for those who come, so that
 *       nobody waits on.
 *   <li>It leaves the table of descriptors before its number is given back.
 *   <li>What else was {@linkplain #keep kept} inside an operation is given back with the number.
 * </ol>
 */
final class Descriptor extends UseCount {

  private final Descriptors table;
  private final int number;
  private final long key;
  private final Gate readable = new Gate();
  private final Gate writable = new Gate();
  private volatile boolean moreExpected;
  private volatile boolean peerEnded;
  private volatile @Nullable Runnable whenEnded;
  private volatile @Nullable Poller poller;
  private volatile Buffers.@Nullable Loan kept;

  private Descriptor(Descriptors table, int number) {
    this.table = table;
    this.number = number;
    key = table.newKey(number);
    table.add(this);
  }

  /** That of a number that is open. It is closed if that fails: nobody else would know of it. */
  static Descriptor of(Descriptors table, int number) {
    try {
      return new Descriptor(table, number);
    } catch (RuntimeException | Error e) {
      FileCalls.close(Carrier.currentScratch(), number);
      throw e;
    }
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

  /**
   * Has something run when the peer has ended, or at once if it has; to be called inside an
   * operation. Both fields are volatile: whoever changes one looks at the other afterwards, so that
   * at least one of both sides sees both.
   *
   * @param told what is run, or null for nothing any more
   * @param atFirst as with {@link #await}
   */
  void whenEnded(@Nullable Runnable told, Poller atFirst) throws IOException {
    if (told != null && poller == null) {
      register(atFirst);
    }
    whenEnded = told;
    if (peerEnded) {
      tellEnd();
    }
  }

  /** An event has said that the peer will send no more, or is gone. */
  void peerHasEnded() {
    peerEnded = true;
    tellEnd();
  }

  private void tellEnd() {
    var told = whenEnded;
    if (told != null) {
      try {
        told.run();
      } catch (RuntimeException | Error e) {
        // Nor does the processor end by it, on which this may be.
        var thread = Thread.currentThread();
        thread.getUncaughtExceptionHandler().uncaughtException(thread, e);
      }
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
    int inside = closeAndEnter();
    if (inside < 0) {
      return false;
    }
    if (reset) {
      SocketCalls.disconnect(Carrier.currentScratch(), number);
    }
    if (inside > 0) {
      // Who is inside may take a moment to leave, and the peer shall not wait for that.
      SocketCalls.shutdown(Carrier.currentScratch(), number, SocketCalls.SHUT_RDWR);
      readable.open();
      writable.open();
    }
    leave();
    return true;
  }

  /** Keeps a buffer for a later operation, or none any more; to be called inside one. */
  void keep(Buffers.@Nullable Loan loan) {
    kept = loan;
  }

  /** What is kept, if anything is. */
  Buffers.@Nullable Loan kept() {
    return kept;
  }

  @Override
  void giveBack() {
    table.remove(this);
    FileCalls.close(Carrier.currentScratch(), number);
    var left = kept;
    if (left != null) {
      left.close();
    }
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
