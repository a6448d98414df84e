package dev.evergreen.fibers;

import dev.evergreen.kernel.Errno;
import dev.evergreen.kernel.FileCalls;
import dev.evergreen.kernel.PollCalls;
import dev.evergreen.kernel.Scratch;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A poller by epoll, edge-triggered: a socket is registered once, and each event says that
 * something changed since the last one.
 *
 * <p>The eventfd that wakes the owner is edge-triggered as well, so that nobody needs to read it:
 * each write is an edge. Somebody else who polls may get the owner's edge; it is given back by
 * writing again, else the owner might sleep on.
 */
final class EventPoll implements Poller {

  private static final int EVENTS =
      PollCalls.EPOLLIN
          | PollCalls.EPOLLPRI
          | PollCalls.EPOLLOUT
          | PollCalls.EPOLLRDHUP
          | PollCalls.EPOLLET;

  /** The peer will send no more than what is there, or is gone. */
  private static final int END = PollCalls.EPOLLRDHUP | PollCalls.EPOLLHUP | PollCalls.EPOLLERR;

  /** After these the end of input may follow without an edge of its own, or what is urgent. */
  private static final int MORE_MAY_FOLLOW = PollCalls.EPOLLPRI | END;

  private static final int INPUT = PollCalls.EPOLLIN | MORE_MAY_FOLLOW;
  private static final int OUTPUT = PollCalls.EPOLLOUT | PollCalls.EPOLLHUP | PollCalls.EPOLLERR;

  /** No key of a descriptor, as those are positive. */
  private static final long WAKE_UP = -1;

  private final Descriptors descriptors;
  private final int epoll;
  private final int eventfd;
  private final Scratch owner;

  /** Who is about to write to the eventfd, whose number must not be another file's by then. */
  private final AtomicInteger wakers = new AtomicInteger();

  private volatile boolean closed;

  /** The events of the waits that use {@code owner} are those of the poller's own processor. */
  EventPoll(Descriptors descriptors, Scratch owner) throws IOException {
    this.descriptors = descriptors;
    this.owner = owner;
    var scratch = Carrier.currentScratch();
    epoll = Errno.check(PollCalls.open(scratch), "make an epoll");
    eventfd = PollCalls.openEvent(scratch);
    if (eventfd < 0) {
      FileCalls.close(scratch, epoll);
      throw Errno.of(eventfd, "make an eventfd");
    }
    int added =
        PollCalls.add(scratch, epoll, eventfd, PollCalls.EPOLLIN | PollCalls.EPOLLET, WAKE_UP);
    if (added < 0) {
      close(scratch);
      throw Errno.of(added, "register an eventfd");
    }
  }

  @Override
  public void register(Descriptor descriptor) throws IOException {
    Errno.check(
        PollCalls.add(
            Carrier.currentScratch(), epoll, descriptor.number(), EVENTS, descriptor.key()),
        "register a socket");
  }

  @Override
  public int await(Scratch scratch, long nanos) {
    int n = PollCalls.await(scratch, epoll, nanos);
    if (n < 0 && n != -Errno.EINTR) {
      throw new IllegalStateException("epoll_wait failed with error " + -n);
    }
    return Math.max(0, n);
  }

  /** Each event is told once: those behind one that fails are delivered all the same. */
  @Override
  public void deliver(Scratch scratch, int events) {
    deliver(scratch, 0, events);
  }

  private void deliver(Scratch scratch, int from, int events) {
    for (int i = from; i < events; i++) {
      try {
        long key = scratch.eventData(i);
        if (key != WAKE_UP) {
          deliver(key, scratch.eventFlags(i));
        } else if (scratch != owner) {
          wake();
        }
      } catch (Throwable e) {
        deliver(scratch, i + 1, events);
        throw e;
      }
    }
  }

  private void deliver(long key, int flags) {
    var descriptor = descriptors.find(key);
    // Else it has been closed since.
    if (descriptor != null) {
      if ((flags & MORE_MAY_FOLLOW) != 0) {
        descriptor.expectMore();
      }
      if ((flags & END) != 0) {
        descriptor.peerHasEnded();
      }
      try {
        if ((flags & INPUT) != 0) {
          descriptor.readable().open();
        }
      } finally {
        if ((flags & OUTPUT) != 0) {
          descriptor.writable().open();
        }
      }
    }
  }

  @Override
  public void wake() {
    wakers.incrementAndGet();
    if (!closed) {
      PollCalls.signal(eventfd);
    }
    wakers.decrementAndGet();
  }

  @Override
  public void close(Scratch scratch) {
    closed = true;
    while (wakers.get() != 0) {
      Thread.onSpinWait();
    }
    FileCalls.close(scratch, eventfd);
    FileCalls.close(scratch, epoll);
  }
}
