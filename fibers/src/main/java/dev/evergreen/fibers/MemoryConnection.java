package dev.evergreen.fibers;

import java.io.IOException;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;

/** One end of a pair of pipes in memory; see {@link MemoryPair}. */
final class MemoryConnection extends Connection {

  private final FibersBase fibers;
  private final Pipe in;
  private final Pipe out;
  private volatile boolean closed;

  MemoryConnection(FibersBase fibers, Pipe in, Pipe out) {
    this.fibers = fibers;
    this.in = in;
    this.out = out;
  }

  void cutAfter(long bytes) {
    out.cutAfter(bytes);
  }

  @Override
  FibersBase fibers() {
    return fibers;
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    int n = tryRead(into);
    boolean limited = readLimited();
    long until = limited ? readLimit() : 0;
    while (n == 0 && into.hasRemaining()) {
      awaitInput(limited, until);
      n = tryRead(into);
    }
    return n;
  }

  @Override
  public int tryRead(ByteBuffer into) throws IOException {
    checkOpen();
    var _ = in.readable().pass();
    int n = into.hasRemaining() ? in.take(into) : 0;
    if (n < 0) {
      flushOwn();
    } else if (n > 0) {
      hasReceived(n);
      // There may be more.
      in.readable().open();
    }
    return n;
  }

  @Override
  void awaitSome() throws IOException {
    boolean limited = readLimited();
    awaitInput(limited, limited ? readLimit() : 0);
  }

  private void awaitInput(boolean limited, long until) throws IOException {
    checkOpen();
    flushBeforeWaiting();
    waitsToReceive();
    try {
      await(in.readable(), "read", limited, until);
    } finally {
      goesOnReceiving();
    }
  }

  /** Waits until the gate is opened; leaves it open, as only who looks afterwards passes. */
  private void await(Gate gate, String what, boolean limited, long until) throws IOException {
    var scope = CancelScope.current();
    if (scope != null) {
      scope.checkWait(what);
    }
    if (scope != null) {
      scope.begin(gate);
    }
    boolean sooner = scope != null && (!limited || scope.until() - until < 0);
    try {
      if (!gate.await(sooner && scope != null ? scope.until() : limited ? until : forever())) {
        close();
        throw new ClosedByInterruptException();
      }
    } finally {
      if (scope != null) {
        scope.end(gate);
      }
    }
    gate.open();
    if (closed) {
      throw new AsynchronousCloseException();
    }
    CancelScope.check(what);
    if (limited && until - System.nanoTime() <= 0) {
      throw new SocketTimeoutException("could not " + what + " in time");
    }
  }

  private static long forever() {
    return System.nanoTime() + Nanos.FOREVER;
  }

  private void checkOpen() throws ClosedChannelException {
    if (closed) {
      throw new ClosedChannelException();
    }
  }

  @Override
  void transmit(ByteBuffer from) throws IOException {
    checkOpen();
    if (!put(from)) {
      try (var _ = holdForWriter()) {
        do {
          awaitRoom();
        } while (!put(from));
      }
    }
  }

  @Override
  void sendNow(ByteBuffer from) throws IOException {
    checkOpen();
    var _ = put(from);
  }

  /** Puts what there is room for; says whether that was all. */
  private boolean put(ByteBuffer from) throws IOException {
    var _ = out.writable().pass();
    hasSent(out.put(from));
    if (from.hasRemaining() && out.cut()) {
      reset();
      throw new java.net.SocketException("could not write: connection reset by the peer");
    }
    return !from.hasRemaining();
  }

  private void awaitRoom() throws IOException {
    long until = System.nanoTime() + writeTimeoutNanos();
    waitsToSend();
    try {
      await(out.writable(), "write", writeLimited(), until);
    } catch (DeadlineException e) {
      close();
      throw e;
    } catch (SocketTimeoutException e) {
      close();
      throw new WriteTimeoutException(Duration.ofNanos(writeTimeoutNanos()));
    } catch (IOException e) {
      close();
      throw e;
    } finally {
      goesOnSending();
    }
  }

  @Override
  public void shutdownOutput() throws IOException {
    flush();
    checkOpen();
    out.end();
  }

  @Override
  public SocketAddress localAddress() {
    return UnixDomainSocketAddress.of("");
  }

  @Override
  public SocketAddress peerAddress() {
    return UnixDomainSocketAddress.of("");
  }

  @Override
  public void reset() {
    out.reset();
    close();
  }

  @Override
  void closeSocket() {
    if (!closed) {
      closed = true;
      fibers.forget(this);
      // As TCP does it where something was not read.
      if (in.close()) {
        out.reset();
      }
      out.end();
      out.writable().open();
    }
  }

  @Override
  public String toString() {
    return "connection in memory" + (closed ? " (closed)" : "");
  }
}
