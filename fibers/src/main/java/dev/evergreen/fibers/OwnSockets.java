package dev.evergreen.fibers;

import java.io.IOException;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;

/** Makes sockets and asks for their addresses, by system calls of ours. */
final class OwnSockets {

  private OwnSockets() {}

  /** Opens a socket of the address's family with the options, neither bound nor connected. */
  static Descriptor open(Descriptors table, SocketAddress address, SocketOptions options)
      throws IOException {
    var scratch = Scratch.current();
    int fd =
        SocketErrors.check(
            Kernel.socket(scratch, Addresses.family(address)), "open a socket for " + address);
    var descriptor = new Descriptor(table, fd);
    try {
      configure(scratch, fd, address, options);
      return descriptor;
    } catch (IOException e) {
      descriptor.close();
      throw e;
    }
  }

  private static void configure(
      Scratch scratch, int fd, SocketAddress address, SocketOptions options) throws IOException {
    int socket = Kernel.SOL_SOCKET;
    if (options.sendBuffer() > 0) {
      set(Kernel.option(scratch, fd, socket, Kernel.SO_SNDBUF, options.sendBuffer()));
    }
    if (options.receiveBuffer() > 0) {
      set(Kernel.option(scratch, fd, socket, Kernel.SO_RCVBUF, options.receiveBuffer()));
    }
    if (!(address instanceof UnixDomainSocketAddress)) {
      int noDelay = options.noDelay() ? 1 : 0;
      set(Kernel.option(scratch, fd, Kernel.IPPROTO_TCP, Kernel.TCP_NODELAY, noDelay));
    }
  }

  private static void set(int result) throws IOException {
    SocketErrors.check(result, "set an option of a socket");
  }

  /** Accepted sockets inherit the options. */
  static void listen(Descriptor descriptor, SocketAddress address, SocketOptions options)
      throws IOException {
    var scratch = Scratch.current();
    int fd = descriptor.number();
    int family = Addresses.family(address);
    if (family != Kernel.AF_UNIX) {
      set(Kernel.option(scratch, fd, Kernel.SOL_SOCKET, Kernel.SO_REUSEADDR, 1));
      if (options.reusePort()) {
        set(SharedPort.allow(scratch, fd));
      }
    }
    if (family == Kernel.AF_INET6) {
      set(Kernel.option(scratch, fd, Kernel.IPPROTO_IPV6, Kernel.IPV6_V6ONLY, 0));
    }
    int length = Addresses.write(address, scratch.address());
    SocketErrors.check(Kernel.bind(scratch, fd, length), "bind to " + address);
    SocketErrors.check(Kernel.listen(scratch, fd, options.backlog()), "listen at " + address);
    if (options.reusePort()) {
      SharedPort.join(scratch, fd);
    }
  }

  static int connect(Descriptor descriptor, SocketAddress address) throws IOException {
    var scratch = Scratch.current();
    int length = Addresses.write(address, scratch.address());
    return Kernel.connect(scratch, descriptor.number(), length);
  }

  static SocketAddress localAddress(Descriptor descriptor) throws IOException {
    descriptor.enter();
    try {
      var scratch = Scratch.current();
      SocketErrors.check(Kernel.localName(scratch, descriptor.number()), "tell its own address");
      return Addresses.read(scratch.address(), scratch.length());
    } finally {
      descriptor.leave();
    }
  }

  static SocketAddress peerAddress(Descriptor descriptor) throws IOException {
    descriptor.enter();
    try {
      var scratch = Scratch.current();
      SocketErrors.check(Kernel.peerName(scratch, descriptor.number()), "tell its peer's address");
      return Addresses.read(scratch.address(), scratch.length());
    } finally {
      descriptor.leave();
    }
  }
}
