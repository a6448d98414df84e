package dev.evergreen.memcached;

import dev.evergreen.fibers.Fibers.Mode;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.List;

/** A server at a free port, for one test. */
record TestServer(MemcachedServer server) implements AutoCloseable {

  static MemcachedSettings settings(Mode mode) {
    return MemcachedSettings.DEFAULT
        .withAddresses(List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)))
        .withProcessors(2)
        .withMode(mode);
  }

  static TestServer start(MemcachedSettings settings) throws IOException {
    return new TestServer(MemcachedServer.start(settings));
  }

  static TestServer start(Mode mode) throws IOException {
    return start(settings(mode));
  }

  /** One whose items may take so many bytes. */
  static TestServer start(Mode mode, long memory) throws IOException {
    return start(settings(mode).withMemory(memory));
  }

  int port() {
    return ((InetSocketAddress) server.addresses().getFirst()).getPort();
  }

  Client connect() throws IOException {
    return new Client(port());
  }

  /** One whose system takes little that it does not read. */
  Client connectWithSmallBuffer() throws IOException {
    var socket = new Socket();
    socket.setReceiveBufferSize(2048);
    socket.connect(server.addresses().getFirst());
    return new Client(socket);
  }

  @Override
  public void close() {
    server.close();
  }
}
