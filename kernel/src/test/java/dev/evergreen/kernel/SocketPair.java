package dev.evergreen.kernel;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;

/** Two sockets that are connected, by the calls that are tested. */
record SocketPair(int listener, int client, int server) implements AutoCloseable {

  private static final Scratch SCRATCH = new Scratch();

  static SocketPair open() throws IOException {
    return open(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }

  static SocketPair open(SocketAddress address) throws IOException {
    int listener = listen(address);
    int client = Errno.check(SocketCalls.openBlocking(SCRATCH, Addresses.family(address)), "open");
    int length = Addresses.write(nameOf(listener), SCRATCH.address());
    Errno.check(SocketCalls.connect(SCRATCH, client, length), "connect");
    return new SocketPair(
        listener, client, Errno.check(SocketCalls.accept(SCRATCH, listener), "accept"));
  }

  static int listen(SocketAddress address) throws IOException {
    int fd = Errno.check(SocketCalls.open(SCRATCH, Addresses.family(address)), "open");
    int length = Addresses.write(address, SCRATCH.address());
    Errno.check(SocketCalls.bind(SCRATCH, fd, length), "bind");
    Errno.check(SocketCalls.listen(SCRATCH, fd, 1), "listen");
    return fd;
  }

  static SocketAddress nameOf(int fd) throws IOException {
    Errno.check(SocketCalls.localName(SCRATCH, fd), "tell its name");
    return Addresses.read(SCRATCH.address(), SCRATCH.length());
  }

  /** Receives at the server, as soon as something is there. */
  int receive(MemorySegment into) throws IOException {
    awaitEvent(server, PollCalls.EPOLLIN);
    return SocketCalls.receive(SCRATCH, server, into, 0);
  }

  static void awaitEvent(int fd, int event) throws IOException {
    int epoll = Errno.check(PollCalls.open(SCRATCH), "open");
    try {
      Errno.check(PollCalls.add(SCRATCH, epoll, fd, event, 1), "add");
      assertTrue(PollCalls.await(SCRATCH, epoll, 10_000_000_000L) > 0, "no event came");
    } finally {
      FileCalls.close(SCRATCH, epoll);
    }
  }

  @Override
  public void close() {
    FileCalls.close(SCRATCH, client);
    FileCalls.close(SCRATCH, server);
    FileCalls.close(SCRATCH, listener);
  }
}
