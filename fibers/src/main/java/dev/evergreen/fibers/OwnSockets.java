package dev.evergreen.fibers;

import dev.evergreen.kernel.Addresses;
import dev.evergreen.kernel.Errno;
import dev.evergreen.kernel.Scratch;
import dev.evergreen.kernel.SocketCalls;
import java.io.IOException;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;

/** Makes sockets and asks for their addresses, by system calls of ours. */
final class OwnSockets {

  private OwnSockets() {}

  /** Opens a socket of the address's family with the options, neither bound nor connected. */
  static Descriptor open(Descriptors table, SocketAddress address, SocketOptions options)
      throws IOException {
    var scratch = Carrier.currentScratch();
    int fd =
        Errno.check(
            SocketCalls.open(scratch, Addresses.family(address)), "open a socket for " + address);
    var descriptor = Descriptor.of(table, fd);
    try {
      configure(scratch, fd, address, options);
      return descriptor;
    } catch (IOException | RuntimeException | Error e) {
      descriptor.close();
      throw e;
    }
  }

  private static void configure(
      Scratch scratch, int fd, SocketAddress address, SocketOptions options) throws IOException {
    int socket = SocketCalls.SOL_SOCKET;
    if (options.sendBuffer() > 0) {
      set(SocketCalls.option(scratch, fd, socket, SocketCalls.SO_SNDBUF, options.sendBuffer()));
    }
    if (options.receiveBuffer() > 0) {
      set(SocketCalls.option(scratch, fd, socket, SocketCalls.SO_RCVBUF, options.receiveBuffer()));
    }
    if (!(address instanceof UnixDomainSocketAddress)) {
      int noDelay = options.noDelay() ? 1 : 0;
      set(
          SocketCalls.option(
              scratch, fd, SocketCalls.IPPROTO_TCP, SocketCalls.TCP_NODELAY, noDelay));
      set(SocketCalls.option(scratch, fd, socket, SocketCalls.SO_KEEPALIVE, 1));
    }
  }

  private static void set(int result) throws IOException {
    Errno.check(result, "set an option of a socket");
  }

  /** Accepted sockets inherit the options. */
  static void listen(Descriptor descriptor, SocketAddress address, SocketOptions options)
      throws IOException {
    var scratch = Carrier.currentScratch();
    int fd = descriptor.number();
    int family = Addresses.family(address);
    if (family != SocketCalls.AF_UNIX) {
      set(SocketCalls.option(scratch, fd, SocketCalls.SOL_SOCKET, SocketCalls.SO_REUSEADDR, 1));
      if (options.reusePort()) {
        set(SharedPort.allow(scratch, fd));
      }
    }
    if (family == SocketCalls.AF_INET6) {
      set(SocketCalls.option(scratch, fd, SocketCalls.IPPROTO_IPV6, SocketCalls.IPV6_V6ONLY, 0));
    }
    int length = Addresses.write(address, scratch.address());
    Errno.check(SocketCalls.bind(scratch, fd, length), "bind to " + address);
    if (address instanceof UnixDomainSocketAddress unix) {
      // Nobody can connect before it listens.
      options.protect(unix.getPath());
    }
    Errno.check(SocketCalls.listen(scratch, fd, options.backlog()), "listen at " + address);
    if (options.reusePort()) {
      SharedPort.join(scratch, fd);
    }
  }

  static int connect(Descriptor descriptor, SocketAddress address) throws IOException {
    var scratch = Carrier.currentScratch();
    int length = Addresses.write(address, scratch.address());
    return SocketCalls.connect(scratch, descriptor.number(), length);
  }

  static SocketAddress localAddress(Descriptor descriptor) throws IOException {
    descriptor.enter();
    try {
      var scratch = Carrier.currentScratch();
      Errno.check(SocketCalls.localName(scratch, descriptor.number()), "tell its own address");
      return Addresses.read(scratch.address(), scratch.length());
    } finally {
      descriptor.leave();
    }
  }

  static SocketAddress peerAddress(Descriptor descriptor) throws IOException {
    descriptor.enter();
    try {
      var scratch = Carrier.currentScratch();
      Errno.check(SocketCalls.peerName(scratch, descriptor.number()), "tell its peer's address");
      return Addresses.read(scratch.address(), scratch.length());
    } finally {
      descriptor.leave();
    }
  }
}
