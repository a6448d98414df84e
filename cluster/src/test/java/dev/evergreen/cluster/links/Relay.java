package dev.evergreen.cluster.links;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Stands between two nodes, so that their connection can be cut. */
public final class Relay implements AutoCloseable {

  private final ServerSocket server;
  private final InetSocketAddress target;
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();
  private boolean frozen;

  Relay(InetSocketAddress target) throws IOException {
    this(target, "127.0.0.1");
  }

  Relay(InetSocketAddress target, String address) throws IOException {
    this(target, new InetSocketAddress(InetAddress.getByName(address), 0));
  }

  public Relay(InetSocketAddress target, InetSocketAddress address) throws IOException {
    this.target = target;
    server = new ServerSocket(address.getPort(), 50, address.getAddress());
    Thread.startVirtualThread(this::accept);
  }

  InetSocketAddress address() {
    return (InetSocketAddress) server.getLocalSocketAddress();
  }

  private void accept() {
    while (!server.isClosed()) {
      try {
        var from = server.accept();
        var to = new Socket(target.getAddress(), target.getPort());
        open.add(from);
        open.add(to);
        Thread.startVirtualThread(() -> pass(from, to));
        Thread.startVirtualThread(() -> pass(to, from));
      } catch (IOException e) {
        cut();
      }
    }
  }

  private void pass(Socket from, Socket to) {
    try (from;
        to) {
      var in = from.getInputStream();
      var out = to.getOutputStream();
      byte[] buffer = new byte[16 << 10];
      for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
        awaitThaw();
        out.write(buffer, 0, read);
      }
    } catch (IOException e) {
      Link.close(to); // it was cut
    } finally {
      open.remove(from);
    }
  }

  /** Lets nothing through from now on, without a word. */
  synchronized void freeze() {
    frozen = true;
  }

  /** Lets through what waits, and all that comes. */
  synchronized void thaw() {
    frozen = false;
    notifyAll();
  }

  private synchronized void awaitThaw() throws IOException {
    try {
      while (frozen) {
        wait();
      }
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  /** Ends what goes through, whatever is under way. */
  void cut() {
    for (var socket : List.copyOf(open)) {
      Link.close(socket);
    }
  }

  @Override
  public void close() throws IOException {
    server.close();
    thaw();
    cut();
  }
}
