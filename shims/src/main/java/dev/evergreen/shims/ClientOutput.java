package dev.evergreen.shims;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Fibers;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * What goes to a client from connections that others share with it, or from one of its own. What it
 * does not take at once lies in a {@link Spill}, from which a fiber of its own sends on; a client
 * for whom too much lies there is dropped. Nobody who {@linkplain #offer offers} something waits
 * for that; who {@linkplain #send sends} does.
 *
 * <p>All is guarded by a lock, but for the sending of what was spilled: only the fiber that does so
 * sends while there is a spill.
 */
public final class ClientOutput implements AutoCloseable {

  /** What is needed where replies are spilled, the same for all clients. */
  public record Spilling(Fibers fibers, Path directory, long most) {}

  private final Connection connection;
  private final Spilling spilling;
  private final ReentrantLock lock = new ReentrantLock();
  private volatile @Nullable Waiting waiting;
  private boolean hurried;
  private boolean closed;

  /** That something lies there. */
  private static final class Waiting {
    final Spill spill;
    final Condition sent;

    Waiting(Spill spill, Condition sent) {
      this.spill = spill;
      this.sent = sent;
    }
  }

  /** To a client's connection, which nobody else writes to. */
  public ClientOutput(Connection connection, Spilling spilling) {
    this.connection = connection;
    this.spilling = spilling;
  }

  /**
   * Sends bytes of a buffer of native memory, or keeps them for later. Never waits for the client.
   */
  public void offer(ByteBuffer bytes, int from, int to) {
    lock.lock();
    try {
      offer(bytes.limit(to).position(from));
    } finally {
      bytes.clear();
      lock.unlock();
    }
  }

  private void offer(ByteBuffer bytes) {
    try {
      if (!closed && !(waiting == null && sendsAll(bytes))) {
        spill(bytes);
      }
    } catch (IOException e) {
      drop();
    }
  }

  private boolean sendsAll(ByteBuffer bytes) throws IOException {
    connection.trySend(bytes);
    return !bytes.hasRemaining();
  }

  private void spill(ByteBuffer bytes) throws IOException {
    var present = waiting;
    if (present == null) {
      var begun =
          new Waiting(new Spill(spilling.directory(), spilling.most()), lock.newCondition());
      // It begins when the lock is free; if it cannot, nobody is to wait for it.
      spilling.fibers().spawn(() -> sendSpilled(begun));
      waiting = begun;
      present = begun;
    }
    if (!present.spill.add(bytes)) {
      drop();
    }
  }

  /** The client does not take what is meant for it, or has gone. */
  private void drop() {
    closed = true;
    connection.reset();
  }

  private void sendSpilled(Waiting from) {
    try (var loan = Buffers.borrow()) {
      while (takes(from, loan.buffer().clear())) {
        connection.writeAndFlush(loan.buffer().flip());
      }
    } catch (IOException | UncheckedIOException e) {
      end(from);
      connection.reset();
    }
  }

  private boolean takes(Waiting from, ByteBuffer into) throws IOException {
    lock.lock();
    try {
      if (!closed) {
        from.spill.take(into);
      }
      if (into.position() > 0) {
        return true;
      }
      end(from);
      return false;
    } finally {
      lock.unlock();
    }
  }

  private void end(Waiting from) {
    lock.lock();
    try {
      closed |= !from.spill.isEmpty();
      from.spill.close();
    } catch (IOException e) {
      // It had no name, and nothing of it is needed any more.
      closed = true;
    } finally {
      waiting = null;
      from.sent.signalAll();
      lock.unlock();
    }
  }

  /**
   * Sends bytes of a buffer of native memory, and waits for the client as long as it takes, unless
   * there is a {@linkplain #hurry hurry}.
   *
   * @throws IOException if the client has gone
   */
  public void send(ByteBuffer bytes, int from, int to) throws IOException {
    lock.lock();
    try {
      offer(bytes.limit(to).position(from));
      for (var present = waiting; present != null && !hurried; present = waiting) {
        present.sent.awaitUninterruptibly();
      }
      if (closed) {
        throw new EOFException("the client has gone");
      }
    } finally {
      bytes.clear();
      lock.unlock();
    }
  }

  /**
   * Says whether nobody is to wait for the client at present, who waits already included: what it
   * does not take is kept then, as what is offered is.
   */
  public void hurry(boolean hurries) {
    lock.lock();
    try {
      hurried = hurries;
      var present = waiting;
      if (present != null) {
        present.sent.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Whether something lies there that the client has not taken. */
  public boolean isBehind() {
    return waiting != null;
  }

  /** Waits until all that was offered has been sent, or never will be. */
  public void awaitSent() {
    lock.lock();
    try {
      for (var present = waiting; present != null; present = waiting) {
        present.sent.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
    }
  }

  /** From now on nothing is sent. */
  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
    } finally {
      lock.unlock();
    }
  }
}
