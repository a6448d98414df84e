package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Fibers.Io;
import dev.evergreen.fibers.Fibers.Mode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a fiber wrote before it waits for input leaves, whole and to its peer alone. */
@Timeout(300)
class PostedOutputTest {

  private static final int ROUNDS = Integer.getInteger("evergreen.fibers.rounds", 2_000);

  @Test
  void theEngineThatIsAskedForIsUsed() {
    for (var io : Io.values()) {
      try (var fibers = Fibers.builder().mode(Mode.PROCESSORS).io(io).start()) {
        assertEquals(io, fibers.io());
      }
    }
  }

  /**
   * Each client says a number of its own and expects it back, while readers and clients are closed
   * at any time and the numbers of their descriptors are used anew.
   */
  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "JDK")
  void noReplyEverReachesAnotherClientWhileConnectionsClose(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var listener = fibers.listen(Pair.loopback())) {
      var served = ConcurrentHashMap.<Connection>newKeySet();
      fibers.spawn(() -> listener.serve(connection -> repeat(connection, served)));
      var replies = new AtomicInteger();
      var lanes = new ArrayList<CompletableFuture<Integer>>();
      for (int lane = 0; lane < 16; lane++) {
        int first = lane;
        lanes.add(
            Fiber.start(
                fibers,
                () -> {
                  for (int i = first; i < ROUNDS; i += 16) {
                    var random = new Random(i);
                    try (var client = fibers.connect(listener.address())) {
                      replies.addAndGet(ask(client, i, random.nextInt(20)));
                    }
                    if (random.nextInt(4) == 0) {
                      served.stream()
                          .skip(random.nextInt(8))
                          .findFirst()
                          .ifPresent(Connection::close);
                    }
                  }
                  return 0;
                }));
      }
      for (var lane : lanes) {
        Fiber.get(lane);
      }
      assertTrue(replies.get() > 0);
    }
  }

  /** Sends back what comes, and waits for more, so that it is posted. */
  private static void repeat(Connection connection, Set<Connection> served) throws IOException {
    served.add(connection);
    try {
      var bytes = ByteBuffer.allocateDirect(4096);
      while (connection.read(bytes.clear()) >= 0) {
        connection.write(bytes.flip());
      }
    } finally {
      served.remove(connection);
    }
  }

  /** Asks so often, or until somebody has closed the other side; returns the replies. */
  private static int ask(Connection client, int number, int times) {
    var bytes = ByteBuffer.allocateDirect(400);
    int replies = 0;
    try {
      for (int i = 0; i < times; i++) {
        bytes.clear();
        while (bytes.hasRemaining()) {
          bytes.putInt(number);
        }
        client.write(bytes.flip());
        bytes.clear();
        while (bytes.hasRemaining()) {
          if (client.read(bytes) < 0) {
            return replies;
          }
        }
        for (bytes.flip(); bytes.hasRemaining(); ) {
          assertEquals(number, bytes.getInt(), "a reply to another client");
        }
        replies++;
      }
    } catch (IOException e) {
      // The other side was closed.
    }
    return replies;
  }

  @ParameterizedTest
  @EnumSource
  void repliesThatFindNoRoomArriveWholeAndInOrder(Kind kind) throws Exception {
    int requests = 100;
    int size = 4000;
    try (var fibers = kind.start();
        var pair = Pair.accepted(fibers, Pair.loopback(), Pair.SMALL)) {
      var reads = new AtomicInteger();
      var server = fibers.spawn(() -> reply(pair.ours(), size, reads));
      var all = ByteBuffer.allocate(requests * size);
      channel(pair).configureBlocking(false);
      for (int i = 0; i < requests; i++) {
        pair.peerSends("x");
        // The peer reads only a little, and only while the server waits for room.
        while (reads.get() < i + 2) {
          if (server.getState() == Thread.State.WAITING) {
            var _ = pair.peer().read(all.limit(Math.min(all.capacity(), all.position() + 100)));
          }
        }
      }
      channel(pair).configureBlocking(true);
      pair.peer().shutdownOutput();
      all.limit(all.capacity());
      while (all.hasRemaining() && pair.peer().read(all) >= 0) {
        // Goes on until all is there.
      }
      all.flip();
      for (int i = 0; i < requests * size; i += 4) {
        assertEquals(i, all.getInt());
      }
    }
  }

  /** Answers each byte with the numbers that follow those before. */
  private static void reply(Connection connection, int size, AtomicInteger reads) {
    var request = ByteBuffer.allocateDirect(1);
    try {
      for (int i = 0; reads.incrementAndGet() > 0 && connection.read(request.clear()) > 0; i++) {
        var reply = connection.reserve(size);
        for (int j = 0; j < size; j += 4) {
          reply.putInt(i * size + j);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @ParameterizedTest
  @EnumSource
  void moreRepliesAtATimeThanAnOutboxHoldsArrive(Kind kind) throws Exception {
    int connections = RingOutbox.LETTERS * 2 + 7;
    var pairs = new ArrayList<Pair>();
    try (var fibers = kind.start()) {
      var held = new CompletableFuture<Integer>();
      for (int i = 0; i < connections; i++) {
        var pair = Pair.accepted(fibers);
        pairs.add(pair);
        var reply = Pair.bytes("reply %04d".formatted(i));
        fibers.spawn(
            () -> {
              try {
                held.join();
                pair.ours().write(reply);
                var _ = pair.ours().read(ByteBuffer.allocate(1));
              } catch (IOException e) {
                // All are closed in the end.
              }
            });
      }
      // All are ready at once, and wait after their replies.
      held.complete(0);
      for (int i = 0; i < connections; i++) {
        assertEquals("reply %04d".formatted(i), pairs.get(i).peerReads(10));
      }
    } finally {
      for (var pair : pairs) {
        pair.close();
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void whatAWaitingReaderHasWrittenArrivesBeforeItIsClosed(Io io) throws Exception {
    try (var fibers = Fibers.builder().mode(Mode.PROCESSORS).processors(1).io(io).start();
        var pair = Pair.accepted(fibers)) {
      fibers.spawn(
          () -> {
            // It runs when the reader waits, before the processor polls.
            fibers.spawn(pair.ours()::close);
            try {
              pair.ours().write(Pair.bytes("last words"));
              var _ = pair.ours().read(ByteBuffer.allocate(1));
            } catch (IOException e) {
              // It is closed.
            }
          });
      assertEquals("last words", pair.peerReads(10));
      assertEquals(-1, pair.peer().read(ByteBuffer.allocate(1)));
    }
  }

  /** Its fiber, for which it is kept, learns first that the connection is closed. */
  @ParameterizedTest
  @EnumSource
  void whatFoundNoRoomGivesItsBufferBackWhenTheConnectionIsClosed(Io io) throws Exception {
    int rounds = 100;
    try (var fibers = Fibers.builder().mode(Mode.PROCESSORS).processors(1).io(io).start()) {
      for (int i = 0; i < rounds; i++) {
        closeWhileThereIsNoRoom(fibers);
      }
      int before = Buffers.count();
      for (int i = 0; i < rounds; i++) {
        closeWhileThereIsNoRoom(fibers);
      }
      assertEquals(before, Buffers.count());
    }
  }

  private static void closeWhileThereIsNoRoom(Fibers fibers) throws Exception {
    var some = ByteBuffer.allocateDirect(4096);
    try (var pair = Pair.accepted(fibers, Pair.loopback(), Pair.SMALL)) {
      Fiber.run(
          fibers,
          () -> {
            while (pair.ours().trySend(some.clear()) > 0) {
              // Until there is no room.
            }
            // It runs when this one waits.
            fibers.spawn(pair.ours()::close);
            pair.ours().write(Pair.bytes("last words"));
            return assertThrows(
                ClosedChannelException.class, () -> pair.ours().read(ByteBuffer.allocate(1)));
          });
    }
  }

  @ParameterizedTest
  @EnumSource
  void aFiberThatComputesHoldsUpNoReplyOfItsProcessor(Io io) throws Exception {
    try (var fibers = Fibers.builder().mode(Mode.PROCESSORS).processors(2).io(io).start();
        var pair = Pair.accepted(fibers)) {
      for (int i = 0; i < 50; i++) {
        var arrived = new AtomicBoolean();
        var reader =
            fibers.spawn(
                () -> {
                  fibers.spawn(
                      () -> {
                        while (!arrived.get()) {
                          Thread.onSpinWait();
                        }
                      });
                  try {
                    pair.ours().write(Pair.bytes("reply"));
                    var _ = pair.ours().read(ByteBuffer.allocate(1));
                  } catch (IOException e) {
                    throw new UncheckedIOException(e);
                  }
                });
        assertEquals("reply", pair.peerReads(5));
        arrived.set(true);
        pair.peerSends("x");
        reader.join();
      }
    }
  }

  private static java.nio.channels.SocketChannel channel(Pair pair) {
    return ((Pair.Socket) pair.peer()).channel();
  }
}
