package dev.evergreen.fibers;

import dev.evergreen.kernel.Errno;
import dev.evergreen.kernel.SocketCalls;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;

/** A listener by system calls of ours. */
final class OwnListener extends ListenerBase {

  /** So many connections are accepted in a row while other fibers wait. */
  static final int TURN = 4;

  private final ProcessorFibers fibers;
  private final Descriptor descriptor;

  /** Of the acceptor: how many it accepted since it last let others run. */
  private int acceptedInARow;

  private volatile boolean lastCall;

  private OwnListener(ProcessorFibers fibers, Descriptor descriptor, SocketOptions options)
      throws IOException {
    super(fibers, OwnSockets.localAddress(descriptor), options);
    this.fibers = fibers;
    this.descriptor = descriptor;
  }

  static OwnListener open(ProcessorFibers fibers, SocketAddress address, SocketOptions options)
      throws IOException {
    var descriptor = OwnSockets.open(fibers.descriptors(), address, options);
    try {
      OwnSockets.listen(descriptor, address, options);
      return new OwnListener(fibers, descriptor, options);
    } catch (IOException | RuntimeException | Error e) {
      descriptor.close();
      throw e;
    }
  }

  @Override
  public Connection accept() throws IOException {
    letOthersRun();
    descriptor.enter();
    try {
      while (true) {
        var _ = descriptor.readable().pass();
        int fd = SocketCalls.accept(Carrier.currentScratch(), descriptor.number());
        if (fd >= 0) {
          return accepted(fd);
        }
        switch (-fd) {
          case Errno.EAGAIN -> {
            acceptedInARow = 0;
            if (lastCall) {
              close();
            }
            descriptor.checkOpen();
            fibers.outputs().flushAll();
            await();
          }
          case Errno.EINTR, Errno.ECONNABORTED, Errno.EPROTO -> {
            // The next one may be better.
          }
          default -> {
            descriptor.checkOpen();
            throw Errno.of(fd, "accept a connection");
          }
        }
      }
    } finally {
      descriptor.leave();
    }
  }

  private void await() throws IOException {
    var gate = descriptor.readable();
    var scope = CancelScope.current();
    if (scope == null) {
      descriptor.await(gate, fibers.here().poller());
      return;
    }
    scope.checkWait("accept a connection");
    var limit = new TimeLimit(gate);
    scope.begin(gate);
    limit.begin(scope.until(), fibers.here());
    try {
      descriptor.await(gate, fibers.here().poller());
    } finally {
      limit.cancel();
      scope.end(gate);
    }
  }

  /** Whoever connects faster than we accept must not keep those waiting that were accepted. */
  private void letOthersRun() {
    if (acceptedInARow >= TURN) {
      acceptedInARow = 0;
      var processor = Processor.current();
      if (processor != null && processor.othersWait()) {
        Fibers.letOthersRun();
      }
    }
  }

  private Connection accepted(int fd) {
    acceptedInARow++;
    return OwnConnection.opened(fibers, Descriptor.of(fibers.descriptors(), fd), fibers.place());
  }

  @Override
  void start(Connection connection, Runnable task) {
    fibers.spawnAt(((OwnConnection) connection).home(), task);
  }

  @Override
  boolean leaveThePort() {
    if (!(address() instanceof InetSocketAddress) || !descriptor.tryEnter()) {
      return false;
    }
    try {
      SharedPort.leave(Carrier.currentScratch(), descriptor.number());
      return true;
    } finally {
      descriptor.leave();
    }
  }

  @Override
  void lastCall(long until) {
    lastCall = true;
    descriptor.readable().open();
  }

  @Override
  public void close() {
    if (descriptor.close()) {
      fibers.forget(this);
    }
  }
}
