package dev.evergreen.bench;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

/**
 * The least that a remote call can cost with blocking sockets: a connection of its own for each
 * caller, and a virtual thread at either end that writes and reads.
 */
final class Floor implements CallPath {

  private final List<HostProcess> hosts;
  private final List<Socket> sockets = new ArrayList<>();

  Floor(List<HostProcess> hosts) {
    this.hosts = hosts;
  }

  /** Answers whoever connects, until the process ends; returns the port. */
  static int listen() throws IOException {
    var server = new ServerSocket(0, 2_048, InetAddress.getLoopbackAddress());
    Thread.ofPlatform().daemon().name("floor").start(() -> accept(server));
    return server.getLocalPort();
  }

  private static void accept(ServerSocket server) {
    try {
      while (true) {
        var socket = server.accept();
        socket.setTcpNoDelay(true);
        Thread.startVirtualThread(() -> answer(socket));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void answer(Socket socket) {
    try (socket) {
      var in = new DataInputStream(socket.getInputStream());
      var out = socket.getOutputStream();
      byte[] request = new byte[RemoteEcho.REQUEST];
      byte[] answer = new byte[RemoteEcho.ANSWER];
      while (true) {
        in.readFully(request);
        out.write(answer);
      }
    } catch (IOException e) {
      return; // the caller has gone
    }
  }

  @Override
  public String name() {
    return "socket ping-pong, a connection per caller";
  }

  @Override
  public Runnable caller(int index) throws IOException {
    while (sockets.size() <= index) {
      var host = hosts.get(sockets.size() % hosts.size());
      var socket = new Socket(InetAddress.getLoopbackAddress(), host.floorPort());
      socket.setTcpNoDelay(true);
      sockets.add(socket);
    }
    var in = new DataInputStream(sockets.get(index).getInputStream());
    var out = sockets.get(index).getOutputStream();
    byte[] request = new byte[RemoteEcho.REQUEST];
    byte[] answer = new byte[RemoteEcho.ANSWER];
    return () -> {
      try {
        out.write(request);
        in.readFully(answer);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    };
  }

  @Override
  public void close() throws IOException {
    for (var socket : sockets) {
      socket.close();
    }
  }
}
