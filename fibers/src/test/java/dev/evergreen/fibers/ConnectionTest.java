package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.kernel.Scratch;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Connections behave the same in all modes. */
@Timeout(120)
class ConnectionTest {

  @TempDir Path folder;

  @ParameterizedTest
  @EnumSource
  void bytesArriveInBothDirections(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      var read =
          Fiber.start(
              fibers,
              () -> {
                var text = Pair.read(pair.ours(), 5);
                pair.ours().write(Pair.bytes(text.toUpperCase(java.util.Locale.ROOT)));
                pair.ours().flush();
                return text;
              });
      pair.peerSends("hel");
      pair.peerSends("lo");
      assertEquals("hello", Fiber.get(read));
      assertEquals("HELLO", pair.peerReads(5));
    }
  }

  @ParameterizedTest
  @EnumSource(
      mode = EnumSource.Mode.MATCH_NONE,
      names = {".*JDK.*", ".*MEMORY.*"})
  void itIsToldThatThePeerEndsThoughNobodyReads(Wire wire) throws Exception {
    for (boolean before : new boolean[] {false, true}) {
      try (var fibers = wire.start();
          var pair = wire.pair(fibers)) {
        var told = new CountDownLatch(1);
        pair.peerSends("x");
        if (before) {
          pair.peer().shutdownOutput();
        }
        pair.ours().whenPeerEnds(told::countDown);
        if (!before) {
          pair.peerSends("y");
          assertFalse(told.await(20, TimeUnit.MILLISECONDS), "it goes on");
          pair.peer().shutdownOutput();
        }
        told.await();
        pair.ours().whenPeerEnds(null);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(
      mode = EnumSource.Mode.MATCH_NONE,
      names = {".*JDK.*", ".*MEMORY.*"})
  void whoFailsWhenThePeerEndsIsNoHarmToOthers(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers);
        var other = wire.pair(fibers)) {
      var told = new CountDownLatch(1);
      pair.ours()
          .whenPeerEnds(
              () -> {
                told.countDown();
                throw new IllegalStateException("for the test");
              });
      pair.peer().shutdownOutput();
      told.await();
      for (int i = 0; i < 10; i++) {
        var read = Fiber.start(fibers, () -> Pair.read(other.ours(), 1));
        other.peerSends("x");
        assertEquals("x", Fiber.get(read));
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void outputLeavesBeforeItsWriterWaitsForInput(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      var read =
          Fiber.start(
              fibers,
              () -> {
                pair.ours().write(Pair.bytes("ask"));
                return Pair.read(pair.ours(), 2);
              });
      assertEquals("ask", pair.peerReads(3));
      pair.peerSends("ok");
      assertEquals("ok", Fiber.get(read));
    }
  }

  @ParameterizedTest
  @EnumSource
  void outputToOneLeavesBeforeItsWriterWaitsOnAnother(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var client = wire.pair(fibers);
        var upstream = wire.pair(fibers);
        var listener = fibers.listen(Pair.loopback())) {
      var read =
          Fiber.start(
              fibers,
              () -> {
                client.ours().write(Pair.bytes("wait"));
                upstream.ours().write(Pair.bytes("ask"));
                var answer = Pair.read(upstream.ours(), 2);
                upstream.ours().write(Pair.bytes("more"));
                client.ours().write(Pair.bytes(answer));
                client.ours().awaitInput();
                client.ours().write(Pair.bytes("last"));
                listener.accept().close();
                return answer;
              });
      assertEquals("wait", client.peerReads(4));
      assertEquals("ask", upstream.peerReads(3));
      upstream.peerSends("ok");
      assertEquals("more", upstream.peerReads(4));
      assertEquals("ok", client.peerReads(2));
      client.peerSends("!");
      assertEquals("last", client.peerReads(4));
      SocketChannel.open(listener.address()).close();
      assertEquals("ok", Fiber.get(read));
    }
  }

  @ParameterizedTest
  @EnumSource
  void outputThatCannotLeaveIsTheConcernOfItsOwnConnection(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var client = wire.pair(fibers);
        var upstream = wire.pair(fibers)) {
      client.peerResets();
      var read =
          Fiber.start(
              fibers,
              () -> {
                assertThrows(IOException.class, () -> Pair.read(client.ours(), 1));
                client.ours().write(Pair.bytes("lost"));
                var found = Pair.read(upstream.ours(), 2);
                // By the same fiber: what it wrote leaves at its end at the latest.
                assertThrows(
                    IOException.class,
                    () -> {
                      client.ours().write(Pair.bytes("lost as well"));
                      client.ours().flush();
                    });
                return found;
              });
      upstream.peerSends("ok");
      assertEquals("ok", Fiber.get(read));
    }
  }

  @ParameterizedTest
  @EnumSource
  void connectionsBeyondTheLimitAreRefusedBeforeAnythingIsMadeForThem(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      var listener = fibers.listen(Pair.loopback());
      var limit = new ConnectionLimit(3);
      var acceptor =
          fibers.spawn(
              () ->
                  listener.serve(
                      ConnectionTest::echo,
                      limit,
                      connection -> {
                        assertEquals(4, fibers.report().fibers(), "the acceptor and three");
                        connection.write(Pair.bytes("no"));
                      }));
      var served = new ArrayList<SocketChannel>();
      for (int i = 0; i < 3; i++) {
        served.add(SocketChannel.open(listener.address()));
        assertEquals("hi", exchange(served.getLast(), "hi"));
      }
      for (int i = 0; i < 50; i++) {
        try (var refused = SocketChannel.open(listener.address())) {
          assertEquals("no", exchange(refused, ""));
        }
      }
      assertEquals(3, limit.served());
      served.removeFirst().close();
      while (limit.served() == 3) {
        Thread.onSpinWait();
      }
      served.add(SocketChannel.open(listener.address()));
      for (var connection : served) {
        assertEquals("hi", exchange(connection, "hi"));
        connection.close();
      }
      listener.close();
      acceptor.join();
      while (limit.served() > 0) {
        Thread.onSpinWait();
      }
    }
  }

  /** Sends a text and reads two characters. */
  private static String exchange(SocketChannel with, String text) throws IOException {
    with.write(ByteBuffer.wrap(Pair.bytes(text)));
    var into = ByteBuffer.allocate(2);
    while (into.hasRemaining() && with.read(into) >= 0) {
      // Goes on until both are there.
    }
    return new String(into.array(), java.nio.charset.StandardCharsets.US_ASCII);
  }

  @ParameterizedTest
  @EnumSource
  void aLimitHoldsWhateverItWasBefore(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      // It waits, so that there is an alarm.
      pair.ours().readTimeout(Duration.ofDays(1));
      var waits = Fiber.startWaiting(fibers, () -> Pair.read(pair.ours(), 1));
      pair.peerSends("b");
      assertEquals("b", Fiber.get(waits));
      // An earlier one must bring the alarm forward; a later one must have it set again.
      for (int millis : new int[] {20, 1, 40}) {
        pair.ours().readTimeout(Duration.ofMillis(millis));
        assertThrows(
            SocketTimeoutException.class,
            () -> Fiber.run(fibers, () -> pair.ours().read(ByteBuffer.allocate(1))));
      }
      pair.ours().readTimeout(Duration.ofMillis(300));
      var early =
          Fiber.start(
              fibers,
              () -> {
                var text = Pair.read(pair.ours(), 1);
                pair.ours().readTimeout(Duration.ofMillis(400));
                assertThrows(
                    SocketTimeoutException.class, () -> pair.ours().read(ByteBuffer.allocate(1)));
                return text;
              });
      pair.peerSends("c");
      assertEquals("c", Fiber.get(early));
    }
  }

  @ParameterizedTest
  @EnumSource
  void outputLeavesBeforeTheEndOfInputIsTold(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      pair.peerSends("quit");
      pair.peer().shutdownOutput();
      int end =
          Fiber.run(
              fibers,
              () -> {
                assertEquals("quit", Pair.read(pair.ours(), 4));
                pair.ours().write(Pair.bytes("bye"));
                int n = pair.ours().read(ByteBuffer.allocate(9));
                pair.ours().close();
                return n;
              });
      assertEquals(-1, end);
      assertEquals("bye", pair.peerReads(3));
    }
  }

  @ParameterizedTest
  @EnumSource
  void outputLeavesBeforeWhoTriesToReadIsToldOfTheEnd(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      pair.peer().shutdownOutput();
      Fiber.run(
          fibers,
          () -> {
            pair.ours().write(Pair.bytes("bye"));
            var into = ByteBuffer.allocate(9);
            while (pair.ours().tryRead(into) >= 0) {
              // Waiting would flush, too.
              Thread.sleep(1);
              if (wire.readsByWaitingOnly()) {
                pair.ours().awaitInput();
              }
            }
            pair.ours().close();
            return 0;
          });
      assertEquals("bye", pair.peerReads(3));
    }
  }

  @ParameterizedTest
  @EnumSource
  void whatAFiberHasWrittenLeavesWhenItEnds(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      Fiber.run(
          fibers,
          () -> {
            pair.ours().write(Pair.bytes("left behind"));
            return 0;
          });
      assertEquals("left behind", pair.peerReads(11));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aHalfClosedConnectionStillCarriesTheOtherDirection(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      pair.peer().shutdownOutput();
      Fiber.run(
          fibers,
          () -> {
            assertEquals(-1, pair.ours().read(ByteBuffer.allocate(1)));
            assertEquals(-1, pair.ours().read(ByteBuffer.allocate(1)));
            pair.ours().write(Pair.bytes("still here"));
            pair.ours().shutdownOutput();
            return 0;
          });
      assertEquals("still here", pair.peerReads(100));
    }
  }

  @ParameterizedTest
  @EnumSource
  void theEndThatComesWithTheLastBytesIsSeen(Wire wire) throws Exception {
    try (var fibers = wire.start()) {
      for (int i = 0; i < 200; i++) {
        try (var pair = wire.pair(fibers)) {
          var read = Fiber.start(fibers, () -> Pair.read(pair.ours(), 100));
          pair.peerSends("last words");
          pair.peer().shutdownOutput();
          assertEquals("last words", Fiber.get(read));
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void aLargeTransferArrivesWholeThroughSmallBuffers(Wire wire) throws Exception {
    var sent = new byte[3_000_000];
    new Random(1).nextBytes(sent);
    try (var fibers = wire.start();
        var pair = wire.smallPair(fibers)) {
      var written =
          Fiber.start(
              fibers,
              () -> {
                pair.ours().write(sent);
                pair.ours().flush();
                return 0;
              });
      var received = ByteBuffer.allocate(sent.length);
      while (received.hasRemaining()) {
        assertTrue(pair.peer().read(received) > 0);
      }
      Fiber.get(written);
      assertEquals(ByteBuffer.wrap(sent), received.flip());

      var read =
          Fiber.start(
              fibers,
              () -> {
                var into = ByteBuffer.allocateDirect(sent.length);
                while (into.hasRemaining()) {
                  assertTrue(pair.ours().read(into) > 0);
                }
                return into.flip();
              });
      pair.peer().write(ByteBuffer.wrap(sent));
      assertEquals(ByteBuffer.wrap(sent), Fiber.get(read));
    }
  }

  @ParameterizedTest
  @EnumSource
  void bothDirectionsMoveAtOnceByTwoFibers(Wire wire) throws Exception {
    var sent = new byte[2_000_000];
    new Random(2).nextBytes(sent);
    try (var fibers = wire.start();
        var ours = wire.smallPair(fibers)) {
      var echo =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      var piece = ByteBuffer.allocate(1000);
                      while (ours.peer().read(piece.clear()) >= 0) {
                        ours.peer().write(piece.flip());
                      }
                    } catch (IOException e) {
                      // The test will miss bytes.
                    }
                  });
      var written =
          Fiber.start(
              fibers,
              () -> {
                ours.ours().write(MemorySegment.ofArray(sent));
                ours.ours().shutdownOutput();
                return 0;
              });
      var read =
          Fiber.start(
              fibers,
              () -> {
                try (var arena = Arena.ofConfined()) {
                  var into = arena.allocate(sent.length);
                  long at = 0;
                  while (at < sent.length) {
                    int n = ours.ours().read(into.asSlice(at));
                    assertTrue(n > 0);
                    at += n;
                  }
                  return into.toArray(java.lang.foreign.ValueLayout.JAVA_BYTE);
                }
              });
      Fiber.get(written);
      assertEquals(ByteBuffer.wrap(sent), ByteBuffer.wrap(Fiber.get(read)));
      echo.join();
    }
  }

  @ParameterizedTest
  @EnumSource
  void aResetByThePeerEndsAReadAndAWrite(Wire wire) throws Exception {
    try (var fibers = wire.start()) {
      try (var pair = wire.pair(fibers)) {
        var read = Fiber.start(fibers, () -> pair.ours().read(ByteBuffer.allocate(1)));
        pair.peerResets();
        assertThrows(IOException.class, () -> Fiber.get(read));
      }
      try (var pair = wire.pair(fibers)) {
        pair.peerResets();
        assertThrows(
            IOException.class,
            () ->
                Fiber.run(
                    fibers,
                    () -> {
                      while (true) {
                        pair.ours().write(new byte[1000]);
                        pair.ours().flush();
                      }
                    }));
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void aResetByUsIsNoEndToThePeer(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers);
        var other = wire.pair(fibers)) {
      pair.ours().reset();
      if (pair.peer() instanceof Pair.Other(var peer)) {
        assertThrows(IOException.class, () -> peer.read(ByteBuffer.allocate(1)));
      } else {
        assertThrows(IOException.class, () -> pair.peer().read(ByteBuffer.allocate(1)));
      }
      assertThrows(ClosedChannelException.class, () -> pair.ours().read(ByteBuffer.allocate(1)));
      var read = Fiber.start(fibers, () -> other.ours().read(ByteBuffer.allocate(1)));
      other.ours().reset();
      assertThrows(IOException.class, () -> Fiber.get(read));
      if (other.peer() instanceof Pair.Socket(var peer)) {
        assertThrows(IOException.class, () -> peer.read(ByteBuffer.allocate(1)));
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void severalBuffersLeaveInOrderBehindWhatWasWrittenBefore(Wire wire) throws Exception {
    var body = new byte[100_000];
    new Random(3).nextBytes(body);
    try (var fibers = wire.start();
        var pair = wire.smallPair(fibers)) {
      for (int parts = 1; parts <= 2 * Scratch.PARTS; parts += 5) {
        int count = parts;
        for (boolean direct : new boolean[] {true, false}) {
          var written =
              Fiber.start(
                  fibers,
                  () -> {
                    var buffers = new ByteBuffer[count];
                    for (int i = 0; i < count; i++) {
                      int from = (int) ((long) body.length * i / count);
                      int to = (int) ((long) body.length * (i + 1) / count);
                      buffers[i] =
                          direct
                              ? ByteBuffer.allocateDirect(to - from)
                              : ByteBuffer.allocate(to - from);
                      buffers[i].put(body, from, to - from).flip();
                    }
                    pair.ours().write(Pair.bytes("before"));
                    pair.ours().writeAndFlush(buffers);
                    for (var buffer : buffers) {
                      assertFalse(buffer.hasRemaining());
                    }
                    pair.ours().writeAndFlush(ByteBuffer.allocateDirect(3));
                    return 0;
                  });
          assertEquals("before", pair.peerReads(6));
          var received = ByteBuffer.allocate(body.length + 3);
          while (received.hasRemaining()) {
            assertTrue(pair.peer().read(received) > 0);
          }
          Fiber.get(written);
          assertEquals(ByteBuffer.wrap(body), received.flip().limit(body.length));
        }
      }
    }
  }

  /** What does not leave at once stays with who tried, and all arrives in order. */
  @ParameterizedTest
  @EnumSource
  void whatIsTriedLeavesAsFarAsThereIsRoom(Wire wire) throws Exception {
    var content = new byte[2_000_000];
    new Random(6).nextBytes(content);
    try (var fibers = wire.start();
        var pair = wire.smallPair(fibers)) {
      var from = ByteBuffer.allocateDirect(content.length).put(content).flip();
      Fiber.run(
          fibers,
          () -> {
            for (int n = -1; n != 0; ) {
              int before = from.position();
              n = pair.ours().trySend(from);
              assertEquals(n, from.position() - before);
            }
            return 0;
          });
      assertTrue(from.hasRemaining(), "there was not room for all");
      assertEquals(wire.triesToSend(), from.position() > 0);
      var rest = Fiber.start(fibers, () -> sendRest(pair.ours(), from));
      var received = ByteBuffer.allocate(content.length);
      while (received.hasRemaining()) {
        assertTrue(pair.peer().read(received) > 0);
      }
      Fiber.get(rest);
      assertEquals(ByteBuffer.wrap(content), received.flip());
    }
  }

  private static int sendRest(Connection connection, ByteBuffer from) throws IOException {
    connection.writeAndFlush(from);
    return 0;
  }

  @ParameterizedTest
  @EnumSource
  void whatIsTriedDoesNotOvertakeWhatWasCollected(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      var second = ByteBuffer.allocateDirect(6).put(Pair.bytes("second")).flip();
      Fiber.run(
          fibers,
          () -> {
            pair.ours().write(Pair.bytes("first "));
            assertEquals(0, pair.ours().trySend(second));
            pair.ours().flush();
            pair.ours().trySend(second);
            return sendRest(pair.ours(), second);
          });
      assertEquals("first second", pair.peerReads(12));
    }
  }

  @ParameterizedTest
  @EnumSource
  void nothingIsTriedOnAConnectionThatIsClosedOrFromTheHeap(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      assertThrows(
          IllegalArgumentException.class, () -> pair.ours().trySend(ByteBuffer.allocate(1)));
      pair.ours().close();
      assertThrows(
          ClosedChannelException.class, () -> pair.ours().trySend(ByteBuffer.allocateDirect(1)));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aPartOfAFileIsWritten(Wire wire) throws Exception {
    var content = new byte[200_000];
    new Random(4).nextBytes(content);
    var file = java.nio.file.Files.write(folder.resolve("file"), content);
    try (var fibers = wire.start();
        var pair = wire.smallPair(fibers);
        var channel = java.nio.channels.FileChannel.open(file)) {
      var written =
          Fiber.start(
              fibers,
              () -> {
                pair.ours().write(Pair.bytes("before"));
                pair.ours().write(channel, 1000, 150_000);
                pair.ours().flush();
                assertThrows(
                    java.io.EOFException.class,
                    () -> pair.ours().write(channel, content.length - 10, 11));
                return 0;
              });
      assertEquals("before", pair.peerReads(6));
      var received = ByteBuffer.allocate(150_000);
      while (received.hasRemaining()) {
        assertTrue(pair.peer().read(received) > 0);
      }
      assertEquals(ByteBuffer.wrap(content, 1000, 150_000), received.flip());
      Fiber.get(written);
    }
  }

  @ParameterizedTest
  @EnumSource
  void whatMovesIsCounted(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      var before = pair.ours().report();
      pair.peerSends("hello");
      Fiber.run(fibers, () -> Pair.read(pair.ours(), 5));
      Fiber.run(
          fibers,
          () -> {
            pair.ours().write(Pair.bytes("123"));
            pair.ours().flush();
            return 0;
          });
      // As a reply that leaves while its writer waits for input.
      var read =
          Fiber.start(
              fibers,
              () -> {
                pair.ours().write(Pair.bytes("4567"));
                return Pair.read(pair.ours(), 1);
              });
      assertEquals("1234567", pair.peerReads(7));
      pair.peerSends("!");
      Fiber.get(read);
      var after = pair.ours().report();
      long received = after.received() - before.received();
      long sent = after.sent() - before.sent();
      if (wire == Wire.TLS || wire == Wire.TLS_JDK) {
        assertTrue(received > 6 && sent > 7, "records are longer than what they carry");
      } else {
        assertEquals(6, received);
        assertEquals(7, sent);
      }
      assertEquals(before.opened(), after.opened());
      assertFalse(after.opened().isAfter(java.time.Instant.now()));
      assertTrue(fibers.connections().stream().anyMatch(one -> one.report().sent() >= 7));
      pair.ours().close();
      pair.peer().close();
      assertEquals(0, fibers.connections().size());
    }
  }

  @ParameterizedTest
  @EnumSource
  void aReadThatIsLateCanBeTriedAgain(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      pair.ours().readTimeout(Duration.ofMillis(10));
      for (int i = 0; i < 3; i++) {
        assertThrows(
            SocketTimeoutException.class,
            () -> Fiber.run(fibers, () -> pair.ours().read(ByteBuffer.allocate(5))));
        assertThrows(
            SocketTimeoutException.class,
            () ->
                Fiber.run(
                    fibers,
                    () -> {
                      pair.ours().tryRead(ByteBuffer.allocate(5));
                      pair.ours().awaitInput();
                      return 0;
                    }));
      }
      pair.peerSends("there");
      pair.ours().readTimeout(Duration.ofDays(100_000));
      assertEquals("there", Fiber.run(fibers, () -> Pair.read(pair.ours(), 5)));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aDeadlineEndsEvenAReaderThatGetsAByteAtATime(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      pair.ours().readTimeout(Duration.ofMinutes(1));
      pair.ours().readDeadline(Duration.ofMillis(50));
      var read = Fiber.start(fibers, () -> Pair.read(pair.ours(), 1_000_000));
      while (!read.isDone()) {
        pair.peerSends("x");
        Thread.sleep(1);
      }
      assertThrows(SocketTimeoutException.class, () -> Fiber.get(read));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aDeadlineEndsAlsoAReaderWhoseInputNeverEnds(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      pair.peerSends("xy");
      assertEquals("x", Fiber.run(fibers, () -> Pair.read(pair.ours(), 1)));
      pair.ours().readDeadline(Duration.ZERO);
      assertThrows(
          SocketTimeoutException.class,
          () ->
              Fiber.run(
                  fibers,
                  () -> {
                    pair.ours().awaitInput();
                    return 0;
                  }));
      pair.ours().readDeadline(Duration.ofDays(100_000));
      assertEquals("y", Fiber.run(fibers, () -> Pair.read(pair.ours(), 1)));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aPeerThatTakesNothingIsGivenUp(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.smallPair(fibers)) {
      pair.ours().writeTimeout(Duration.ofMillis(50));
      assertThrows(
          WriteTimeoutException.class,
          () ->
              Fiber.run(
                  fibers,
                  () -> {
                    pair.ours().write(new byte[20_000_000]);
                    return 0;
                  }));
      assertThrows(
          ClosedChannelException.class,
          () -> Fiber.run(fibers, () -> pair.ours().read(ByteBuffer.allocate(1))));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aSlowPeerIsNotGivenUp(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.smallPair(fibers)) {
      pair.ours().writeTimeout(Duration.ofSeconds(20));
      var written =
          Fiber.start(
              fibers,
              () -> {
                pair.ours().write(new byte[300_000]);
                pair.ours().flush();
                return 0;
              });
      assertEquals(300_000, pair.peerReads(300_000).length());
      Fiber.get(written);
    }
  }

  @ParameterizedTest
  @EnumSource
  void closingEndsAReadThatWaits(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      var read = Fiber.startWaiting(fibers, () -> pair.ours().read(ByteBuffer.allocate(1)));
      pair.ours().close();
      assertThrows(AsynchronousCloseException.class, () -> Fiber.get(read));
      assertEquals("", pair.peerReads(1));
      assertThrows(ClosedChannelException.class, () -> pair.ours().read(ByteBuffer.allocate(1)));
      assertThrows(ClosedChannelException.class, () -> pair.ours().tryRead(ByteBuffer.allocate(1)));
    }
  }

  @ParameterizedTest
  @EnumSource
  void interruptingAReaderClosesItsConnection(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      var thrown = new CompletableFuture<Exception>();
      var reader =
          fibers.spawn(
              () -> {
                try {
                  pair.ours().read(ByteBuffer.allocate(1));
                } catch (IOException e) {
                  thrown.complete(e);
                }
              });
      Fiber.awaitParked(reader);
      reader.interrupt();
      assertInstanceOf(ClosedByInterruptException.class, Fiber.get(thrown));
      assertEquals("", pair.peerReads(1));
    }
  }

  @ParameterizedTest
  @EnumSource
  void tryReadTakesWhatIsThereAndDoesNotWait(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      var served =
          Fiber.start(
              fibers,
              () -> {
                var text = new StringBuilder();
                var into = ByteBuffer.allocateDirect(100);
                int n;
                while ((n = pair.ours().tryRead(into.clear())) >= 0) {
                  if (n == 0) {
                    pair.ours().awaitInput();
                  } else {
                    for (int i = 0; i < n; i++) {
                      text.append((char) into.get(i));
                    }
                    pair.ours().write(Pair.bytes("got " + n + ","));
                  }
                }
                return text.toString();
              });
      pair.peerSends("abc");
      assertEquals("got 3,", pair.peerReads(6));
      pair.peerSends("defg");
      assertEquals("got 4,", pair.peerReads(6));
      pair.peer().shutdownOutput();
      assertEquals("abcdefg", Fiber.get(served));
    }
  }

  /** The system says which timers of a connection run: 02 is the one that keeps it alive. */
  @ParameterizedTest
  @EnumSource
  void peersThatVanishAreNoticed(Kind kind) throws Exception {
    Assumptions.assumeTrue(Files.exists(Path.of("/proc/net/tcp")));
    try (var fibers = kind.start();
        var pair = Pair.accepted(fibers)) {
      var ends =
          ":%04X .*:%04X 01 "
              .formatted(port(pair.ours().localAddress()), port(pair.ours().peerAddress()));
      var lines = new ArrayList<>(Files.readAllLines(Path.of("/proc/net/tcp")));
      if (Files.exists(Path.of("/proc/net/tcp6"))) {
        lines.addAll(Files.readAllLines(Path.of("/proc/net/tcp6")));
      }
      var ours = lines.stream().filter(Pattern.compile(ends).asPredicate()).findFirst();
      assertEquals("02", ours.orElseThrow().strip().split(" +", -1)[5].split(":", -1)[0]);
    }
  }

  private static int port(java.net.SocketAddress address) {
    return ((java.net.InetSocketAddress) address).getPort();
  }

  /** Seen: it was told by the path at which it was made, which had to be shorter than its own. */
  @ParameterizedTest
  @EnumSource
  void aGuardedUnixSocketIsKnownByItsPathHoweverLongThatIs(Kind kind) throws Exception {
    for (int length : new int[] {folder.toString().length() + 2, 104}) {
      var path = folder.resolve("x".repeat(length - folder.toString().length() - 1));
      var address = UnixDomainSocketAddress.of(path);
      var guarded = SocketOptions.DEFAULT.withPermissions(0700);
      try (var fibers = kind.start();
          var pair = Pair.accepted(fibers, address, guarded)) {
        assertEquals(address, pair.ours().localAddress());
        assertEquals(
            "rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(path)));
      }
      try (var left = Files.list(folder)) {
        assertEquals(List.of(path), left.toList());
      }
      Files.delete(path);
    }
  }

  @ParameterizedTest
  @EnumSource
  void unixSocketsCarryBytesAndEnd(Kind kind) throws Exception {
    var path = folder.resolve("socket");
    try (var fibers = kind.start();
        var pair = Pair.accepted(fibers, UnixDomainSocketAddress.of(path), SocketOptions.DEFAULT)) {
      assertEquals(UnixDomainSocketAddress.of(path), pair.ours().localAddress());
      assertEquals(UnixDomainSocketAddress.of(""), pair.ours().peerAddress());
      var read = Fiber.start(fibers, () -> Pair.read(pair.ours(), 10));
      pair.peerSends("by file");
      pair.peer().shutdownOutput();
      assertEquals("by file", Fiber.get(read));
      pair.ours().write(Pair.bytes("back"));
      pair.ours().shutdownOutput();
      assertEquals("back", pair.peerReads(10));
    }
  }

  @ParameterizedTest
  @EnumSource
  void fibersConnectToEachOther(Kind kind) throws Exception {
    var path = UnixDomainSocketAddress.of(folder.resolve("each-other"));
    try (var fibers = kind.start()) {
      for (var address : new java.net.SocketAddress[] {Pair.loopback(), path}) {
        var listener = fibers.listen(address);
        fibers.spawn(() -> listener.serve(connection -> echo(connection)));
        var calls = new ArrayList<CompletableFuture<String>>();
        for (int i = 0; i < 100; i++) {
          var text = "call " + i;
          calls.add(
              Fiber.start(
                  fibers,
                  () -> {
                    try (var connection =
                        fibers.connect(
                            listener.address(), Duration.ofSeconds(20), SocketOptions.DEFAULT)) {
                      for (int round = 0; round < 20; round++) {
                        connection.write(Pair.bytes(text));
                        assertEquals(text, Pair.read(connection, text.length()));
                      }
                      return text;
                    }
                  }));
        }
        for (int i = 0; i < 100; i++) {
          assertEquals("call " + i, Fiber.get(calls.get(i)));
        }
      }
    }
  }

  private static void echo(Connection connection) throws IOException {
    var into = ByteBuffer.allocateDirect(1024);
    while (connection.read(into.clear()) >= 0) {
      connection.write(into.flip());
    }
  }

  @ParameterizedTest
  @EnumSource
  void nobodyListeningIsToldAtOnce(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      InetSocketAddress address;
      try (var listener = fibers.listen(Pair.loopback())) {
        address = (InetSocketAddress) listener.address();
      }
      assertThrows(ConnectException.class, () -> Fiber.run(fibers, () -> fibers.connect(address)));
      assertThrows(
          IOException.class,
          () ->
              Fiber.run(
                  fibers,
                  () -> fibers.connect(UnixDomainSocketAddress.of(folder.resolve("none")))));
    }
  }

  @ParameterizedTest
  @EnumSource
  void anAddressInUseIsRefused(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var listener = fibers.listen(Pair.loopback())) {
      assertThrows(java.net.BindException.class, () -> fibers.listen(listener.address()));
    }
  }

  @ParameterizedTest
  @EnumSource
  void closingAListenerEndsItsServing(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      var listener = fibers.listen(Pair.loopback());
      var server = fibers.spawn(() -> listener.serve(connection -> echo(connection)));
      Fiber.awaitParked(server);
      listener.close();
      server.join();
      assertThrows(ClosedChannelException.class, listener::accept);
    }
  }

  @ParameterizedTest
  @EnumSource
  void closingTheRuntimeEndsAllThatWaits(Kind kind) throws Exception {
    var fibers = kind.start();
    var listener = fibers.listen(Pair.loopback());
    fibers.spawn(() -> listener.serve(connection -> echo(connection)));
    var peers = new ArrayList<SocketChannel>();
    for (int i = 0; i < 20; i++) {
      var peer = SocketChannel.open(listener.address());
      peer.write(ByteBuffer.wrap(Pair.bytes("x")));
      assertEquals(1, peer.read(ByteBuffer.allocate(1)));
      peers.add(peer);
    }
    var sleeper =
        Fiber.start(
            fibers,
            () -> {
              fibers.sleep(Duration.ofDays(1));
              return 0;
            });
    fibers.close();
    assertThrows(InterruptedException.class, () -> Fiber.get(sleeper));
    assertEquals(0, fibers.report().fibers());
    assertThrows(IllegalStateException.class, () -> fibers.spawn(() -> {}));
    assertThrows(IllegalStateException.class, () -> fibers.listen(Pair.loopback()));
    for (var peer : peers) {
      assertFalse(endsWithBytes(peer));
      peer.close();
    }
    fibers.close();
  }

  private static boolean endsWithBytes(SocketChannel peer) {
    try {
      return peer.read(ByteBuffer.allocate(1)) > 0;
    } catch (IOException e) {
      // Reset is as good an end as any.
      return false;
    }
  }

  @ParameterizedTest
  @EnumSource
  void theOutputCanBeWrittenInPlace(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      var written =
          Fiber.start(
              fibers,
              () -> {
                for (int i = 0; i < 3; i++) {
                  var into = pair.ours().reserve(40_000);
                  for (int k = 0; k < 40_000; k++) {
                    into.put((byte) ('a' + i));
                  }
                }
                pair.ours().flush();
                return 0;
              });
      assertEquals(
          "a".repeat(40_000) + "b".repeat(40_000) + "c".repeat(40_000), pair.peerReads(120_000));
      Fiber.get(written);
      assertThrows(IllegalArgumentException.class, () -> pair.ours().reserve(70_000));
    }
  }

  @ParameterizedTest
  @EnumSource
  void whatOneFiberWritesIsNotFlushedByAnotherThatReads(Wire wire) throws Exception {
    try (var fibers = wire.start();
        var pair = wire.pair(fibers)) {
      var reader = Fiber.start(fibers, () -> Pair.read(pair.ours(), 2));
      Fiber.run(
          fibers,
          () -> {
            pair.ours().write(Pair.bytes("by the writer"));
            pair.ours().flush();
            return 0;
          });
      assertEquals("by the writer", pair.peerReads(13));
      pair.peerSends("ok");
      assertEquals("ok", Fiber.get(reader));
    }
  }
}
