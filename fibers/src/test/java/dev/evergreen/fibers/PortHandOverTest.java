package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Fibers.Mode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A listener ends, and another one goes on at its port, without a client that fails. */
@Timeout(120)
class PortHandOverTest {

  private static final Duration LONG = Duration.ofMinutes(1);
  private static final SocketOptions SHARED = SocketOptions.DEFAULT.withReusePort();

  @ParameterizedTest
  @EnumSource
  void aPortIsSharedOnlyByThoseWhoAllowIt(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var first = fibers.listen(Pair.loopback(), SHARED);
        var second = fibers.listen(first.address(), SHARED)) {
      assertEquals(first.address(), second.address());
      assertThrows(BindException.class, () -> fibers.listen(first.address()));
    }
  }

  @ParameterizedTest
  @EnumSource
  void whatTheSystemHasQueuedIsServedBeforeTheEnd(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      var listener = fibers.listen(Pair.loopback());
      drainWithAQueue(fibers, listener);
      assertThrows(ConnectException.class, () -> SocketChannel.open(listener.address()));
    }
  }

  /** Ends a listener that has accepted two connections of many, and begun to serve one. */
  private static void drainWithAQueue(Fibers fibers, Listener listener) throws Exception {
    var held = new CountDownLatch(1);
    var refused = new AtomicInteger();
    var accepting = new CountDownLatch(1);
    // Refusals run in the acceptor's fiber: it accepts no more until the end has begun.
    var server =
        fibers.spawn(
            () ->
                listener.serve(
                    _ -> {
                      accepting.countDown();
                      await(held);
                    },
                    new ConnectionLimit(1),
                    connection -> {
                      while (!listener.draining().cancelled()) {
                        Fibers.letOthersRun();
                      }
                      refused.incrementAndGet();
                      connection.write(Pair.bytes("!"));
                    }));
    var clients = new ArrayList<SocketChannel>();
    try {
      while (clients.size() < 40) {
        clients.add(SocketChannel.open(listener.address()));
      }
      // Where nobody has begun to accept, nobody would be waited for.
      accepting.await();
      var drained = new CompletableFuture<Boolean>();
      Thread.ofPlatform().start(() -> drained.complete(listener.drain(LONG)));
      for (var client : clients.subList(1, clients.size())) {
        assertEquals("!", readOne(client));
      }
      assertEquals(clients.size() - 1, refused.get());
      held.countDown();
      server.join();
      assertTrue(Fiber.get(drained));
    } finally {
      for (var client : clients) {
        client.close();
      }
    }
  }

  private static void await(CountDownLatch latch) throws IOException {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  private static String readOne(SocketChannel client) throws IOException {
    var into = ByteBuffer.allocate(1);
    return client.read(into) < 0 ? "" : new String(into.array(), StandardCharsets.US_ASCII);
  }

  /** Who has left the port before the next one comes is no trouble to that. */
  @ParameterizedTest
  @EnumSource
  void allListenersOfAPortAreUsedAfterAHandOver(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      var first = fibers.listen(Pair.loopback(), SHARED);
      var second = fibers.listen(first.address(), SHARED);
      var server = fibers.spawn(() -> first.serve(_ -> {}));
      Fiber.awaitParked(server);
      assertTrue(first.drain(LONG));
      var third = fibers.listen(second.address(), SHARED);
      var counts = new AtomicIntegerArray(2);
      for (var listener : new Listener[] {second, third}) {
        fibers.spawn(
            () ->
                listener.serve(
                    connection -> {
                      counts.incrementAndGet(listener == second ? 0 : 1);
                      connection.write(Pair.bytes("!"));
                    }));
      }
      while (counts.get(0) == 0 || counts.get(1) == 0) {
        try (var client = SocketChannel.open(second.address())) {
          assertEquals("!", readOne(client));
        }
      }
    }
  }

  /** None is lost between the last look at the queue and the end, as none comes any more. */
  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "JDK")
  void whoLeavesAPortGetsNothingNew(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var old = (OwnListener) fibers.listen(Pair.loopback(), SHARED)) {
      try (var next = fibers.listen(old.address(), SHARED)) {
        assertTrue(old.leaveThePort());
        for (int i = 0; i < 20; i++) {
          try (var client = SocketChannel.open(next.address());
              var accepted = Fiber.run(fibers, next::accept)) {
            assertEquals(client.getLocalAddress(), accepted.peerAddress());
          }
        }
      }
      // Nobody else is there: a client may wait or be refused, but is not taken and dropped.
      try (var client = SocketChannel.open()) {
        assertThrows(IOException.class, () -> client.socket().connect(old.address(), 100));
      }
    }
  }

  /** One process after the other serves the port, while clients connect as fast as they can. */
  @Test
  void processesTakeOverAPortUnderAFlood() throws Exception {
    var failures = new ConcurrentLinkedQueue<Exception>();
    var served = new AtomicIntegerArray(3);
    var stop = new AtomicBoolean();
    var flood = new ArrayList<Thread>();
    try (var first = Generation.start(0, 0)) {
      var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), first.port());
      for (int i = 0; i < 2; i++) {
        flood.add(Thread.ofPlatform().start(() -> call(address, served, stop, failures)));
      }
      awaitSome(served, 0, failures);
      try (var second = Generation.start(1, first.port())) {
        first.drain();
        awaitSome(served, 1, failures);
        try (var third = Generation.start(2, first.port())) {
          second.drain();
          awaitSome(served, 2, failures);
          stop.set(true);
          for (var thread : flood) {
            thread.join();
          }
          third.drain();
        }
      }
    } finally {
      stop.set(true);
    }
    for (var failure : failures) {
      throw new AssertionError("a client failed, as " + failures.size() + " did", failure);
    }
  }

  private static void awaitSome(AtomicIntegerArray served, int which, Queue<Exception> failures) {
    while (served.get(which) < 500 && failures.isEmpty()) {
      Thread.onSpinWait();
    }
  }

  /** Connects, asks and is answered, again and again. */
  private static void call(
      SocketAddress address,
      AtomicIntegerArray served,
      AtomicBoolean stop,
      Queue<Exception> failures) {
    while (!stop.get()) {
      try (var client = SocketChannel.open(address)) {
        // Else all ports would soon be waiting for the last packets.
        client.setOption(StandardSocketOptions.SO_LINGER, 0);
        client.write(ByteBuffer.wrap(Pair.bytes("?")));
        served.incrementAndGet(Integer.parseInt(readOne(client)));
      } catch (IOException | NumberFormatException e) {
        failures.add(e);
        return;
      }
    }
  }

  /** A process that serves the port until it is told to end. */
  private record Generation(Process process, BufferedReader output, int port)
      implements AutoCloseable {

    static Generation start(int which, int port) throws IOException {
      var process = ChildJvm.of(Server.class).start(which, port);
      var output =
          new BufferedReader(
              new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
      return new Generation(process, output, Integer.parseInt(output.readLine()));
    }

    void drain() throws IOException, InterruptedException {
      process.getOutputStream().close();
      assertEquals("drained: true", output.readLine());
      assertEquals(0, process.waitFor());
    }

    @Override
    public void close() {
      process.destroyForcibly();
    }
  }

  /** Answers each request by which one it is; drains when its input ends. */
  static final class Server {
    private Server() {}

    public static void main(String[] arguments) throws IOException {
      var address =
          new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[1]));
      try (var fibers = Fibers.builder().mode(Mode.PROCESSORS).processors(2).start();
          var listener = fibers.listen(address, SHARED)) {
        fibers.spawn(
            () ->
                listener.serve(
                    connection -> {
                      while (connection.read(ByteBuffer.allocate(1)) > 0) {
                        connection.write(Pair.bytes(arguments[0]));
                      }
                    }));
        System.out.println(((InetSocketAddress) listener.address()).getPort());
        while (System.in.read() >= 0) {
          // Goes on until we are told to end.
        }
        System.out.println("drained: " + listener.drain(LONG));
      }
    }
  }
}
