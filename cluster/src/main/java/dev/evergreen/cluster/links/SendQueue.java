package dev.evergreen.cluster.links;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * What waits to be written to one connection, and how it is written: pings first, then all small
 * messages that are there with one write, and with them one piece of the oldest large message, so
 * that large ones delay small ones by a piece at most, and small ones cannot hold up a large one
 * for ever.
 *
 * <p>Any thread may {@link #offer}; one thread, the writer, runs {@link #drain}. The writer is
 * woken only if it sleeps, which it says in {@link #asleep} before it looks for the last time.
 */
final class SendQueue {

  private static final int HEAD = MessageCodec.HEAD;

  /** Room for small frames; behind it there is room for one piece. */
  private static final int SMALL_ROOM = HEAD + Frame.PIECE;

  private static final int PIECE_ROOM = HEAD + 4 + Frame.PIECE;

  /** More pings than that nobody needs to answer. */
  private static final int MAX_URGENT = 64;

  private static final int URGENT_ROOM = MAX_URGENT * (HEAD + Frame.TOKEN_BYTES);

  private final Counters counters;
  private final Queue<Frame> urgent = new ConcurrentLinkedQueue<>();
  private final AtomicInteger urgentFrames = new AtomicInteger();
  private final Queue<Frame> small = new ConcurrentLinkedQueue<>();
  private final Queue<Frame> large = new ConcurrentLinkedQueue<>();
  private final AtomicLong waiting = new AtomicLong();
  private volatile boolean asleep;
  private volatile boolean finishing;
  private volatile boolean dead;
  private volatile @Nullable Thread writer;

  // The writer's own.
  private byte[] buffer = {};
  private @Nullable Frame underWay;
  private int written;

  SendQueue(Counters counters) {
    this.counters = counters;
  }

  /** The bytes that wait. */
  long bytes() {
    return waiting.get();
  }

  /**
   * Whether there was room for it; none in a dead queue. Senders that went on to succeed there kept
   * the carriers of virtual threads from the one that is to take the queue away.
   */
  boolean offer(Frame frame, long maxBytes) {
    if (dead) {
      return false;
    }
    int size = frame.size();
    long before = waiting.getAndAdd(size);
    if (before > 0 && before + size > maxBytes) {
      waiting.addAndGet(-size);
      return false;
    }
    (frame.large() ? large : small).add(frame);
    added();
    return true;
  }

  /** Puts a ping or its answer before all that waits; dropped if many wait already. */
  void offerFirst(Frame frame) {
    if (urgentFrames.incrementAndGet() > MAX_URGENT) {
      urgentFrames.decrementAndGet();
      counters.dropped.increment();
      return;
    }
    urgent.add(frame);
    added();
  }

  private void added() {
    if (dead) {
      drop();
    } else if (asleep) {
      wake();
    }
  }

  private void wake() {
    asleep = false;
    LockSupport.unpark(writer);
  }

  /** The writer writes what is there and ends. */
  void finish() {
    finishing = true;
    LockSupport.unpark(writer);
  }

  /** The writer ends, and what is or comes here is dropped. */
  void die() {
    dead = true;
    drop();
    LockSupport.unpark(writer);
  }

  /** Whether nothing will leave here any more. */
  boolean isDead() {
    return dead;
  }

  private void drop() {
    while (urgent.poll() != null) {
      urgentFrames.decrementAndGet();
      counters.dropped.increment();
    }
    for (var queue : new Queue<?>[] {small, large}) {
      while (queue.poll() instanceof Frame frame) {
        waiting.addAndGet(-frame.size());
        counters.dropped.increment();
      }
    }
  }

  /** Writes until it is told to finish, and has, or to die. */
  void drain(OutputStream to) throws IOException {
    writer = Thread.currentThread();
    buffer = new byte[URGENT_ROOM + SMALL_ROOM + PIECE_ROOM];
    while (!dead) {
      if (!write(to)) {
        if (finishing) {
          return;
        }
        sleep();
      }
    }
  }

  private boolean isEmpty() {
    return underWay == null && urgent.isEmpty() && small.isEmpty() && large.isEmpty();
  }

  @SuppressWarnings("ThreadPriorityCheck") // nothing relies on it: the writer parks afterwards
  private void sleep() {
    // Whoever wants to send next is probably about to run: then there is more for one write.
    Thread.yield();
    if (!isEmpty()) {
      return;
    }
    asleep = true;
    while (asleep && isEmpty() && !finishing && !dead) {
      LockSupport.park(this);
    }
    asleep = false;
  }

  /** Writes once; returns whether there was anything. */
  private boolean write(OutputStream to) throws IOException {
    int at = putUrgent();
    int smallEnds = at + SMALL_ROOM;
    int frames = at / (HEAD + Frame.TOKEN_BYTES);
    int messages = 0;
    long done = 0;
    for (var frame = small.peek(); frame != null; frame = small.peek()) {
      int size = frame.size();
      if (at + HEAD + size > smallEnds) {
        break;
      }
      if (small.poll() == null) {
        break; // it is dead, and was emptied meanwhile
      }
      at = put(frame, at);
      done += size;
      frames++;
      messages++;
    }
    if (underWay == null) {
      underWay = large.poll();
      written = 0;
    }
    if (underWay != null) {
      int before = written;
      at = putPiece(underWay, at);
      done += written - before;
      frames++;
      if (written == underWay.size()) {
        underWay = null;
        messages++;
      }
    }
    if (at == 0) {
      return false;
    }
    to.write(buffer, 0, at);
    waiting.addAndGet(-done);
    counters.bytesOut.add(at);
    counters.framesOut.add(frames);
    counters.messagesOut.add(messages);
    counters.writes.increment();
    return true;
  }

  private int putUrgent() {
    int at = 0;
    for (int i = 0; i < MAX_URGENT; i++) {
      var frame = urgent.poll();
      if (frame == null) {
        break;
      }
      urgentFrames.decrementAndGet();
      at = put(frame, at);
    }
    return at;
  }

  private int put(Frame frame, int at) {
    System.arraycopy(frame.bytes(), HEAD, buffer, at + HEAD, frame.size());
    Frame.putHead(buffer, at, frame.kind(), frame.size());
    return at + HEAD + frame.size();
  }

  private int putPiece(Frame frame, int start) {
    int piece = Math.min(Frame.PIECE, frame.size() - written);
    int at = start;
    if (written == 0) {
      Frame.putHead(buffer, at, Frame.FIRST_PIECE, piece + 4);
      ByteWriter.putFixed4(buffer, at + HEAD, frame.size());
      at += HEAD + 4;
    } else {
      Frame.putHead(buffer, at, Frame.NEXT_PIECE, piece);
      at += HEAD;
    }
    System.arraycopy(frame.bytes(), HEAD + written, buffer, at, piece);
    written += piece;
    return at + piece;
  }
}
