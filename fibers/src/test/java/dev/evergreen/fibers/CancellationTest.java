package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Connections are closed under their readers and writers while others get the same descriptors.
 * Each pair has a number of its own that it sends and expects: a byte of another one would be seen.
 */
@Timeout(300)
class CancellationTest {

  private static final int PAIRS = Integer.getInteger("evergreen.fibers.rounds", 2_000) / 4;

  @ParameterizedTest
  @EnumSource
  void noConnectionEverSeesAnothersBytesWhenDescriptorsAreReused(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var listener = fibers.listen(Pair.loopback())) {
      var read = new AtomicInteger();
      var games = new ArrayList<CompletableFuture<Integer>>();
      for (int lane = 0; lane < 4; lane++) {
        int number = lane;
        games.add(
            Fiber.start(
                fibers,
                () -> {
                  for (int i = number; i < PAIRS; i += 4) {
                    play(fibers, listener, i, read);
                  }
                  return 0;
                }));
      }
      for (var game : games) {
        Fiber.get(game);
      }
      assertTrue(read.get() > 0);
    }
  }

  private static void play(Fibers fibers, Listener listener, int number, AtomicInteger read)
      throws Exception {
    var random = new Random(number * 0x9E3779B97F4A7C15L);
    // The one accepted may be another lane's: its peer is whoever sends the first number.
    var ours = fibers.connect(listener.address());
    var accepted = listener.accept();
    var ends = new ArrayList<CompletableFuture<Integer>>();
    ends.add(Fiber.start(fibers, () -> send(ours, number)));
    var begun = new CountDownLatch(1);
    ends.add(Fiber.start(fibers, () -> expectOne(accepted, begun, read)));
    if (random.nextInt(4) == 0) {
      begun.await();
    }
    for (int i = random.nextInt(50); i > 0; i--) {
      Fibers.letOthersRun();
    }
    var closers = java.util.List.of(fibers.spawn(accepted::close), fibers.spawn(ours::close));
    for (var closer : closers) {
      closer.join();
    }
    for (var end : ends) {
      Fiber.get(end);
    }
  }

  private static int send(Connection to, int number) {
    var bytes = ByteBuffer.allocateDirect(4096);
    try {
      while (true) {
        bytes.clear();
        while (bytes.hasRemaining()) {
          bytes.putInt(number);
        }
        to.write(bytes.flip());
        to.flush();
        Fibers.letOthersRun();
      }
    } catch (IOException e) {
      return 0;
    }
  }

  private static int expectOne(Connection from, CountDownLatch begun, AtomicInteger read) {
    var bytes = ByteBuffer.allocateDirect(4096);
    int first = -1;
    try {
      while (from.read(bytes) >= 0) {
        bytes.flip();
        while (bytes.remaining() >= 4) {
          int number = bytes.getInt();
          first = first < 0 ? number : first;
          assertEquals(first, number, "bytes of another connection");
          read.incrementAndGet();
          begun.countDown();
        }
        bytes.compact();
      }
    } catch (IOException e) {
      // It was closed.
    } finally {
      begun.countDown();
    }
    return 0;
  }

  /** The one who closes never frees the number while another is inside an operation. */
  @ParameterizedTest
  @EnumSource
  void closingFromManyFibersAtOnceClosesOnce(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      for (int i = 0; i < PAIRS / 4; i++) {
        try (var pair = Pair.accepted(fibers);
            var other = Pair.accepted(fibers)) {
          var read = Fiber.start(fibers, () -> pair.ours().read(ByteBuffer.allocate(1)));
          var closers = new ArrayList<Thread>();
          for (int closer = 0; closer < 3; closer++) {
            closers.add(fibers.spawn(pair.ours()::close));
          }
          try {
            Fiber.get(read);
          } catch (ClosedChannelException e) {
            // As it should.
          }
          for (var closer : closers) {
            closer.join();
          }
          other.peerSends("fine");
          assertEquals("fine", Fiber.run(fibers, () -> Pair.read(other.ours(), 4)));
        }
      }
    }
  }
}
