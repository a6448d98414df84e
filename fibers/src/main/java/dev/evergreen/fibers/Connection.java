package dev.evergreen.fibers;

import dev.evergreen.fibers.BufferQueue.Need;
import dev.evergreen.fibers.SlowPeers.Direction;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.FileChannel;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import javax.net.ssl.SSLEngine;
import org.jspecify.annotations.Nullable;

/**
 * A connection to a peer, used by sequential code that blocks.
 *
 * <p>What is written is collected and leaves when it is {@linkplain #flush flushed}: at the latest
 * when the fiber that wrote it is about to wait for input of this connection or another one, or for
 * a new connection, or ends, so that the replies to all that one read brought leave together, or
 * when 64 KiB have come together. If it cannot be sent while its fiber waits elsewhere, the next
 * method that writes here or flushes tells why.
 *
 * <p>One fiber at a time may read, and one may write; they may be the same. Any may {@link #close}
 * it: whoever reads or writes at that time gets an {@link
 * java.nio.channels.AsynchronousCloseException}, and never touches another connection that got the
 * same descriptor. If a fiber is interrupted while it waits here, the connection is closed and it
 * gets a {@link java.nio.channels.ClosedByInterruptException}.
 *
 * <p>Every method that reads or writes throws an {@link IOException} when the peer has reset the
 * connection, and a {@link java.nio.channels.ClosedChannelException} when it is closed on this
 * side.
 */
public abstract sealed class Connection implements AutoCloseable, FibersBase.Closing
    permits OwnConnection, JdkConnection, MemoryConnection, TlsConnection {

  private Buffers.@Nullable Loan output;
  private @Nullable Thread writer;
  private @Nullable IOException failure;
  private volatile boolean closing;

  /** Of the thread that was here last. */
  private @Nullable Outputs outputs;

  // Of the reader, and of the writer, while somebody measures.
  private @Nullable Pace receiving;
  private @Nullable Pace sending;

  private @Nullable SlowPeers blockedWriters;

  /** Of the reader. */
  private final Counters.Counter received = new Counters.Counter();

  /** Of the writer. */
  private final Counters.Counter sent = new Counters.Counter();

  /** Of both: either's time will do. */
  private final Counters.Counter lastActivity = new Counters.Counter(System.nanoTime());

  private final long openedMillis = System.currentTimeMillis();

  private long readTimeoutNanos = Nanos.FOREVER;
  private long writeTimeoutNanos = Nanos.FOREVER;
  private boolean deadlineSet;
  private long deadline;

  Connection() {}

  abstract FibersBase fibers();

  /** The current thread's. */
  private Outputs outputs() {
    var known = outputs;
    if (known == null || known.owner != Thread.currentThread()) {
      known = fibers().outputs();
      outputs = known;
    }
    return known;
  }

  /**
   * Reads at least one byte; waits for it if need be, after it has flushed what this fiber wrote.
   *
   * @return how many bytes were read, or -1 when the peer will send no more
   * @throws java.net.SocketTimeoutException if the time for reading is over; the connection can be
   *     used further
   */
  public abstract int read(ByteBuffer into) throws IOException;

  /** Reads like {@link #read(ByteBuffer)} into the beginning of a segment. */
  public final int read(MemorySegment into) throws IOException {
    return read(into.asByteBuffer());
  }

  /**
   * Reads what is there, without waiting for the peer.
   *
   * @return how many bytes were read, 0 if there are none at present or if it is others' turn (then
   *     {@link #awaitInput} lets them run), or -1 when the peer will send no more
   */
  public abstract int tryRead(ByteBuffer into) throws IOException;

  /**
   * Waits until it is worth trying to read, after it has flushed what this fiber wrote. So a
   * connection at rest holds no buffer of its reader's. It may return although nothing is there,
   * and lets other fibers run before it returns if they wait.
   *
   * @throws java.net.SocketTimeoutException if the time for reading is over; also where something
   *     is there, as a peer that never stops sending would have no deadline otherwise
   */
  public final void awaitInput() throws IOException {
    if (deadlineSet && deadline - System.nanoTime() <= 0) {
      throw new SocketTimeoutException("could not read in time");
    }
    awaitSome();
  }

  /** As {@link #awaitInput}, where a deadline, if there is one, has not passed yet. */
  abstract void awaitSome() throws IOException;

  /** Sends all that is in a buffer of native memory, waiting as often as need be. */
  abstract void transmit(ByteBuffer from) throws IOException;

  /**
   * Takes all that is in a buffer of native memory, to send it while the calling fiber waits.
   *
   * @return whether it did; else it is still to be sent
   */
  boolean post(ByteBuffer from) {
    return false;
  }

  /** Appends all bytes of a buffer to the output. */
  public final void write(ByteBuffer from) throws IOException {
    while (from.hasRemaining()) {
      var into = reserve(1);
      int n = Math.min(into.remaining(), from.remaining());
      into.put(into.position(), from, from.position(), n).position(into.position() + n);
      from.position(from.position() + n);
    }
  }

  /** Appends bytes to the output. */
  public final void write(byte[] from) throws IOException {
    write(ByteBuffer.wrap(from));
  }

  /** Appends all bytes of a segment to the output. */
  public final void write(MemorySegment from) throws IOException {
    for (long done = 0; done < from.byteSize(); ) {
      long n = Math.min(Buffers.SIZE, from.byteSize() - done);
      write(from.asSlice(done, n).asByteBuffer());
      done += n;
    }
  }

  /**
   * Gives the output itself, to be written into directly: what is put there until the connection's
   * next method is called belongs to the output.
   *
   * @param bytes how much room is needed; what is there is flushed if there is less
   * @throws IllegalArgumentException if that is more than 64 KiB
   */
  public final ByteBuffer reserve(int bytes) throws IOException {
    if (bytes > Buffers.SIZE) {
      throw new IllegalArgumentException(
          "at most " + Buffers.SIZE + " bytes can be reserved, not " + bytes);
    }
    if (output != null && output.buffer().remaining() < bytes) {
      flush();
    }
    checkFailure();
    var present = output;
    if (present == null) {
      if (Buffers.areShort()) {
        // Else what was written elsewhere would keep buffers while this waits for one.
        outputs().flushOthers(this);
      }
      present = Buffers.lend(this, Need.WRITE);
      output = present;
    }
    // Only with output, as who flushes forgets the writer with it.
    var me = Thread.currentThread();
    if (writer != me) {
      writer = me;
      outputs().add(this);
    }
    return present.buffer();
  }

  private void checkFailure() throws IOException {
    if (failure != null) {
      throw failure;
    }
  }

  /**
   * Sends what was written. Blocks until the system has taken all of it.
   *
   * @throws WriteTimeoutException if the peer took nothing for longer than the {@linkplain
   *     #writeTimeout time for writing}; the connection is closed then
   */
  public final void flush() throws IOException {
    leave(false);
  }

  /**
   * Sends what was written before and all that is in some buffers, without copying what is in
   * native memory, by one system call if there is room for all: such as a header and a body that
   * are kept. Blocks until the system has taken all of it; the buffers may then be used for
   * something else.
   *
   * @throws WriteTimeoutException as {@link #flush} does
   */
  public final void writeAndFlush(ByteBuffer... from) throws IOException {
    checkFailure();
    for (var part : from) {
      if (!part.isDirect()) {
        write(from);
        flush();
        return;
      }
    }
    var present = output;
    if (present == null) {
      transmit(from);
      return;
    }
    var parts = new ByteBuffer[from.length + 1];
    parts[0] = present.buffer().flip();
    System.arraycopy(from, 0, parts, 1, from.length);
    try (present) {
      transmit(parts);
    } finally {
      output = null;
      writer = null;
      outputs().remove(this);
    }
  }

  /**
   * Sends as much of a buffer of native memory as there is room for now, without waiting and
   * without collecting it: for whoever serves many peers and waits for none of them. Nothing is
   * sent while collected output is still to leave, nor ever where it cannot be told beforehand
   * whether a write would wait: over TLS, and in mode JDK.
   *
   * @return how many bytes were sent, those that the buffer's position has gone on
   * @throws IllegalArgumentException if the buffer is one of the heap
   */
  public final int trySend(ByteBuffer from) throws IOException {
    if (!from.isDirect()) {
      throw new IllegalArgumentException("only a buffer of native memory can be sent at once");
    }
    checkFailure();
    if (output != null) {
      return 0;
    }
    int before = from.position();
    sendNow(from);
    return from.position() - before;
  }

  /** Sends as much as there is room for now; nothing where that is not known. */
  abstract void sendNow(ByteBuffer from) throws IOException;

  private void write(ByteBuffer[] from) throws IOException {
    for (var part : from) {
      write(part);
    }
  }

  /** Sends all that is in some buffers of native memory, waiting as often as need be. */
  void transmit(ByteBuffer[] from) throws IOException {
    for (var part : from) {
      transmit(part);
    }
  }

  /**
   * Appends a part of a file to the output. Reading it blocks the processor for as long as the
   * system takes; what is in its cache comes at once.
   *
   * @param position where it begins, in bytes
   * @param count how many bytes it has
   * @throws java.io.EOFException if the file ends before; what there is has been written
   */
  public final void write(FileChannel file, long position, long count) throws IOException {
    append(file::read, position, count);
  }

  /** Reads what is at a position into a buffer, or answers -1 at the end. */
  private interface Source {
    int read(ByteBuffer into, long position) throws IOException;
  }

  private void append(Source file, long position, long count) throws IOException {
    for (long done = 0; done < count; ) {
      var into = reserve(1);
      int room = (int) Math.min(into.remaining(), count - done);
      int end = into.limit();
      int n = file.read(into.limit(into.position() + room), position + done);
      into.limit(end);
      if (n < 0) {
        throw endsAt(position + done, position + count);
      }
      done += n;
    }
  }

  static EOFException endsAt(long position, long wanted) {
    return new EOFException("the file ends at " + position + " or before, not at " + wanted);
  }

  /**
   * Sends what was written before and then a part of a file. Blocks until the system has taken all
   * of it. Where it can, which is over sockets without TLS in mode PROCESSORS, the system sends
   * from its own cache of the file, and no byte is copied here; elsewhere this is as if the part
   * was written and flushed.
   *
   * <p>What the system does not have in its cache blocks the processor until it has been read.
   * While others wait, they run in between, however fast the peer is. Bytes of the file that are
   * changed or cut off meanwhile may reach the peer in either form.
   *
   * @param position where it begins, in bytes
   * @param count how many bytes it has
   * @throws java.io.EOFException if the file ends before; what there is has been sent
   * @throws WriteTimeoutException as {@link #flush} does
   */
  public final void transferFrom(OpenFile file, long position, long count) throws IOException {
    if (position < 0 || count < 0) {
      throw new IllegalArgumentException(
          "position and count must not be negative, but are " + position + " and " + count);
    }
    file.enter();
    try {
      transfer(file, position, count);
    } finally {
      file.leave();
    }
  }

  /** Sends what was written before and a part of a file that the caller has entered. */
  void transfer(OpenFile file, long position, long count) throws IOException {
    try {
      append(file::read, position, count);
    } catch (EOFException e) {
      flush();
      throw e;
    }
    flush();
  }

  private void leave(boolean withOthers) throws IOException {
    checkFailure();
    var present = output;
    if (present != null) {
      try (present) {
        var out = present.buffer().flip();
        if (!withOthers || !post(out)) {
          transmit(out);
        }
      } finally {
        output = null;
        writer = null;
        outputs().remove(this);
      }
    }
  }

  /**
   * {@linkplain #flush Flushes} what the calling fiber itself wrote: for a reader, as another one
   * may be writing. What that wrote is its own to flush.
   *
   * @throws WriteTimeoutException as {@link #flush} does
   */
  public final void flushOwn() throws IOException {
    if (writer == Thread.currentThread()) {
      leave(false);
    }
  }

  /** Flushes all that the calling fiber wrote here and elsewhere, as it is about to wait here. */
  final void flushBeforeWaiting() throws IOException {
    outputs().flushOthers(this);
    flushOwn();
  }

  /** Like {@link #flushBeforeWaiting}; what it wrote here may leave while it waits. */
  final void postBeforeWaiting() throws IOException {
    outputs().flushOthers(this);
    if (writer == Thread.currentThread()) {
      leave(true);
    }
  }

  /**
   * Flushes what a fiber wrote that is about to wait elsewhere, where errors are not of interest.
   */
  final void flushFor(Thread waiting) {
    if (writer == waiting) {
      try {
        leave(false);
      } catch (IOException e) {
        failure = e;
      }
    }
  }

  /** Flushes, and tells the peer that no more will come. It can still be read. */
  public abstract void shutdownOutput() throws IOException;

  /** This side's address. */
  public abstract SocketAddress localAddress() throws IOException;

  /** The other side's address; without a path if that is a UNIX socket without one. */
  public abstract SocketAddress peerAddress() throws IOException;

  /** From now on each wait for input lasts at most so long; for ever by default. */
  public final void readTimeout(Duration timeout) {
    readTimeoutNanos = Nanos.of(timeout);
  }

  /** From now on all waits for input together end after so long, until this is called again. */
  public final void readDeadline(Duration fromNow) {
    deadlineSet = fromNow.compareTo(Duration.ofNanos(Nanos.FOREVER)) < 0;
    deadline = System.nanoTime() + Nanos.of(fromNow);
  }

  /** From now on a peer that takes nothing for so long is given up; for ever by default. */
  public final void writeTimeout(Duration timeout) {
    writeTimeoutNanos = Nanos.of(timeout);
  }

  /**
   * From now on this connection counts among those peers while its writer waits for its peer to
   * take output: then a buffer is kept for it.
   */
  public final void whileWriterWaits(SlowPeers peers) {
    wire().blockedWriters = peers;
  }

  final SlowPeers.Hold holdForWriter() {
    var theirs = blockedWriters == null ? null : blockedWriters.hold(this, Direction.SENDING);
    try {
      return Buffers.BLOCKED_WRITERS.hold(this, Direction.SENDING).with(theirs);
    } catch (Throwable e) {
      SlowPeers.end(theirs);
      throw e;
    }
  }

  /** The connection whose bytes go over the wire. */
  Connection wire() {
    return this;
  }

  final Pace measure(Direction direction) {
    var present = pace(direction);
    var pace = present != null ? present : new Pace();
    pace.holders++;
    keep(direction, pace);
    return pace;
  }

  final void endMeasure(Direction direction) {
    var pace = pace(direction);
    if (pace != null && --pace.holders == 0) {
      keep(direction, null);
    }
  }

  private @Nullable Pace pace(Direction direction) {
    return direction == Direction.RECEIVING ? receiving : sending;
  }

  private void keep(Direction direction, @Nullable Pace pace) {
    if (direction == Direction.RECEIVING) {
      receiving = pace;
    } else {
      sending = pace;
    }
  }

  /** Of the reader: the peer is waited for from now on. */
  final void waitsToReceive() {
    if (receiving != null) {
      receiving.waits();
    }
  }

  final void hasReceived(int bytes) {
    if (bytes > 0) {
      received.add(bytes);
      lastActivity.set(fibers().now());
    }
    if (receiving != null) {
      receiving.moved(Math.max(0, bytes));
    }
  }

  final void goesOnReceiving() {
    if (receiving != null) {
      receiving.goesOn();
    }
  }

  /** Of the writer: the peer is waited for from now on. */
  final void waitsToSend() {
    if (sending != null) {
      sending.waits();
    }
  }

  final void hasSent(int bytes) {
    sent.add(bytes);
    lastActivity.set(fibers().now());
    if (sending != null) {
      sending.moved(bytes);
    }
  }

  final void goesOnSending() {
    if (sending != null) {
      sending.goesOn();
    }
  }

  final boolean readLimited() {
    return deadlineSet || readTimeoutNanos != Nanos.FOREVER;
  }

  /** Until when a wait for input that begins now may last. */
  final long readLimit() {
    long byTimeout = System.nanoTime() + readTimeoutNanos;
    return deadlineSet && deadline - byTimeout < 0 ? deadline : byTimeout;
  }

  final boolean writeLimited() {
    return writeTimeoutNanos != Nanos.FOREVER;
  }

  final long writeTimeoutNanos() {
    return writeTimeoutNanos;
  }

  /**
   * Puts TLS over this connection: shakes hands, and answers a connection that encrypts what goes
   * through it. Only that one is to be used from then on, with time limits of its own; to close it
   * closes this one. Blocks until both sides agree.
   *
   * <p>It keeps no buffers at rest, but for the part of a record that may have come. The end of its
   * input is told only if the peer has announced it ({@code close_notify}); else reading throws an
   * {@link javax.net.ssl.SSLException}, as something may have been cut off. {@link #close} alone
   * announces nothing, {@link #shutdownOutput} does. TLS 1.2 has no half-closed connections: when
   * its peer has ended it, nothing more can be written. If the sides do not agree this connection
   * is closed.
   *
   * @param engine this connection's own, in the mode of a client or a server, for TLS 1.2 or later;
   *     {@code ClientTls} and {@code ServerTls} of {@code dev.evergreen.tls} make them of PEM files
   * @param limit how long it may take to shake hands
   * @throws javax.net.ssl.SSLException if the sides do not agree, or the peer speaks no TLS; it is
   *     told why
   * @throws java.net.SocketTimeoutException if it takes longer
   */
  public final Connection overTls(SSLEngine engine, Duration limit) throws IOException {
    flush();
    var secured = new TlsConnection(this, engine);
    try {
      secured.shakeHands(limit);
      return secured;
    } catch (IOException | RuntimeException e) {
      close();
      throw e;
    }
  }

  /**
   * Has something run as soon as it is known that the peer will send no more, or is gone, also
   * while nobody reads; at once if that is known already. It may run more than once, by any thread,
   * and must not block; what it throws goes to the thread's handler of uncaught exceptions. Only
   * the last one that was given counts. Only sockets in mode PROCESSORS tell it.
   *
   * @param told what is run, or null for nothing any more
   */
  public void whenPeerEnds(@Nullable Runnable told) throws IOException {}

  /** What has gone over the wire so far, records of TLS as they are. Any thread may ask. */
  public ConnectionReport report() {
    long idle = System.nanoTime() - lastActivity.value();
    return new ConnectionReport(
        Instant.ofEpochMilli(openedMillis),
        Duration.ofNanos(Math.max(0, idle)),
        received.value(),
        sent.value());
  }

  /** What was agreed on with the peer, if this is a connection {@linkplain #overTls with TLS}. */
  public Optional<TlsSession> tlsSession() {
    return Optional.empty();
  }

  /** Closes it like {@link #close}, such that the peer gets an error instead of the end. */
  public abstract void reset();

  /** Closes it, whoever uses it; output that was not flushed is dropped. Does not block. */
  @Override
  public final void close() {
    closing = true;
    closeSocket();
    Buffers.closed(wire());
    var dropped = output;
    // Another fiber may be writing into it, and gives it back when it finds that this is closed.
    if (dropped != null && writer == Thread.currentThread()) {
      output = null;
      writer = null;
      dropped.close();
      outputs().remove(this);
    }
  }

  /** Of the wire. */
  final void checkNotClosed() throws AsynchronousCloseException {
    if (closing) {
      throw new AsynchronousCloseException();
    }
  }

  /** Closes what is below; may be called often. */
  abstract void closeSocket();
}
