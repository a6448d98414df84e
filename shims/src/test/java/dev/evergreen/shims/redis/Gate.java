package dev.evergreen.shims.redis;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/**
 * Stands before a Redis and passes on what is said. It can stop to do so for those who come from
 * then on, while those who are there talk on.
 */
final class Gate implements AutoCloseable {
  private static final int PATIENCE_MILLIS = 100;

  /** Of the system's table of connections. */
  private static final List<String> DIALLING = List.of("01", "02");

  private final ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
  private volatile int port;
  private final List<Socket> queue = new ArrayList<>();
  private final ConcurrentLinkedQueue<Socket> sockets = new ConcurrentLinkedQueue<>();
  private volatile CountDownLatch opened = new CountDownLatch(0);
  private final CountDownLatch closed = new CountDownLatch(1);

  /** How often all that there was has vanished. */
  private final AtomicInteger vanished = new AtomicInteger();

  Gate(RedisServer redis) throws IOException {
    port = redis.port;
    Thread.ofVirtual().start(this::serve);
  }

  int port() {
    return server.getLocalPort();
  }

  /** From now on connections can be made, and nothing is said by them. */
  void mute() {
    opened = new CountDownLatch(1);
  }

  /** From now on the system does not answer to who wants a connection. */
  void shut() throws IOException {
    mute();
    try {
      while (true) {
        var next = new Socket();
        queue.add(next);
        next.connect(new InetSocketAddress(server.getInetAddress(), port()), PATIENCE_MILLIS);
      }
    } catch (SocketTimeoutException e) {
      // The queue of those who are to be let in is full.
      return;
    }
  }

  /** Lets all in again. */
  void open() throws IOException {
    for (var one : queue) {
      one.close();
    }
    queue.clear();
    opened.countDown();
  }

  /** How many connections others have here, or wait for, as the system's table tells. */
  long connections() throws IOException {
    var there = ":%04X".formatted(port());
    return Stream.concat(
            Files.readAllLines(Path.of("/proc/net/tcp")).stream(),
            Files.readAllLines(Path.of("/proc/net/tcp6")).stream())
        .map(line -> line.strip().split("\\s+", -1))
        .filter(fields -> fields[2].endsWith(there) && DIALLING.contains(fields[3]))
        .count();
  }

  private void serve() {
    try {
      while (true) {
        var near = server.accept();
        sockets.add(near);
        opened.await();
        Thread.ofVirtual().start(() -> join(near));
      }
    } catch (IOException e) {
      // It was closed.
      return;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void join(Socket near) {
    int before = vanished.get();
    try (near;
        var far = new Socket(InetAddress.getLoopbackAddress(), port)) {
      sockets.add(far);
      near.setTcpNoDelay(true);
      far.setTcpNoDelay(true);
      var back = Thread.ofVirtual().start(() -> pass(far, near, before));
      pass(near, far, before);
      back.join();
    } catch (IOException e) {
      // One of them has gone.
      return;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void pass(Socket from, Socket to, int before) {
    var bytes = new byte[1 << 14];
    try {
      for (int n = 0; n >= 0; n = from.getInputStream().read(bytes)) {
        awaitEnd(before);
        to.getOutputStream().write(bytes, 0, n);
      }
      awaitEnd(before);
      to.shutdownOutput();
    } catch (IOException e) {
      // One of them has ended it.
      return;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Of what has vanished no end is told. */
  private void awaitEnd(int before) throws InterruptedException {
    if (vanished.get() != before) {
      closed.await();
    }
  }

  /**
   * Nothing more comes of all that there is, not even its end, as if a machine had vanished.
   *
   * @param next before which it stands from now on
   */
  void vanish(RedisServer next) {
    port = next.port;
    vanished.incrementAndGet();
  }

  /** Ends all that there is, and stands before another one from now on. */
  void turnTo(RedisServer other) throws IOException {
    port = other.port;
    for (var socket : sockets) {
      socket.close();
    }
  }

  /** Ends all that there is, and lets nobody in any more. */
  void end() throws IOException {
    server.close();
    // Those who wait to be let in are not let in first.
    for (var socket : sockets) {
      socket.close();
    }
    open();
    closed.countDown();
  }

  @Override
  public void close() throws IOException {
    end();
  }
}
