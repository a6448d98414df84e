package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Fibers.Io;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * 15,360 connections at rest cost no processor time and a bounded number of bytes each. Server and
 * clients are processes of their own, since one cannot have that many descriptors.
 */
@Timeout(180)
class IdleConnectionsTest {

  private static final int CONNECTIONS = Integer.getInteger("evergreen.fibers.connections", 15_360);

  @ParameterizedTest
  @EnumSource
  void theyCostNothingButAFewKilobytes(Io io) throws Exception {
    var server = ChildJvm.of(Server.class).start(CONNECTIONS, io);
    var clients = new ArrayList<Process>();
    try (var lines = server.inputReader()) {
      int port = Integer.parseInt(value(lines, "port"));
      clients.add(ChildJvm.of(Clients.class).start(port, CONNECTIONS));
      long bytes = Long.parseLong(value(lines, "heap bytes each"));
      var outside = value(lines, "native bytes each");
      var polls = value(lines, "polls at rest");
      var nanos = value(lines, "nanoseconds of processors at rest");
      assertTrue(bytes <= 4096, "a connection at rest needs " + bytes + " bytes");
      assertEquals("0", polls);
      System.out.println(
          CONNECTIONS
              + " idle connections: "
              + bytes
              + " bytes of heap each, "
              + outside
              + " of native memory, "
              + nanos
              + " ns of processor time a second");
    } finally {
      server.destroyForcibly().waitFor();
      for (var client : clients) {
        client.destroyForcibly().waitFor();
      }
    }
  }

  private static String value(BufferedReader lines, String name) throws IOException {
    var output = new StringBuilder();
    for (var line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.startsWith(name + ": ")) {
        return line.substring(name.length() + 2);
      }
      output.append(line).append('\n');
    }
    throw new AssertionError("the server did not say " + name + " but:\n" + output);
  }

  /** Answers each byte, and says what all its connections cost while they rest. */
  static final class Server {
    public static void main(String[] args) throws Exception {
      int expected = Integer.parseInt(args[0]);
      var served = new CountDownLatch(expected);
      try (var fibers = Fibers.builder().processors(2).io(Io.valueOf(args[1])).start();
          var listener =
              fibers.listen(
                  new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                  SocketOptions.DEFAULT.withBacklog(4096))) {
        try (var warm = fibers.listen(Pair.loopback())) {
          fibers.spawn(() -> warm.serve(connection -> serve(connection, new CountDownLatch(0))));
          Fiber.run(fibers, () -> askOnce(fibers, warm));
        }
        long before = heap();
        long nativeBefore = nativeMemory();
        fibers.spawn(() -> listener.serve(connection -> serve(connection, served)));
        System.out.println("port: " + ((InetSocketAddress) listener.address()).getPort());
        served.await();
        System.out.println("heap bytes each: " + (heap() - before) / expected);
        System.out.println("native bytes each: " + (nativeMemory() - nativeBefore) / expected);
        awaitRest(fibers);
        long polls = polls(fibers);
        long time = processorNanos();
        Thread.sleep(Duration.ofSeconds(1));
        System.out.println("polls at rest: " + (polls(fibers) - polls));
        System.out.println("nanoseconds of processors at rest: " + (processorNanos() - time));
        System.out.flush();
        new CountDownLatch(1).await();
      }
    }

    private static int askOnce(Fibers fibers, Listener at) throws IOException {
      try (var connection = fibers.connect(at.address())) {
        connection.write(new byte[1]);
        return connection.read(ByteBuffer.allocate(1));
      }
    }

    /** Its buffer is on loan only while there is something to read. */
    private static void serve(Connection connection, CountDownLatch served) throws IOException {
      while (true) {
        connection.awaitInput();
        try (var loan = Buffers.borrow()) {
          var into = loan.buffer();
          int n;
          while ((n = connection.tryRead(into.clear())) > 0) {
            connection.write(into.flip());
            connection.flush();
            served.countDown();
          }
          if (n < 0) {
            return;
          }
        }
      }
    }

    private static long heap() {
      for (int i = 0; i < 3; i++) {
        System.gc();
      }
      return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    /** Resident memory that is not heap; the heap's is all resident from the start. */
    private static long nativeMemory() throws IOException {
      try (var lines = Files.lines(Path.of("/proc/self/status"))) {
        return lines
            .filter(line -> line.startsWith("VmRSS"))
            .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
            .sum();
      }
    }

    private static void awaitRest(Fibers fibers) throws InterruptedException {
      long before;
      do {
        before = polls(fibers);
        Thread.sleep(100);
      } while (polls(fibers) != before);
    }

    private static long polls(Fibers fibers) {
      return fibers.report().processors().stream().mapToLong(p -> p.polls() + p.runs()).sum();
    }

    /** What the threads of the processors, and the watch over them, have used. */
    private static long processorNanos() {
      var threads = ManagementFactory.getThreadMXBean();
      long sum = 0;
      for (var info : threads.getThreadInfo(threads.getAllThreadIds())) {
        if (info != null && info.getThreadName().startsWith("fibers-")) {
          sum += threads.getThreadCpuTime(info.getThreadId());
        }
      }
      return sum;
    }
  }

  /** Opens the connections, asks once on each, and keeps them. */
  static final class Clients {
    public static void main(String[] args) throws Exception {
      var address =
          new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(args[0]));
      var connections = new ArrayList<SocketChannel>();
      var ball = ByteBuffer.allocateDirect(1);
      for (int i = 0; i < Integer.parseInt(args[1]); i++) {
        var connection = SocketChannel.open(address);
        connection.write(ball.clear());
        connection.read(ball.clear());
        connections.add(connection);
      }
      new CountDownLatch(1).await();
      System.out.println(connections.size());
    }
  }
}
