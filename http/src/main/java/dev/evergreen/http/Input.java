package dev.evergreen.http;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.Connection;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/**
 * What a connection has received and not yet used up. It lies in a buffer on loan while its fiber
 * works; while that waits, what is left of it lies in an array of just its length.
 *
 * <p>Whatever receives more may move the bytes that are there.
 */
final class Input implements AutoCloseable {
  /** Of {@link #tryLine}: the line's end is not there yet. */
  static final int NOT_YET = 0;

  /** Of {@link #tryLine}: the line is longer than it may be. */
  static final int TOO_LONG = -1;

  private static final byte[] NOTHING = {};

  private final Connection connection;
  private Buffers.@Nullable Loan loan;
  private byte[] rest = NOTHING;
  private boolean ended;
  private boolean inHead;

  /** Gets all that is used up, byte for byte. */
  private @Nullable Connection copy;

  /** Where the bytes are that are to be used, from {@code at} to {@code end}. */
  private int at;

  private int end;

  Input(Connection connection) {
    this.connection = connection;
  }

  /** From now on all that is used up is written to another connection, too. */
  void copyTo(Connection other) {
    copy = other;
  }

  int available() {
    return end - at;
  }

  /** Whether the peer has ended, so that no more will come than what is there. */
  boolean ended() {
    return ended;
  }

  /** The bytes, from {@link #at} on; valid until more is received. */
  ByteBuffer buffer() throws IOException {
    return takeBack();
  }

  int at() {
    return at;
  }

  void skip(int bytes) throws IOException {
    if (copy != null) {
      copy.write(takeBack().slice(at, bytes));
    }
    at += bytes;
  }

  /**
   * The length of the next line, its LF included, without waiting.
   *
   * @return or {@link #NOT_YET}, or {@link #TOO_LONG}
   * @throws IncompleteMessageException if it will not come
   */
  int tryLine(int limit) throws IOException {
    int scanned = 0;
    do {
      if (available() > scanned) {
        int to = Math.min(end, at + limit);
        int lf = Bytes.find(takeBack(), (byte) '\n', at + scanned, to);
        if (lf < to) {
          return lf + 1 - at;
        }
        scanned = to - at;
        if (scanned == limit) {
          return TOO_LONG;
        }
      }
    } while (fill());
    if (ended) {
      throw new IncompleteMessageException("the peer has ended amid a message");
    }
    return NOT_YET;
  }

  /**
   * Waits until so many bytes are there, at most a buffer's.
   *
   * @return false if the peer ends before the first of them
   */
  boolean await(int bytes) throws IOException {
    while (available() < bytes) {
      if (!fill()) {
        if (ended && available() == 0) {
          return false;
        }
        if (ended) {
          throw new IncompleteMessageException("the peer has ended amid a message");
        }
        awaitMore();
      }
    }
    return true;
  }

  /** Moves what is there to a buffer, up to a number of bytes; answers how many. */
  int take(ByteBuffer into, long most) throws IOException {
    int n = (int) Math.min(Math.min(available(), into.remaining()), most);
    if (n > 0) {
      into.put(into.position(), takeBack(), at, n).position(into.position() + n);
      skip(n);
    }
    return n;
  }

  /**
   * Receives what is there, without waiting, up to a number of bytes: straight into a buffer, when
   * nothing lies here.
   *
   * @return as {@link Connection#tryRead}
   */
  int receive(ByteBuffer into, long most) throws IOException {
    if (ended) {
      return -1;
    }
    giveBack();
    int limit = into.limit();
    into.limit((int) Math.min(limit, into.position() + most));
    int n;
    try {
      n = connection.tryRead(into);
    } finally {
      into.limit(limit);
    }
    ended = n < 0;
    if (copy != null && n > 0) {
      copy.write(into.slice(into.position() - n, n));
    }
    return n;
  }

  /** Receives what is there, without waiting; false if that is nothing. */
  boolean fill() throws IOException {
    if (ended) {
      return false;
    }
    var into = takeBack();
    if (at > 0) {
      into.put(0, into, at, available());
      end -= at;
      at = 0;
    }
    int n = connection.tryRead(into.limit(Buffers.SIZE).position(end));
    into.clear();
    if (n > 0) {
      end += n;
    }
    ended = n < 0;
    return n > 0;
  }

  /** Waits for the first bytes, whatever ends other waits; says whether there are any. */
  boolean awaitFirst(Duration limit) throws IOException {
    connection.readTimeout(limit);
    try {
      while (available() == 0 && !fill() && !ended) {
        awaitMore();
      }
    } catch (SocketTimeoutException e) {
      // Nothing was on its way.
    }
    return available() > 0;
  }

  /** Like {@link #awaitMore}, amid a head, which must be whole in a time from the first wait on. */
  void awaitHead(Duration limit) throws IOException {
    beginHead(limit);
    awaitMore();
  }

  /** From now on all waits together may last so long until the {@linkplain #endHead end}. */
  void beginHead(Duration limit) {
    if (!inHead) {
      inHead = true;
      connection.readDeadline(limit);
    }
  }

  /** The head is whole. */
  void endHead() {
    if (inHead) {
      inHead = false;
      connection.readDeadline(ChronoUnit.FOREVER.getDuration());
    }
  }

  /** Waits until it is worth trying to receive; not at all if the end was seen. */
  void awaitMore() throws IOException {
    giveBack();
    if (!ended) {
      connection.awaitInput();
    }
  }

  /**
   * Takes and drops what the peer sends, until it ends or for a time: it would lose what was sent
   * to it last if its system were told that what it sends has come to a closed socket.
   */
  void linger(Duration limit) throws IOException {
    connection.readDeadline(limit);
    try {
      while (!ended) {
        at = end;
        awaitMore();
        var _ = fill();
      }
    } catch (SocketTimeoutException e) {
      // That was long enough.
    }
  }

  /**
   * Whether neither anything nor the end has come. It needs no buffer, as who asks may have a lock;
   * what comes instead is lost.
   */
  boolean isQuiet() throws IOException {
    return available() == 0 && !ended && connection.tryRead(ByteBuffer.allocate(1)) == 0;
  }

  /** Keeps what is there, but no buffer. */
  void giveBack() {
    if (loan != null) {
      int left = available();
      rest = left == 0 ? NOTHING : new byte[left];
      loan.buffer().get(at, rest);
      at = 0;
      end = left;
      close();
    }
  }

  /**
   * Keeps no buffer if nothing is there. Many may wait for their answers, which need buffers, too.
   */
  void giveBackIfEmpty() {
    if (available() == 0) {
      giveBack();
    }
  }

  private ByteBuffer takeBack() throws IOException {
    if (loan == null) {
      loan = borrow();
      loan.buffer().put(0, rest);
      rest = NOTHING;
    }
    return loan.buffer();
  }

  /** That there was none in time is told as all else is that goes wrong with a connection. */
  private static Buffers.Loan borrow() throws IOException {
    try {
      return Buffers.borrow();
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }

  /** Gives the buffer back, with all that is in it. */
  @Override
  public void close() {
    if (loan != null) {
      loan.close();
      loan = null;
    }
  }
}
