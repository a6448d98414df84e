package dev.evergreen.http;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.Signal;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * What a connection of HTTP/2 sends. All streams' fibers append frames, in one order, under a lock;
 * a fiber of its own sends them. That comes to run after those that are ready already, so that what
 * these answer leaves together.
 *
 * <p>Who appends more than a little looks first whether there is {@linkplain #full room}, and waits
 * without the lock if there is none. Under the lock only a head or a frame of control may wait, for
 * a buffer, and only while those are short: they have one of those that who begins something never
 * gets.
 */
final class Http2Output {
  static final int DATA = 0;
  static final int HEADERS = 1;
  static final int RST_STREAM = 3;
  static final int SETTINGS = 4;
  static final int PING = 6;
  static final int GO_AWAY = 7;
  static final int WINDOW_UPDATE = 8;
  static final int CONTINUATION = 9;

  static final int END_STREAM = 1;
  static final int ACK = 1;
  static final int END_HEADERS = 4;

  static final int FRAME_HEAD = 9;
  private static final int LEAST_FRAME_LIMIT = 16 << 10;
  private static final int MOST_PENDING = 64 << 10;

  /** What the peer allows beyond this need not be used. */
  private static final int MOST_TABLE = 4096;

  /** Guards all of the session that its fibers share. */
  final ReentrantLock lock = new ReentrantLock();

  private final Connection connection;
  private final Runnable onRoom;
  private final Signal something;
  private final Signal finished;
  private final ArrayDeque<Buffers.Loan> pending = new ArrayDeque<>();
  private final NeverIndexed neverIndexed = new NeverIndexed();
  private final DefaultHttp2HeadersEncoder hpack = new DefaultHttp2HeadersEncoder(neverIndexed);
  private final ByteBuf block = Unpooled.buffer(1024);
  private int pendingBytes;

  /** The smallest table of fields that the peer has set since the last head, and the last one. */
  private int smallestTable = MOST_TABLE;

  private int lastTable = MOST_TABLE;
  private boolean ending;
  private boolean over;
  private @Nullable IOException failure;

  /**
   * The output of a connection.
   *
   * @param onRoom is told, under the lock, when there is room again
   */
  Http2Output(Connection connection, Fibers fibers, Runnable onRoom) {
    this.connection = connection;
    this.onRoom = onRoom;
    something = new Signal(fibers);
    finished = new Signal(fibers);
  }

  /** Of the fiber that sends: sends until {@link #finish}, or until it cannot. */
  void send() {
    try {
      boolean more = true;
      while (more) {
        try (var next = awaitNext()) {
          more = next != null;
          if (next != null) {
            connection.writeAndFlush(next.buffer().flip());
          }
        }
      }
    } catch (IOException e) {
      lock.lock();
      try {
        failure = e;
      } finally {
        lock.unlock();
      }
      connection.close();
    } finally {
      endSending();
    }
  }

  private void endSending() {
    lock.lock();
    try {
      over = true;
      pending.forEach(Buffers.Loan::close);
      pending.clear();
      pendingBytes = 0;
      onRoom.run();
    } finally {
      lock.unlock();
    }
    finished.raise();
  }

  private Buffers.@Nullable Loan awaitNext() throws IOException {
    while (true) {
      lock.lock();
      try {
        var next = pending.poll();
        if (next != null) {
          pendingBytes -= next.buffer().position();
          onRoom.run();
          return next;
        }
        if (ending) {
          return null;
        }
      } finally {
        lock.unlock();
      }
      something.await();
    }
  }

  /** Has all sent that was appended, and waits for that; nothing can be appended any more. */
  void finish() throws IOException {
    lock.lock();
    try {
      ending = true;
    } finally {
      lock.unlock();
    }
    something.raise();
    while (!over()) {
      finished.await();
    }
  }

  private boolean over() {
    lock.lock();
    try {
      return over;
    } finally {
      lock.unlock();
    }
  }

  /** Under the lock: whether something can be appended. */
  boolean isOpen() {
    return !ending && !over;
  }

  /** Under the lock: throws if nothing can be sent any more. */
  void check() throws IOException {
    if (failure != null) {
      throw new IOException("the connection is broken", failure);
    }
    if (!isOpen()) {
      throw new ClosedChannelException();
    }
  }

  /** Under the lock: whether so much waits to be sent that no more should be appended. */
  boolean full() {
    // While buffers are short, no second one is waited for under the lock: the first leaves then.
    boolean needsAnother = !pending.isEmpty() && !hasRoom(FRAME_HEAD + LEAST_FRAME_LIMIT);
    return !over && (pendingBytes >= MOST_PENDING || (needsAnother && Buffers.areShort()));
  }

  /** Under the lock: a buffer with so much room. */
  private ByteBuffer room(int bytes) throws IOException {
    awaitRoom(bytes);
    pendingBytes += bytes;
    return pending.getLast().buffer();
  }

  private void awaitRoom(int bytes) throws IOException {
    if (!hasRoom(bytes)) {
      if (over) {
        // Nobody would ever give it back.
        throw new ClosedChannelException();
      }
      pending.add(Buffers.borrowToWrite(connection));
    }
  }

  /**
   * Under the lock: waits for room for a head. Whoever gives up while he waits has begun nothing:
   * what is encoded has to be sent, or the connection is lost for all of its streams. Only a head
   * beyond a buffer may have to wait once more.
   */
  void awaitRoom(Http2Heads.Head headers) throws IOException {
    awaitRoom(Math.min(headers.mostBytes(), Buffers.SIZE));
  }

  /** Under the lock: takes a buffer to be filled, or gives it back if a small frame has room. */
  void provide(Buffers.Loan room) {
    if (isOpen() && !hasRoomForControl()) {
      pending.add(room);
    } else {
      room.close();
    }
  }

  /** Under the lock: whether a small frame needs no other buffer. */
  boolean hasRoomForControl() {
    return hasRoom(FRAME_HEAD + Long.BYTES);
  }

  private boolean hasRoom(int bytes) {
    var last = pending.peekLast();
    return last != null && last.buffer().remaining() >= bytes;
  }

  /** Under the lock: appends what a client says before all frames. */
  void preface() throws IOException {
    room(Http2Connection.PREFACE.length).put(Http2Connection.PREFACE);
    something.raise();
  }

  /** Under the lock: appends a frame of which the caller puts the payload, at most 16 KiB. */
  ByteBuffer frame(int type, int flags, int stream, int length) throws IOException {
    boolean wake = pendingBytes == 0;
    var out = room(FRAME_HEAD + length);
    out.put((byte) (length >>> 16)).putShort((short) length);
    out.put((byte) type).put((byte) flags).putInt(stream);
    if (wake) {
      something.raise();
    }
    return out;
  }

  /** Under the lock: appends a frame with one number. */
  void frame(int type, int stream, int number) throws IOException {
    if (isOpen()) {
      frame(type, 0, stream, Integer.BYTES).putInt(number);
    }
  }

  /** Under the lock: says, while anything can be sent, that no more is begun on this connection. */
  void goAway(int last, Http2Exception.Code why) throws IOException {
    if (isOpen()) {
      frame(GO_AWAY, 0, 0, 2 * Integer.BYTES).putInt(last).putInt(why.number);
    }
  }

  /** Under the lock: appends a part of a body. */
  void data(int stream, ByteBuffer from, int length, boolean end) throws IOException {
    var out = frame(DATA, end ? END_STREAM : 0, stream, length);
    out.put(out.position(), from, from.position(), length).position(out.position() + length);
    from.position(from.position() + length);
  }

  /** Under the lock: appends a head, in as many frames as it takes. */
  void headers(int stream, Http2Heads.Head headers, boolean end) throws IOException {
    check();
    awaitRoom(headers);
    block.clear();
    try {
      setTable();
      neverIndexed.next(headers.neverIndexed());
      hpack.encodeHeaders(stream, headers, block);
    } catch (io.netty.handler.codec.http2.Http2Exception e) {
      throw new IOException("a head cannot be sent", e);
    }
    try {
      appendBlock(stream, end);
    } catch (IOException | RuntimeException | Error e) {
      // A head that was encoded and does not leave would have the peer misread all later ones.
      connection.close();
      throw e;
    }
  }

  private void appendBlock(int stream, boolean end) throws IOException {
    int type = HEADERS;
    int flags = end ? END_STREAM : 0;
    do {
      int length = Math.min(block.readableBytes(), LEAST_FRAME_LIMIT);
      boolean last = length == block.readableBytes();
      var out = frame(type, flags | (last ? END_HEADERS : 0), stream, length);
      out.put(block.array(), block.arrayOffset() + block.readerIndex(), length);
      block.skipBytes(length);
      type = CONTINUATION;
      flags = 0;
    } while (block.isReadable());
  }

  /** Under the lock: how large the peer's table of fields is. */
  void peerTable(long size) {
    lastTable = (int) Math.min(size, MOST_TABLE);
    smallestTable = Math.min(smallestTable, lastTable);
  }

  /**
   * RFC 7541 §4.2: the next head says the smallest and the last one. The encoder would keep what it
   * has to say of each until then.
   */
  private void setTable() throws io.netty.handler.codec.http2.Http2Exception {
    hpack.maxHeaderTableSize(smallestTable);
    hpack.maxHeaderTableSize(lastTable);
    smallestTable = lastTable;
  }
}
