package dev.evergreen.fibers;

import java.io.IOException;
import java.net.SocketAddress;

/** A listener by system calls of ours. */
final class OwnListener implements Listener, FibersBase.Closing {

  private final ProcessorFibers fibers;
  private final Descriptor descriptor;
  private final SocketAddress address;

  private OwnListener(ProcessorFibers fibers, Descriptor descriptor) throws IOException {
    this.fibers = fibers;
    this.descriptor = descriptor;
    address = OwnSockets.localAddress(descriptor);
  }

  static OwnListener open(ProcessorFibers fibers, SocketAddress address, SocketOptions options)
      throws IOException {
    var descriptor = OwnSockets.open(fibers.descriptors(), address, options);
    try {
      OwnSockets.listen(descriptor, address, options.backlog());
      return new OwnListener(fibers, descriptor);
    } catch (IOException e) {
      descriptor.close();
      throw e;
    }
  }

  @Override
  public SocketAddress address() {
    return address;
  }

  @Override
  public Connection accept() throws IOException {
    descriptor.enter();
    try {
      while (true) {
        var _ = descriptor.readable().pass();
        int fd = Kernel.accept(Scratch.current(), descriptor.number());
        if (fd >= 0) {
          return accepted(fd);
        }
        switch (-fd) {
          case Kernel.EAGAIN -> descriptor.await(descriptor.readable(), fibers.here().poller());
          case Kernel.EINTR, Kernel.ECONNABORTED, Kernel.EPROTO -> {
            // The next one may be better.
          }
          default -> {
            descriptor.checkOpen();
            throw SocketErrors.of(fd, "accept a connection");
          }
        }
      }
    } finally {
      descriptor.leave();
    }
  }

  private Connection accepted(int fd) {
    return fibers.opened(
        new OwnConnection(fibers, new Descriptor(fibers.descriptors(), fd), fibers.place()));
  }

  @Override
  public void serve(Handler handler) {
    Serving.serve(
        fibers,
        this,
        (connection, task) -> fibers.spawnAt(((OwnConnection) connection).home(), task),
        handler);
  }

  @Override
  public void close() {
    if (descriptor.close()) {
      fibers.forget(this);
    }
  }

  @Override
  public String toString() {
    return "listener at " + address;
  }
}
