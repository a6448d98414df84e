package dev.evergreen.fibers;

import dev.evergreen.fibers.BufferQueue.Need;
import dev.evergreen.kernel.Errno;
import dev.evergreen.kernel.FileCalls;
import dev.evergreen.kernel.SocketCalls;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A connection by system calls of ours.
 *
 * <p>A read that brings less than was asked for has {@code drained} the socket: the next one need
 * not be tried before an event has come, unless an event said that the end or something urgent may
 * follow without one ({@link Descriptor#expectMore}). So a request costs one receive, one send, and
 * its share of a poll.
 */
final class OwnConnection extends Connection {

  /** So many bytes are sent without a wait before others run. */
  static final long WRITER_TURN = 128 << 10;

  private final ProcessorFibers fibers;
  private final Descriptor descriptor;
  private final Processor home;

  /** Of the reader. */
  private boolean drained;

  private boolean ended;
  private boolean readBefore;
  private @Nullable TimeLimit readLimit;

  /** Of the writer. */
  private @Nullable TimeLimit writeLimit;

  private int sendFlags;
  private long sentInARow;

  /** Where what the reader wrote waits to leave, while the reader waits. */
  private volatile @Nullable Outbox postedAt;

  private OwnConnection(ProcessorFibers fibers, Descriptor descriptor, Processor home) {
    this.fibers = fibers;
    this.descriptor = descriptor;
    this.home = home;
  }

  /** The connection of a socket, which is closed if that fails: its peer would wait for ever. */
  static OwnConnection opened(ProcessorFibers fibers, Descriptor descriptor, Processor home) {
    try {
      return fibers.opened(new OwnConnection(fibers, descriptor, home));
    } catch (RuntimeException | Error e) {
      descriptor.close();
      throw e;
    }
  }

  static Connection connect(
      ProcessorFibers fibers,
      SocketAddress address,
      @Nullable Duration limit,
      SocketOptions options)
      throws IOException {
    var descriptor = OwnSockets.open(fibers.descriptors(), address, options);
    var connection = opened(fibers, descriptor, fibers.here());
    try {
      connection.connect(address, limit);
      return connection;
    } catch (IOException | RuntimeException | Error e) {
      connection.close();
      throw e;
    }
  }

  private void connect(SocketAddress address, @Nullable Duration limit) throws IOException {
    long until = System.nanoTime() + (limit == null ? Nanos.FOREVER : Nanos.of(limit));
    var what = "connect to " + address;
    descriptor.enter();
    try {
      int result = OwnSockets.connect(descriptor, address);
      while (result == -Errno.EAGAIN) {
        // Only a UNIX socket says so: too many wait to be accepted, and no event will tell.
        CancelScope.check(what);
        checkTime(until, what);
        pause();
        result = OwnSockets.connect(descriptor, address);
      }
      if (result == -Errno.EINPROGRESS) {
        while (!connected(what)) {
          CancelScope.check(what);
          checkTime(until, what);
          await(descriptor.writable(), limit != null, until);
        }
      } else {
        Errno.check(result, what);
      }
    } finally {
      descriptor.leave();
    }
  }

  private boolean connected(String what) throws IOException {
    int error = SocketCalls.takeError(Carrier.currentScratch(), descriptor.number());
    if (error != 0) {
      throw Errno.of(error, what);
    }
    return SocketCalls.peerName(Carrier.currentScratch(), descriptor.number()) >= 0;
  }

  private void pause() throws IOException {
    try {
      fibers.sleep(Duration.ofMillis(1));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      close();
      throw new ClosedByInterruptException();
    }
  }

  private static void checkTime(long until, String what) throws SocketTimeoutException {
    if (until - System.nanoTime() <= 0) {
      throw new SocketTimeoutException("could not " + what + " in time");
    }
  }

  @Override
  FibersBase fibers() {
    return fibers;
  }

  /** Where the fiber that serves this connection is to start. */
  Processor home() {
    return home;
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    if (!into.hasRemaining()) {
      return 0;
    }
    descriptor.enter();
    try {
      letOthersRun();
      readBefore = false;
      int n = receive(into);
      if (n == 0) {
        boolean limited = readLimited();
        long until = limited ? readLimit() : 0;
        do {
          awaitReadable(until, limited);
          n = receive(into);
        } while (n == 0);
      }
      if (n < 0) {
        flushOwn();
      }
      return n;
    } finally {
      descriptor.leave();
    }
  }

  @Override
  public int tryRead(ByteBuffer into) throws IOException {
    descriptor.enter();
    try {
      // Whoever tries may hold a buffer, which must be given back before others run.
      int n = turnIsOver() || !into.hasRemaining() ? 0 : receive(into);
      if (n < 0) {
        flushOwn();
      }
      return n;
    } finally {
      descriptor.leave();
    }
  }

  @Override
  void awaitSome() throws IOException {
    descriptor.enter();
    try {
      if (drained) {
        boolean limited = readLimited();
        long until = limited ? readLimit() : 0;
        awaitReadable(until, limited);
        CancelScope.check("read");
        if (limited) {
          checkTime(until, "read");
        }
      } else {
        letOthersRun();
        readBefore = false;
      }
    } finally {
      descriptor.leave();
    }
  }

  /**
   * Says whether others wait while this reader could read on. One whose peer sends faster than it
   * reads never waits, and must not keep them waiting.
   */
  private boolean turnIsOver() {
    if (readBefore && !drained && !ended) {
      var processor = Processor.current();
      return processor != null && processor.othersWait();
    }
    return false;
  }

  private void letOthersRun() throws IOException {
    if (turnIsOver()) {
      flushOwn();
      Fibers.letOthersRun();
    }
  }

  /** Waits for an event, if the last read has left nothing. */
  private void awaitReadable(long until, boolean limited) throws IOException {
    settle();
    postBeforeWaiting();
    waitsToReceive();
    try {
      awaitEvent(until, limited);
    } catch (IOException | RuntimeException e) {
      // What found no room stays for later, if there is one.
      leaveOutbox();
      throw e;
    } finally {
      goesOnReceiving();
    }
    // Also if the wait was cancelled: the gate may have been opened by an event as well.
    drained = false;
    settle();
    readBefore = false;
  }

  private void awaitEvent(long until, boolean limited) throws IOException {
    CancelScope.check("read");
    if (limited) {
      checkTime(until, "read");
    }
    await(descriptor.readable(), limited, until);
  }

  /** Waits for an event, but not beyond a limit or for longer than the caller's scopes allow. */
  private void await(Gate gate, boolean limited, long until) throws IOException {
    var scope = CancelScope.current();
    if (scope == null) {
      awaitInTime(gate, limited, until);
      return;
    }
    boolean sooner = scope.limited() && (!limited || scope.until() - until < 0);
    scope.begin(gate);
    try {
      awaitInTime(gate, limited || sooner, sooner ? scope.until() : until);
    } finally {
      scope.end(gate);
    }
  }

  private void awaitInTime(Gate gate, boolean limited, long until) throws IOException {
    if (!limited) {
      descriptor.await(gate, poller());
      return;
    }
    var limit = timeLimit(gate);
    limit.begin(until, fibers.here());
    try {
      descriptor.await(gate, poller());
    } finally {
      limit.end();
    }
  }

  private TimeLimit timeLimit(Gate gate) {
    boolean reading = gate == descriptor.readable();
    var present = reading ? readLimit : writeLimit;
    if (present != null) {
      return present;
    }
    var made = new TimeLimit(gate);
    if (reading) {
      readLimit = made;
    } else {
      writeLimit = made;
    }
    return made;
  }

  private Poller poller() {
    var current = ofOurs();
    return current != null ? current.poller() : home.poller();
  }

  /** The caller's processor, if it is one of this runtime's. */
  private @Nullable Processor ofOurs() {
    var current = Processor.current();
    return current != null && current.scheduler() == home.scheduler() ? current : null;
  }

  /** Receives into the buffer once; 0 if there is nothing now. */
  private int receive(ByteBuffer into) throws IOException {
    descriptor.checkOpen();
    if (ended) {
      return -1;
    }
    if (drained && !descriptor.readable().pass()) {
      return 0;
    }
    if (into.isDirect()) {
      int n = receive(MemorySegment.ofBuffer(into));
      into.position(into.position() + Math.max(0, n));
      return n;
    }
    try (var loan = Buffers.lend(this, Need.END)) {
      var direct = loan.buffer().limit(Math.min(Buffers.SIZE, into.remaining()));
      int n = receive(MemorySegment.ofBuffer(direct));
      into.put(direct.limit(Math.max(0, n)));
      return n;
    }
  }

  private int receive(MemorySegment into) throws IOException {
    // What has come until now will be read; an event from now on is another matter.
    var _ = descriptor.readable().pass();
    int n;
    do {
      n = SocketCalls.receive(Carrier.currentScratch(), descriptor.number(), into, 0);
    } while (n == -Errno.EINTR);
    if (n == -Errno.EAGAIN) {
      drained = true;
      return 0;
    }
    if (n < 0) {
      descriptor.checkOpen();
      throw Errno.of(n, "read");
    }
    if (n == 0) {
      // Also after our own close, which shuts the socket down first.
      descriptor.checkOpen();
      ended = true;
      return -1;
    }
    drained = n < into.byteSize() && !descriptor.moreExpected();
    readBefore = true;
    hasReceived(n);
    return n;
  }

  @Override
  boolean post(ByteBuffer from) {
    var current = ofOurs();
    int size = from.remaining();
    if (current == null || !current.outbox().post(this, from)) {
      return false;
    }
    current.counters().posts.add();
    hasSent(size);
    return true;
  }

  /** Of the outbox: it has taken something, and its reader is inside an operation until settled. */
  void posted(Outbox at) {
    postedAt = at;
  }

  /** Of the outbox. */
  int number() {
    return descriptor.number();
  }

  /**
   * Of the outbox: the system has taken all but so many bytes there. The descriptor keeps those, as
   * the reader may learn first that the connection was closed.
   */
  void left(MemorySegment letters, long at, int rest) {
    boolean kept = rest == 0 || keeps(letters, at, rest);
    postedAt = null;
    if (!kept) {
      // Its peer must not get what comes behind.
      close();
    } else if (rest > 0) {
      // The reader sends it, or learns what is wrong.
      descriptor.readable().open();
    }
  }

  /**
   * Says whether there is memory for it: the processor that sends for others must not end by it.
   */
  private boolean keeps(MemorySegment letters, long at, int rest) {
    try {
      var bytes = letters.asSlice(at, rest).asByteBuffer();
      var kept = Buffers.lendAnyway();
      kept.buffer().put(bytes).flip();
      descriptor.keep(kept);
      return true;
    } catch (OutOfMemoryError e) {
      return false;
    }
  }

  /** Returns when what was posted has left; all else that is written comes after it. */
  private void settle() throws IOException {
    leaveOutbox();
    if (descriptor.kept() != null) {
      sendUnsent();
    }
  }

  private void leaveOutbox() {
    var outbox = postedAt;
    if (outbox != null) {
      outbox.settle();
    }
  }

  private synchronized void sendUnsent() throws IOException {
    var rest = descriptor.kept();
    if (rest != null) {
      try (rest) {
        // It was counted when it was posted.
        hasSent(-rest.buffer().remaining());
        send(rest.buffer());
      } finally {
        descriptor.keep(null);
      }
    }
  }

  @Override
  void transmit(ByteBuffer from) throws IOException {
    descriptor.enter();
    try {
      settle();
      send(from);
    } finally {
      descriptor.leave();
    }
  }

  @Override
  void sendNow(ByteBuffer from) throws IOException {
    descriptor.enter();
    try {
      leaveOutbox();
      if (descriptor.kept() == null) {
        var _ = sendWhatHasRoom(from);
      }
    } finally {
      descriptor.leave();
    }
  }

  @Override
  void transmit(ByteBuffer[] from) throws IOException {
    descriptor.enter();
    try {
      settle();
      if (from.length == 1) {
        send(from[0]);
      } else if (!sendWhatHasRoom(from)) {
        sendRest(() -> sendWhatHasRoom(from));
      }
    } finally {
      descriptor.leave();
    }
  }

  /**
   * Sends as long as there is room, as many parts by one call as it takes; says whether all has
   * left.
   */
  private boolean sendWhatHasRoom(ByteBuffer[] from) throws IOException {
    int first = firstLeft(from, 0);
    while (first < from.length) {
      takeTurns();
      var _ = descriptor.writable().pass();
      int fd = descriptor.number();
      int n = SocketCalls.sendGathered(Carrier.currentScratch(), fd, from, first);
      if (n >= 0) {
        hasTaken(n);
        take(from, first, n);
        first = firstLeft(from, first);
      } else if (n == -Errno.EAGAIN) {
        return false;
      } else {
        checkSend(n);
      }
    }
    return true;
  }

  /** The first part from one on of which something is left. */
  private static int firstLeft(ByteBuffer[] parts, int from) {
    int first = from;
    while (first < parts.length && !parts[first].hasRemaining()) {
      first++;
    }
    return first;
  }

  private static void take(ByteBuffer[] from, int first, int bytes) {
    int left = bytes;
    for (int i = first; left > 0; i++) {
      int taken = Math.min(left, from[i].remaining());
      from[i].position(from[i].position() + taken);
      left -= taken;
    }
  }

  @Override
  void transfer(OpenFile file, long position, long count) throws IOException {
    if (file.number() < 0) {
      super.transfer(file, position, count);
      return;
    }
    // The peer is to get one packet, not first one with what precedes the file.
    sendFlags = count > 0 ? SocketCalls.MSG_MORE : 0;
    try {
      flush();
    } finally {
      sendFlags = 0;
    }
    descriptor.enter();
    try {
      settle();
      sendFile(file, position, count);
    } finally {
      descriptor.leave();
    }
  }

  private void sendFile(OpenFile file, long position, long count) throws IOException {
    var part = new FilePart(file, position, position + count);
    if (!part.sendWhatHasRoom()) {
      sendRest(part::sendWhatHasRoom);
    }
  }

  /** What is still to be sent of a file. */
  private final class FilePart {
    private final OpenFile file;
    private final long end;
    private long at;

    FilePart(OpenFile file, long from, long end) {
      this.file = file;
      this.end = end;
      at = from;
    }

    /** Sends as long as there is room; says whether all has left. */
    boolean sendWhatHasRoom() throws IOException {
      while (at < end) {
        takeTurns();
        var _ = descriptor.writable().pass();
        int fd = descriptor.number();
        long piece = Math.min(WRITER_TURN, end - at);
        int n = FileCalls.send(Carrier.currentScratch(), fd, file.number(), at, piece);
        if (n > 0) {
          at += n;
          hasTaken(n);
        } else if (n == 0) {
          throw endsAt(at, end);
        } else if (n == -Errno.EAGAIN) {
          return false;
        } else {
          checkSend(n);
        }
      }
      return true;
    }
  }

  private void hasTaken(int n) {
    hasSent(n);
    sentInARow += n;
  }

  /**
   * A writer whose peer takes all at once never waits. It must neither keep others waiting nor
   * outlast its scopes.
   */
  private void takeTurns() throws IOException {
    if (sentInARow >= WRITER_TURN) {
      sentInARow = 0;
      checkScopes();
      var processor = Processor.current();
      if (processor != null && processor.othersWait()) {
        Fibers.letOthersRun();
      }
    }
  }

  private void checkScopes() throws IOException {
    try {
      CancelScope.check("write");
    } catch (IOException e) {
      close();
      throw e;
    }
  }

  private void send(ByteBuffer from) throws IOException {
    takeTurns();
    if (!sendWhatHasRoom(from)) {
      sendRest(() -> sendWhatHasRoom(from));
    }
  }

  /** Sends what there is room for, and says whether that was all. */
  private interface Sending {
    boolean sendWhatHasRoom() throws IOException;
  }

  private void sendRest(Sending what) throws IOException {
    try (var _ = holdForWriter()) {
      do {
        awaitRoom();
        sentInARow = 0;
      } while (!what.sendWhatHasRoom());
    }
  }

  /** Sends as long as there is room; says whether all has left. */
  private boolean sendWhatHasRoom(ByteBuffer from) throws IOException {
    while (from.hasRemaining()) {
      var _ = descriptor.writable().pass();
      int n =
          SocketCalls.send(
              Carrier.currentScratch(),
              descriptor.number(),
              MemorySegment.ofBuffer(from),
              sendFlags);
      if (n >= 0) {
        from.position(from.position() + n);
        hasTaken(n);
      } else if (n == -Errno.EAGAIN) {
        return false;
      } else {
        checkSend(n);
      }
    }
    return true;
  }

  private void checkSend(int error) throws IOException {
    if (error != -Errno.EINTR) {
      descriptor.checkOpen();
      throw Errno.of(error, "write");
    }
  }

  /**
   * Waits until an event says that there is room, or closes the connection after the time for it.
   */
  private void awaitRoom() throws IOException {
    long until = System.nanoTime() + writeTimeoutNanos();
    checkScopes();
    waitsToSend();
    try {
      await(descriptor.writable(), writeLimited(), until);
    } finally {
      goesOnSending();
    }
    if (writeLimited() && until - System.nanoTime() <= 0) {
      close();
      throw new WriteTimeoutException(Duration.ofNanos(writeTimeoutNanos()));
    }
  }

  @Override
  public void shutdownOutput() throws IOException {
    flush();
    descriptor.enter();
    try {
      settle();
      int result =
          SocketCalls.shutdown(Carrier.currentScratch(), descriptor.number(), SocketCalls.SHUT_WR);
      Errno.check(result, "shut down the output");
    } finally {
      descriptor.leave();
    }
  }

  @Override
  public void whenPeerEnds(@Nullable Runnable told) throws IOException {
    descriptor.enter();
    try {
      descriptor.whenEnded(told, poller());
    } finally {
      descriptor.leave();
    }
  }

  @Override
  public SocketAddress localAddress() throws IOException {
    return OwnSockets.localAddress(descriptor);
  }

  @Override
  public SocketAddress peerAddress() throws IOException {
    return OwnSockets.peerAddress(descriptor);
  }

  @Override
  public void reset() {
    close(true);
    close();
  }

  @Override
  void closeSocket() {
    close(false);
  }

  private void close(boolean reset) {
    // Its reader has flushed that.
    leaveOutbox();
    if (reset ? descriptor.reset() : descriptor.close()) {
      fibers.forget(this);
      if (readLimit != null) {
        readLimit.cancel();
      }
      if (writeLimit != null) {
        writeLimit.cancel();
      }
    }
  }

  @Override
  public String toString() {
    return "connection " + descriptor.number() + (descriptor.closed() ? " (closed)" : "");
  }
}
