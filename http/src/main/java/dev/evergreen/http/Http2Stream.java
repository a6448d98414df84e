package dev.evergreen.http;

import dev.evergreen.fibers.DeadlineException;
import dev.evergreen.fibers.Signal;
import dev.evergreen.http.Http2Exception.Code;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import org.jspecify.annotations.Nullable;

/**
 * A stream of HTTP/2: a request and its response, on either side. What its fibers share with the
 * connection is guarded by the connection's lock; a fiber that waits does so without it, at a
 * signal of its own, and looks again.
 */
abstract class Http2Stream implements BodyReader, BodyWriter {
  /** How many bytes of a body that nobody reads the peer may send. */
  static final int WINDOW = 65_535;

  private static final int MOST_DATA = 16 << 10;

  /** Who opens its window by less than this at a time gets nothing for it. */
  private static final int WORTHWHILE = 1 << 10;

  final Http2Connection session;

  // Guarded by the session's lock.
  private int id;
  private final Unread received = new Unread();
  private long receivedInAll;
  private int receiveWindow = WINDOW;
  private int consumed;
  private boolean peerEnded;
  private long sendWindow;
  private boolean ended;
  private @Nullable IOException failure;
  private @Nullable IOException unwanted;
  private Fields trailers = Fields.NONE;

  /** Of the body that comes; -1 if it is not known. */
  private long length;

  private final Signal readable;
  private final Signal writable;

  // Of the fiber that sends.
  private boolean withoutBody;
  private boolean alone;
  private long left;

  /** Since when there is no room for its body. */
  private long blockedSince;

  Http2Stream(Http2Connection session) {
    this.session = session;
    readable = new Signal(session.fibers);
    writable = new Signal(session.fibers);
  }

  /** Under the lock: it begins. */
  final void open(int number, long window) {
    id = number;
    sendWindow = window;
  }

  final int id() {
    return id;
  }

  /**
   * Under the lock: a body of a length is to come.
   *
   * @param told -1 if it is not known
   * @param end whether there is none
   */
  final void expect(long told, boolean end) {
    length = end ? 0 : told;
    peerEnded = end;
  }

  /**
   * A body of a length is to be sent, or none.
   *
   * @param all whether no trailers can follow, so that the last byte is the end
   */
  final void begin(long bytes, boolean without, boolean all) {
    left = bytes;
    withoutBody = without;
    alone = all;
  }

  /** Under the lock: all is sent. */
  final void hasEnded() {
    ended = true;
    session.ended(this);
  }

  /** Under the lock: the peer takes no more, but what has come from it counts. */
  final void stopSending(IOException why) {
    unwanted = why;
    ended = true;
    wake();
  }

  /** Under the lock: why it is broken, or null. */
  final @Nullable IOException failure() {
    return failure;
  }

  final boolean isEnded() {
    return ended;
  }

  final boolean isWithoutBody() {
    return withoutBody;
  }

  /** Under the lock: the reader is about to wait, as nothing is there. */
  void beforeWaiting() throws IOException {}

  // What the session does, under its lock.

  /** A part of the body has come. */
  void receive(ByteBuffer data, int flowed, boolean end) throws IOException {
    receiveWindow -= flowed;
    if (receiveWindow < 0) {
      throw Http2Exception.ofStream(id, Code.FLOW_CONTROL_ERROR, "more than the window");
    }
    if (peerEnded) {
      throw Http2Exception.ofStream(id, Code.STREAM_CLOSED, "data behind the end");
    }
    long inAll = receivedInAll + data.remaining();
    if (length >= 0 && (end ? inAll != length : inAll > length)) {
      throw Http2Exception.ofStream(id, Code.PROTOCOL_ERROR, "the body has not the length it told");
    }
    receivedInAll = inAll;
    int padding = flowed - data.remaining();
    if (data.hasRemaining()) {
      session.carried(data.remaining());
      received.add(data);
    }
    if (end) {
      peerEnded = true;
    }
    hasConsumed(padding);
    readable.raise();
  }

  /** Trailers have come, and with them the end. */
  void receiveTrailers(Fields fields) throws IOException {
    trailers = fields;
    receive(ByteBuffer.allocate(0), 0, true);
  }

  boolean peerEnded() {
    return peerEnded;
  }

  /** Under the lock: what the peer may send until it knows that the stream is reset now. */
  final OnItsWay onItsWay() {
    return peerEnded ? OnItsWay.nothing() : new OnItsWay(Math.max(0, receiveWindow));
  }

  boolean isOver() {
    return ended && peerEnded;
  }

  /** The peer, or the connection's end, has ended the stream. */
  void fail(IOException why) {
    if (failure == null) {
      failure = why;
    }
    peerEnded = true;
    ended = true;
    wake();
  }

  void wake() {
    readable.raise();
    writable.raise();
  }

  final void wakeWriter() {
    writable.raise();
  }

  /** The peer takes more, or less; false if that is more than can be. */
  boolean addWindow(long more) {
    sendWindow += more;
    writable.raise();
    return sendWindow <= Integer.MAX_VALUE;
  }

  private void hasConsumed(int bytes) throws IOException {
    session.consumed(bytes);
    consumed += bytes;
    if (consumed >= WINDOW / 2 && !peerEnded) {
      session.out.frame(Http2Output.WINDOW_UPDATE, id, consumed);
      receiveWindow += consumed;
      consumed = 0;
    }
  }

  /** Nobody reads what has come. */
  final void dropReceived() {
    int bytes = received.bytes();
    received.clear();
    try {
      session.consumed(bytes);
    } catch (IOException e) {
      session.connection.close(); // Else the peer might wait for its window until others have read.
    }
  }

  // The body that comes.

  @Override
  public final long length() {
    return length;
  }

  @Override
  public boolean ended() {
    session.lock();
    try {
      return received.isEmpty() && peerEnded && failure == null;
    } finally {
      session.unlock();
    }
  }

  @Override
  public int tryRead(ByteBuffer into) throws IOException {
    session.lock();
    try {
      int read = received.read(into);
      if (read > 0) {
        hasConsumed(read);
        return read;
      }
      if (failure != null) {
        throw broken(failure);
      }
      return peerEnded && received.isEmpty() ? -1 : 0;
    } finally {
      session.unlock();
    }
  }

  private static IOException broken(IOException why) {
    return (IOException) new IncompleteMessageException("the stream is broken").initCause(why);
  }

  @Override
  public final void await() throws IOException {
    boolean nothing;
    session.lock();
    try {
      nothing = received.isEmpty() && !peerEnded;
      if (nothing) {
        beforeWaiting();
      }
    } finally {
      session.unlock();
    }
    if (nothing) {
      awaitReadable();
    }
  }

  final void awaitReadable() throws IOException {
    readable.await(session.settings.read());
  }

  final void wakeReader() {
    readable.raise();
  }

  @Override
  public final Fields trailers() {
    return trailers;
  }

  final void checkSending() throws IOException {
    if (failure != null || unwanted != null) {
      throw new IOException("the stream is broken", failure == null ? unwanted : failure);
    }
    if (ended) {
      throw new IllegalStateException("the message has ended");
    }
    session.out.check();
  }

  final void awaitRoom() throws IOException {
    while (session.awaitsRoom(this)) {
      try {
        writable.await(session.settings.write());
      } catch (SocketTimeoutException e) {
        reset(Code.CANCEL);
        throw e;
      }
    }
  }

  // The body that is sent.

  @Override
  public void write(ByteBuffer from) throws IOException {
    tryWrite(from);
    if (from.hasRemaining()) {
      writeInTurn(from);
    }
  }

  @Override
  public void tryWrite(ByteBuffer from) throws IOException {
    if (withoutBody) {
      from.position(from.limit());
    }
    if (left >= 0 && from.remaining() > left) {
      abort();
      throw new IllegalStateException("the body is longer than the head told");
    }
    session.lock();
    try {
      append(from);
    } finally {
      session.unlock();
    }
  }

  /** Sends all of it, a frame whenever it is its turn. */
  private void writeInTurn(ByteBuffer from) throws IOException {
    writable.flushBeforeWaiting(); // Others need not wait for that in its turn.
    blockedSince = System.nanoTime();
    try {
      while (!appendOrQueue(from)) {
        awaitTurn();
      }
    } finally {
      session.lock();
      try {
        session.leaveTurns(this);
      } finally {
        session.unlock();
      }
    }
  }

  /** Appends what there is room for. If that is not all, it waits for its turn from now on. */
  private boolean appendOrQueue(ByteBuffer from) throws IOException {
    session.lock();
    try {
      int before = from.remaining();
      append(from); // Throws if the stream is over: such a one never waits for its turn.
      if (!from.hasRemaining()) {
        return true;
      }
      if (from.remaining() < before) {
        blockedSince = System.nanoTime();
      }
      if (sendWindow > 0) {
        // It is not blocked as long as others go on.
        blockedSince += Math.max(0, session.lastSent() - blockedSince);
        session.awaitTurn(this);
      } else {
        session.leaveTurns(this);
      }
      return false;
    } finally {
      session.unlock();
    }
  }

  /** Waits until there may be room, but only as long as the peer may leave none. */
  private void awaitTurn() throws IOException {
    var limit = session.settings.write().minusNanos(System.nanoTime() - blockedSince);
    try {
      if (!limit.isPositive()) {
        throw new SocketTimeoutException("the peer has opened no window in time");
      }
      writable.await(limit);
    } catch (SocketTimeoutException e) {
      if (limit.isPositive() && !(e instanceof DeadlineException)) {
        return; // Others may have gone on.
      }
      reset(Code.CANCEL);
      throw e;
    }
  }

  /** Under the lock: appends frames as long as there is room. */
  private void append(ByteBuffer from) throws IOException {
    int n = 1;
    while (from.hasRemaining() && n > 0) {
      checkSending();
      int wanted = Math.min(from.remaining(), MOST_DATA);
      n = (int) Math.min(wanted, session.room(this, sendWindow));
      if (n > 0) {
        appendFrame(from, n, wanted);
      }
    }
  }

  private void appendFrame(ByteBuffer from, int n, int wanted) throws IOException {
    boolean last = alone && left == n;
    if (n == wanted || n >= WORTHWHILE) {
      session.carried(n);
    }
    session.out.data(id, from, n, last);
    sendWindow -= n;
    left -= left >= 0 ? n : 0;
    session.sent(this, n);
    if (last) {
      hasEnded();
    }
  }

  @Override
  public void write(FileChannel file, long position, long count) throws IOException {
    try (var loan = dev.evergreen.fibers.Buffers.borrow()) {
      for (long done = 0; done < count; ) {
        var buffer = loan.buffer().clear();
        buffer.limit((int) Math.min(buffer.capacity(), count - done));
        int n = file.read(buffer, position + done);
        if (n < 0) {
          throw new java.io.EOFException("the file ends at " + (position + done));
        }
        write(buffer.flip());
        done += n;
      }
    }
  }

  /** What was written leaves by itself. */
  @Override
  public void flush() {}

  /** Under the lock: a body that was all sent is whole, though nobody has told its end. */
  final void endIfSent() throws IOException {
    if (!ended && left == 0 && session.out.isOpen()) {
      session.out.data(id, ByteBuffer.allocate(0), 0, true);
      hasEnded();
    }
  }

  @Override
  public void end(Fields added) throws IOException {
    session.lock();
    try {
      if (ended) {
        return;
      }
      if (left > 0) {
        session.reset(this, Code.INTERNAL_ERROR);
        throw new IllegalStateException("the body is shorter than the head told, by " + left);
      }
      checkSending();
      var headers = Http2Heads.trailers(added);
      if (Http2Heads.isEmpty(headers)) {
        session.out.data(id, ByteBuffer.allocate(0), 0, true);
      } else {
        session.out.headers(id, headers, true);
      }
      hasEnded();
    } finally {
      session.unlock();
    }
  }

  @Override
  public void abort() {
    reset(Code.INTERNAL_ERROR);
  }

  final void reset(Code code) {
    session.lock();
    try {
      if (!ended) {
        session.reset(this, code);
      }
    } finally {
      session.unlock();
    }
  }
}
