package dev.evergreen.memcached;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.SlowPeers.Direction;
import dev.evergreen.fibers.WriteTimeoutException;
import dev.evergreen.store.Key;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * What a connection has received and not yet used up. It lies in a buffer on loan while its fiber
 * works; while that waits, at rest or amid a request, what is left of it lies in an array of just
 * its length. That is bounded: a little for each connection, and for more than that there is some
 * room for all together, {@link MemcachedServer#inputRoom}. Where that is taken a connection that
 * has more keeps its buffer, of which there are not too many, either. It never has more when it
 * waits for its client, only when it waits for its turn or for the server's own work.
 *
 * <p>Whatever receives more may move the bytes that are there.
 */
final class Input implements AutoCloseable {
  private static final byte[] NOTHING = {};

  /**
   * So much may lie on the heap for each connection: a request of which only a part has come. So
   * much is received at once where buffers are short, so that what is left of it when a turn is
   * over keeps no buffer.
   */
  static final int LITTLE = TextProtocol.LONGEST_LINE + Key.MAX_LENGTH;

  private final MemcachedServer server;
  private final Connection connection;
  private Buffers.@Nullable Loan loan;
  private byte[] rest = NOTHING;

  /** How much of the heap's room for more than a little is taken. */
  private int roomTaken;

  /** How many of the bytes that come are those of a value that was refused. */
  private long dropped;

  private boolean ended;
  private boolean waiting;

  /** Whether a command was answered, or the client came, since it was waited for last. */
  private boolean answered = true;

  /** Whether a value is waited for; a moment ago is good enough. */
  private boolean amidValue;

  /** Whether that has many bytes, for which its client is given time at a rate. */
  boolean amidLargeValue;

  private int lastActive;

  /** The bytes; those from {@link #at} to {@link #end} are to be used. */
  MemorySegment memory = MemorySegment.NULL;

  int at;
  int end;

  Input(MemcachedServer server, Connection connection) {
    this.server = server;
    this.connection = connection;
    lastActive = server.clock.second();
  }

  /** Whether the client is waited for; a moment ago is good enough. */
  boolean isWaiting() {
    return waiting;
  }

  /** Whether a value is waited for; a moment ago is good enough. */
  boolean isAmidValue() {
    return amidValue || amidLargeValue;
  }

  /** Says that what is waited for is a part of a value, with the request that it belongs to. */
  void beginValue() {
    amidValue = true;
  }

  /** For how many seconds no command has been answered, since the connection came. */
  int secondsAtRest() {
    return Math.max(0, server.clock.second() - lastActive);
  }

  /** A command was answered, so that its client is not idle. */
  void answered() {
    answered = true;
    amidValue = false;
  }

  /**
   * Between two requests: waits until something of the next one is there. If it is already, others
   * get their turn, after all that was answered has left.
   *
   * @return false if there will be no more
   */
  boolean awaitRequest() throws IOException {
    if (dropped > 0) {
      dropRest();
    }
    if (available() > 0) {
      letOthersRun();
      return true;
    }
    while (!ended) {
      awaitMore();
      if (fill()) {
        return true;
      }
    }
    return false;
  }

  /**
   * A turn is over: lets others go first if any wait, after all that was answered has left. May
   * move the bytes.
   */
  void letOthersRun() throws IOException {
    server.statistics.yields.increment();
    noteActive();
    if (Fibers.othersWait()) {
      // What is left of a buffer that is well filled would take as much memory elsewhere, which
      // is better only where there are few buffers.
      if (available() < Buffers.SIZE / 4 || server.isShortOfBuffers()) {
        giveBack();
      }
      connection.flush();
      Fibers.letOthersRun();
    }
    goOn();
  }

  /** Has the bytes lie in a buffer again after a wait, when it may take one. */
  void goOn() throws IOException {
    var _ = goOnFrom(at);
  }

  /**
   * As {@link #goOn}, but what lies from some place before on is still needed, too.
   *
   * @return where that is then
   */
  int goOnFrom(int from) throws IOException {
    int needed = awaitTurn(from);
    takeBack();
    return needed;
  }

  /**
   * Waits while too many others do not take their replies, without a buffer and after all that was
   * answered has left. It is asked before each step for which buffers are taken: when something has
   * come, also amid a request, and when a turn is over, also amid a command.
   *
   * @param from from where on what lies there is still needed
   * @return where that is afterwards
   */
  private int awaitTurn(int from) throws IOException {
    int needed = from;
    while (server.isCrowded()) {
      needed = giveBackFrom(needed);
      connection.flush();
      server.awaitEndOfCrowd();
    }
    return needed;
  }

  /**
   * Amid a request: waits until there is more than now, for which a buffer must have room.
   *
   * @throws EOFException if nothing more will come
   */
  void more() throws IOException {
    while (!fill()) {
      if (ended) {
        throw new EOFException("the client has gone amid a request");
      }
      awaitMore();
    }
  }

  /**
   * Drops so many bytes. Those that are not there yet are dropped when the next request is waited
   * for, which nothing but a number is kept for.
   */
  void drop(long bytes) {
    int there = (int) Math.min(bytes, available());
    at += there;
    dropped = bytes - there;
  }

  /** Whether what comes next is no request, but to be dropped. */
  boolean isDropping() {
    return dropped > 0;
  }

  private void dropRest() throws IOException {
    amidLargeValue = true;
    // Its client has a place for it, and so must not be too slow either.
    try (var _ = server.refusedSenders.hold(connection, Direction.RECEIVING)) {
      while (dropped > 0) {
        more();
        drop(dropped);
      }
    } finally {
      amidLargeValue = false;
    }
    answered();
  }

  /** Receives what is there, without waiting; false if that is nothing. */
  boolean fill() throws IOException {
    var into = takeBack();
    if (at > 0) {
      MemorySegment.copy(memory, at, memory, 0, available());
      end -= at;
      at = 0;
    }
    int most = server.isShortOfBuffers() ? Math.min(end + LITTLE, Buffers.SIZE) : Buffers.SIZE;
    int n = connection.tryRead(into.limit(most).position(end));
    if (n > 0) {
      end += n;
      server.statistics.read.add(n);
    }
    ended |= n < 0;
    return n > 0;
  }

  private void noteActive() {
    if (answered) {
      lastActive = server.clock.second();
    }
  }

  /**
   * Begins the time in which a client must say something whole, whatever comes of it meanwhile:
   * else a byte now and then would keep its place. Amid a value of many bytes each pause has that
   * time, and the whole of it the time that its bytes take at the least rate.
   */
  private void limitIdleness() {
    var idle = server.settings.idleTimeout;
    if (!idle.isZero() && (answered || amidLargeValue)) {
      connection.readDeadline(amidLargeValue ? Session.FOR_EVER : idle);
    }
  }

  private void awaitMore() throws IOException {
    giveBack();
    noteActive();
    limitIdleness();
    answered = false;
    waiting = true;
    try {
      connection.awaitInput();
    } catch (WriteTimeoutException e) {
      // A client that does not take its replies is not idle.
      throw e;
    } catch (SocketTimeoutException e) {
      server.statistics.idleKicks.increment();
      throw e;
    }
    waiting = false;
    var _ = awaitTurn(at);
  }

  /**
   * Keeps no buffer until something is received, or it is {@link #takeBack taken back}; unless
   * there is no room for what is left.
   */
  void giveBack() {
    var _ = giveBackFrom(at);
  }

  /**
   * As {@link #giveBack}, but what lies from some place before on is still needed, too.
   *
   * @return where that will be when it is taken back
   */
  int giveBackFrom(int from) {
    int bytes = end - from;
    if (loan == null || !takeRoom(bytes)) {
      return from;
    }
    rest = bytes == 0 ? NOTHING : memory.asSlice(from, bytes).toArray(JAVA_BYTE);
    at -= from;
    end = bytes;
    endLoan();
    return 0;
  }

  private boolean takeRoom(int bytes) {
    if (bytes <= LITTLE) {
      return true;
    }
    boolean taken = server.inputRoom.tryAcquire(bytes);
    if (taken) {
      roomTaken = bytes;
    }
    return taken;
  }

  private void leaveRoom() {
    if (roomTaken > 0) {
      server.inputRoom.release(roomTaken);
      roomTaken = 0;
    }
  }

  /** Has the bytes lie in a buffer again, if they do not. */
  ByteBuffer takeBack() {
    if (loan == null) {
      loan = Buffers.borrow();
      memory = MemorySegment.ofBuffer(loan.buffer());
      MemorySegment.copy(rest, 0, memory, JAVA_BYTE, 0, rest.length);
      rest = NOTHING;
      leaveRoom();
    }
    return loan.buffer();
  }

  /** Gives back all that it takes, with what is in it. */
  @Override
  public void close() {
    endLoan();
    leaveRoom();
  }

  /**
   * Has other bytes lie before those that are left, in place of all that was there: as many at most
   * as there is room for.
   */
  void putBefore(byte[] bytes) {
    MemorySegment.copy(memory, at, memory, bytes.length, available());
    MemorySegment.copy(bytes, 0, memory, JAVA_BYTE, 0, bytes.length);
    end = bytes.length + available();
    at = 0;
  }

  private void endLoan() {
    if (loan != null) {
      loan.close();
      loan = null;
      memory = MemorySegment.NULL;
    }
  }

  int available() {
    return end - at;
  }

  byte byteAt(int index) {
    return memory.get(JAVA_BYTE, index);
  }

  private static final ValueLayout.OfLong WORD =
      JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final long ONES = 0x0101010101010101L;
  private static final long HIGHS = 0x8080808080808080L;

  /** Where a byte first is, or {@code to} if it is not before that. Looks at eight at a time. */
  static int find(MemorySegment memory, byte wanted, int from, int to) {
    int i = from;
    for (; i + 8 <= to; i += 8) {
      long word = memory.get(WORD, i) ^ (ONES * wanted);
      long zeros = (word - ONES) & ~word & HIGHS;
      if (zeros != 0) {
        return i + (Long.numberOfTrailingZeros(zeros) >>> 3);
      }
    }
    while (i < to && memory.get(JAVA_BYTE, i) != wanted) {
      i++;
    }
    return i;
  }
}
