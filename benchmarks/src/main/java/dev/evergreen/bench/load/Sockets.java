package dev.evergreen.bench.load;

import static dev.evergreen.kernel.PollCalls.EPOLLERR;
import static dev.evergreen.kernel.PollCalls.EPOLLET;
import static dev.evergreen.kernel.PollCalls.EPOLLHUP;
import static dev.evergreen.kernel.PollCalls.EPOLLIN;
import static dev.evergreen.kernel.PollCalls.EPOLLOUT;
import static dev.evergreen.kernel.PollCalls.EPOLLRDHUP;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.evergreen.kernel.Addresses;
import dev.evergreen.kernel.Errno;
import dev.evergreen.kernel.FileCalls;
import dev.evergreen.kernel.PollCalls;
import dev.evergreen.kernel.Scratch;
import dev.evergreen.kernel.SocketCalls;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Instant;

/**
 * Sockets and an epoll for one thread, by system calls of Linux: a request costs one {@code send},
 * one {@code recv} and a share of one wait, and waits are exact to the microsecond. The JDK's
 * selector waits in milliseconds. No call allocates.
 */
final class Sockets implements AutoCloseable {

  /**
   * Each event says that something changed, so that the kernel need not look at the socket again.
   */
  private static final int INPUT = EPOLLET | EPOLLRDHUP | EPOLLIN;

  /** Closed by a reset, as else the port would stay taken for a minute. */
  private static final MemorySegment NO_LINGER = Arena.global().allocateFrom(JAVA_INT, 1, 0);

  /** So soon, in nanoseconds, Linux notes when something comes if nobody has asked for it yet. */
  private static final long STAMPS_WITHIN = 1_000_000_000;

  private final Scratch scratch = new Scratch();
  private final int epoll;

  /**
   * What is to be added to a time since 1970, in nanoseconds, for one of {@link System#nanoTime}.
   */
  private final long toNanoTime = toNanoTime();

  /** When the kernel was asked last to note when something comes, by {@link System#nanoTime}. */
  private long stampedSince;

  Sockets() throws IOException {
    epoll = Errno.check(PollCalls.open(scratch), "make an epoll");
    // Else a wait may last 50 µs longer, which would be measured as the server's.
    Errno.check(PollCalls.timerSlack(scratch, 1), "have exact waits");
  }

  /**
   * Connects, and from then on watches for input. Blocks.
   *
   * @param index by which its events are known
   * @param stamped whether the kernel notes when something comes
   * @return its descriptor
   */
  int connect(InetSocketAddress server, int index, boolean stamped) throws IOException {
    int fd =
        Errno.check(SocketCalls.openBlocking(scratch, Addresses.family(server)), "make a socket");
    int length = Addresses.write(server, scratch.address());
    Errno.check(SocketCalls.connect(scratch, fd, length), "connect to " + server);
    option(SocketCalls.option(scratch, fd, SocketCalls.IPPROTO_TCP, SocketCalls.TCP_NODELAY, 1));
    option(
        SocketCalls.option(scratch, fd, SocketCalls.SOL_SOCKET, SocketCalls.SO_LINGER, NO_LINGER));
    if (stamped) {
      option(
          SocketCalls.option(scratch, fd, SocketCalls.SOL_SOCKET, SocketCalls.SO_TIMESTAMPNS, 1));
      stampedSince = System.nanoTime();
    }
    Errno.check(PollCalls.add(scratch, epoll, fd, INPUT, index), "watch a socket");
    return fd;
  }

  private static void option(int result) throws IOException {
    Errno.check(result, "set an option of a socket");
  }

  /** Says whether room for output is watched for as well. */
  void watchOutput(int fd, int index, boolean output) throws IOException {
    int events = output ? INPUT | EPOLLOUT : INPUT;
    Errno.check(PollCalls.change(scratch, epoll, fd, events, index), "watch a socket");
  }

  /** Returns how many bytes were read, 0 at the end, or a negated error number. */
  int receive(int fd, MemorySegment into) {
    return SocketCalls.receive(scratch, fd, into, SocketCalls.MSG_DONTWAIT);
  }

  /**
   * Receives likewise from a stamped connection; {@link #arrival} says when the last of it came.
   */
  int receiveStamped(int fd, MemorySegment into) {
    return SocketCalls.receiveStamped(scratch, fd, into, SocketCalls.MSG_DONTWAIT);
  }

  /**
   * When that came which was received last, by {@link System#nanoTime}. It had to wait from then on
   * for this process to be woken, which is no delay of the server's. Of what comes right after the
   * first connection it may be the time of this call: Linux begins to note it a moment later.
   */
  long arrival() throws IOException {
    long stamp = scratch.arrival();
    if (stamp != 0) {
      return stamp + toNanoTime;
    }
    long now = System.nanoTime();
    if (now - stampedSince > STAMPS_WITHIN) {
      throw new IOException("the kernel does not say when something came");
    }
    return now;
  }

  /** As the clocks are read one after the other, the two that are nearest to each other count. */
  private static long toNanoTime() {
    long best = 0;
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 100; i++) {
      long before = System.nanoTime();
      var now = Instant.now();
      long after = System.nanoTime();
      if (after - before < least) {
        least = after - before;
        best = before + least / 2 - now.getEpochSecond() * 1_000_000_000 - now.getNano();
      }
    }
    return best;
  }

  /** Returns how many bytes were taken, or a negated error number. */
  int send(int fd, MemorySegment from) {
    return SocketCalls.send(scratch, fd, from, SocketCalls.MSG_DONTWAIT);
  }

  /**
   * Waits for events.
   *
   * @param nanos at most so long
   * @return how many there are
   */
  int await(long nanos) throws IOException {
    int n = PollCalls.await(scratch, epoll, Math.max(0, nanos));
    if (!PollCalls.isExact()) {
      throw new IOException("exact waits need Linux 5.11 or newer");
    }
    return n == -Errno.EINTR ? 0 : Errno.check(n, "wait for events");
  }

  /** The index of the socket of an event. */
  int index(int event) {
    return (int) scratch.eventData(event);
  }

  /** Whether there is room for output. */
  boolean writable(int event) {
    return (scratch.eventFlags(event) & EPOLLOUT) != 0;
  }

  /** Whether the server sends no more. */
  boolean ended(int event) {
    return (scratch.eventFlags(event) & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) != 0;
  }

  void close(int fd) {
    FileCalls.close(scratch, fd);
  }

  @Override
  public void close() {
    close(epoll);
  }
}
