package dev.evergreen.fibers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;

/** A listener that accepts nothing, and whose queue is full: who connects to it waits. */
final class FullListener implements AutoCloseable {

  private final ServerSocket listener;
  private final List<Socket> queued = new ArrayList<>();

  FullListener() throws IOException {
    this(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }

  FullListener(InetSocketAddress at) throws IOException {
    listener = new ServerSocket(at.getPort(), 1, at.getAddress());
    try {
      while (true) {
        var socket = new Socket();
        queued.add(socket);
        socket.connect(listener.getLocalSocketAddress(), 100);
      }
    } catch (SocketTimeoutException e) {
      // Now it is full.
    }
  }

  InetSocketAddress address() {
    return (InetSocketAddress) listener.getLocalSocketAddress();
  }

  @Override
  public void close() throws IOException {
    listener.close();
    for (var socket : queued) {
      socket.close();
    }
  }
}
