package dev.evergreen.provenance;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Forces a spool to the disk, on a platform thread of its own: once in a while, or as soon as
 * somebody waits for it. It forces finished frames up to the first that is not, so that what counts
 * as forced was whole when it was.
 */
final class SpoolSync {
  private static final System.Logger LOG = System.getLogger(SpoolSync.class.getName());

  /** Brings what a segment holds between two offsets to the disk. */
  interface Disk {
    void force(SpoolSegment segment, int from, int to);
  }

  private final SpoolSettings settings;
  private final Disk disk;
  private final Thread thread;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition wanted = lock.newCondition();
  private final Condition forced = lock.newCondition();

  // Guarded by the lock.
  private final ArrayDeque<SpoolSegment> segments = new ArrayDeque<>();
  private long durable;
  private long waitedFor;
  private boolean closed;

  /** Whether nothing will be forced any more. */
  private boolean ended;

  private @Nullable Throwable failure;

  // The thread's own.
  private long at = SpoolSegment.start();
  private @Nullable Throwable fault;

  SpoolSync(SpoolSegment first, SpoolSettings settings) {
    this(first, settings, SpoolSegment::force);
  }

  SpoolSync(SpoolSegment first, SpoolSettings settings, Disk disk) {
    this.settings = settings;
    this.disk = disk;
    this.segments.add(first);
    this.durable = first.firstNumber();
    this.waitedFor = durable - 1;
    this.thread = Thread.ofPlatform().name("spool-sync").daemon().unstarted(this::run);
  }

  void start() {
    thread.start();
  }

  /** The spool goes on with that segment; the one before it gets no more frames. */
  void entered(SpoolSegment segment) {
    lock.lock();
    try {
      segments.add(segment);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until the frame of that number is on the disk.
   *
   * @throws UncheckedIOException if the disk failed: what it holds is unknown; or if this was
   *     closed before the frame was forced
   */
  void await(long number) {
    lock.lock();
    try {
      if (number > waitedFor) {
        waitedFor = number;
        wanted.signal();
      }
      while (durable <= number && failure == null && !ended) {
        forced.awaitUninterruptibly();
      }
      if (failure != null) {
        throw new UncheckedIOException(
            new IOException("The spool cannot be forced to the disk any more", failure));
      }
      if (durable <= number) {
        throw new UncheckedIOException(new IOException("The spool was closed before that"));
      }
    } finally {
      lock.unlock();
    }
  }

  private void run() {
    boolean last = false;
    while (!last) {
      try {
        work();
        last = true;
      } catch (InterruptedException e) {
        LOG.log(System.Logger.Level.DEBUG, "closed", e);
        last = true;
      } catch (RuntimeException | Error e) {
        // Such as want of memory. The disk has not failed, or else this ends now.
        fault = e;
        LockSupport.parkNanos(settings.batch().toNanos());
      }
    }
  }

  private void work() throws InterruptedException {
    while (failure == null && awaitWork()) {
      tellFault();
      while (forceNext()) {
        // Until all that was finished when the last one began is forced.
      }
    }
  }

  private void tellFault() {
    var told = fault;
    fault = null;
    if (told != null) {
      LOG.log(System.Logger.Level.WARNING, "The spool was not forced to the disk in time", told);
    }
  }

  private boolean awaitWork() throws InterruptedException {
    lock.lock();
    try {
      if (settings.durability() == Durability.REPLY) {
        while (!closed && waitedFor < durable) {
          wanted.await();
        }
      } else {
        long left = settings.batch().toNanos();
        while (!closed && left > 0) {
          left = wanted.awaitNanos(left);
        }
      }
      return !closed;
    } finally {
      lock.unlock();
    }
  }

  /** Forces what is finished of one segment; whether there is another one to go on with. */
  private boolean forceNext() {
    var segment = first();
    // Asked before: a segment that is left gets no more frames.
    boolean left = isLeft(segment);
    long end = force(segment);
    lock.lock();
    try {
      durable = segment.number(end);
      forced.signalAll();
      if (!left || !segment.isOver(end)) {
        return false;
      }
      segments.remove();
      at = SpoolSegment.start();
      return true;
    } finally {
      lock.unlock();
    }
  }

  private boolean isLeft(SpoolSegment segment) {
    lock.lock();
    try {
      return segments.getLast() != segment;
    } finally {
      lock.unlock();
    }
  }

  private SpoolSegment first() {
    lock.lock();
    try {
      return segments.element();
    } finally {
      lock.unlock();
    }
  }

  private long force(SpoolSegment segment) {
    long end = segment.finished(at);
    int from = at == SpoolSegment.start() ? 0 : SpoolSegment.offset(at);
    if (SpoolSegment.offset(end) > from && end != at) {
      try {
        disk.force(segment, from, SpoolSegment.offset(end));
      } catch (RuntimeException | Error e) {
        // What the disk holds is unknown, so that it is no use to try again.
        fail(e);
        throw e;
      }
    }
    at = end;
    return end;
  }

  private void fail(Throwable e) {
    lock.lock();
    try {
      failure = e;
      forced.signalAll();
    } finally {
      lock.unlock();
    }
    LOG.log(System.Logger.Level.ERROR, "The spool cannot be forced to the disk any more", e);
  }

  /** All frames of lower numbers are on the disk. */
  long durable() {
    lock.lock();
    try {
      return durable;
    } finally {
      lock.unlock();
    }
  }

  /** The lowest index of a segment that is still to be forced; above all once that has failed. */
  long index() {
    lock.lock();
    try {
      return failure == null ? segments.element().index() : Long.MAX_VALUE;
    } finally {
      lock.unlock();
    }
  }

  /** Forces what is finished, and ends. */
  void close() {
    lock.lock();
    try {
      closed = true;
      wanted.signal();
    } finally {
      lock.unlock();
    }
    SpoolFiles.awaitEnd(thread);
    try {
      while (failure == null && forceNext()) {
        // Those before the last.
      }
    } finally {
      end();
    }
  }

  /** Whoever waits for a frame that was not finished does so in vain. */
  private void end() {
    lock.lock();
    try {
      ended = true;
      forced.signalAll();
    } finally {
      lock.unlock();
    }
  }
}
