package dev.evergreen.fibers;

import dev.evergreen.kernel.SocketCalls;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * An outbox that sends all its letters by one system call, an io_uring's. The sockets' own sends
 * are not asynchronous: each takes what there is room for, so that all letters have left, or have
 * not, when the call returns; a connection whose socket was full sends the rest itself.
 *
 * <p>All is guarded by {@code lock}. Who holds it never waits.
 */
final class RingOutbox implements Outbox {

  /** As many leave together at most. */
  static final int LETTERS = 128;

  /** In bytes; what is longer is not worth a copy. */
  static final int LETTER_SIZE = 4 << 10;

  private final ReentrantLock lock = new ReentrantLock();
  private final Ring ring;
  private final MemorySegment memory =
      Arena.ofAuto().allocate((long) LETTERS * LETTER_SIZE, LETTER_SIZE);
  private final @Nullable OwnConnection[] senders = new OwnConnection[LETTERS];
  private final ByteBuffer letters = memory.asByteBuffer();
  private final int[] sizes = new int[LETTERS];

  /** Written under the lock only. */
  private volatile int posted;

  RingOutbox() throws IOException {
    ring = new Ring(LETTERS);
  }

  @Override
  public boolean post(OwnConnection from, ByteBuffer bytes) {
    int size = bytes.remaining();
    if (size > LETTER_SIZE || !lock.tryLock()) {
      return false;
    }
    try {
      if (posted == LETTERS) {
        sendAll();
      }
      int index = posted;
      letters.put(index * LETTER_SIZE, bytes, bytes.position(), size);
      sizes[index] = size;
      senders[index] = from;
      from.posted(this);
      posted = index + 1;
      return true;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void send() {
    // Who has the lock sends everything, as nothing is posted meanwhile.
    if (posted != 0 && lock.tryLock()) {
      try {
        sendAll();
      } finally {
        lock.unlock();
      }
    }
  }

  @Override
  public void settle() {
    lock.lock();
    try {
      sendAll();
    } finally {
      lock.unlock();
    }
  }

  private void sendAll() {
    int n = posted;
    if (n == 1) {
      // One alone is cheaper without the ring.
      var letter = memory.asSlice(0, sizes[0]);
      int result = SocketCalls.send(Carrier.currentScratch(), sender(0).number(), letter, 0);
      posted = 0;
      left(0, result);
    } else if (n > 1) {
      for (int i = 0; i < n; i++) {
        ring.put(sender(i).number(), memory.address() + (long) i * LETTER_SIZE, sizes[i]);
      }
      var results = ring.submit(Carrier.currentScratch());
      // Whatever comes of telling that, nothing must leave twice. It does only if the kernel took
      // it and then failed to tell what came of it: then all is submitted again.
      posted = 0;
      left(results, 0, n);
    }
  }

  /** All are told, whatever comes of telling one. */
  private void left(int[] results, int from, int to) {
    for (int i = from; i < to; i++) {
      try {
        left(i, results[i]);
      } catch (Throwable e) {
        left(results, i + 1, to);
        throw e;
      }
    }
  }

  private OwnConnection sender(int index) {
    return Objects.requireNonNull(senders[index]);
  }

  /** An error counts as nothing sent: whoever sends the rest will learn of it. */
  private void left(int index, int result) {
    var sender = sender(index);
    senders[index] = null;
    int taken = Math.max(0, result);
    sender.left(memory, (long) index * LETTER_SIZE + taken, sizes[index] - taken);
  }

  @Override
  public void close() {
    ring.close(Carrier.currentScratch());
  }
}
