package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.SlowPeers.Direction;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Who keeps something of the server's for too long is hung up on, the slowest first. */
@Timeout(120)
class SlowPeersTest {
  private static final long ANY_RATE = Long.MAX_VALUE;

  /** Reads while something is kept for the peer, and tells when the first bytes have come. */
  private static CompletableFuture<String> receive(
      Fibers fibers, SlowPeers peers, Pair pair, int first, CountDownLatch begun, int more) {
    return Fiber.start(
        fibers,
        () -> {
          try (var _ = peers.hold(pair.ours(), Direction.RECEIVING)) {
            var text = Pair.read(pair.ours(), first);
            begun.countDown();
            return text + Pair.read(pair.ours(), more);
          } finally {
            pair.ours().close();
          }
        });
  }

  private static CompletableFuture<String> receive(
      Fibers fibers, SlowPeers peers, Pair pair, int bytes) {
    return receive(fibers, peers, pair, 0, new CountDownLatch(1), bytes);
  }

  private static void awaitHungUp(SlowPeers peers, Duration grace, long bytesPerSecond) {
    while (peers.hangUp(1, grace, bytesPerSecond) == 0) {
      Thread.onSpinWait();
    }
  }

  @ParameterizedTest
  @EnumSource
  void theSlowestPaysAndNoOtherBeforeItHasLetGo(Kind kind) throws Exception {
    var peers = new SlowPeers();
    try (var fibers = kind.start();
        var fast = Pair.accepted(fibers);
        var slow = Pair.accepted(fibers)) {
      slow.peerSends("x");
      fast.peerSends("x".repeat(100_000));
      var begun = new CountDownLatch(2);
      var fastRead = receive(fibers, peers, fast, 100_000, begun, 1);
      var slowRead = receive(fibers, peers, slow, 1, begun, 1);
      begun.await();
      // At this rate a byte is worth a microsecond of waiting, and all the others 0.1 s.
      awaitHungUp(peers, Duration.ZERO, 1_000_000);
      assertThrows(ClosedChannelException.class, () -> Fiber.get(slowRead));
      fast.peerSends("x");
      assertEquals(100_001, Fiber.get(fastRead).length());
      assertEquals(0, peers.count());
    }
  }

  @ParameterizedTest
  @EnumSource
  void aByteNowAndThenIsNoProgress(Kind kind) throws Exception {
    var peers = new SlowPeers();
    try (var fibers = kind.start();
        var pair = Pair.accepted(fibers)) {
      pair.ours().readTimeout(Duration.ofSeconds(60));
      var read = receive(fibers, peers, pair, 1_000_000);
      var grace = Duration.ofMillis(50);
      while (peers.hangUp(1, grace, 100_000) == 0) {
        pair.peerSends("x");
        Thread.sleep(1);
      }
      assertThrows(ClosedChannelException.class, () -> Fiber.get(read));
    }
  }

  /** How a peer gets on in so many seconds, in each of which it is waited for all the time. */
  private static long seconds(Pace pace, long from, int count, int bytesEach) {
    for (long second = from; second < from + count; second++) {
      pace.waits(TimeUnit.SECONDS.toNanos(second));
      pace.moved(bytesEach);
      pace.goesOn(TimeUnit.SECONDS.toNanos(second + 1));
    }
    return from + count;
  }

  private static int hungUp(SlowPeers peers, long second) {
    return peers.hangUp(1, Duration.ofSeconds(5), 1000, TimeUnit.SECONDS.toNanos(second));
  }

  @Test
  void whoWasSlowLongAgoIsForgiven() {
    var peers = new SlowPeers();
    var pace = new Pace(TimeUnit.SECONDS.toNanos(10), 0);
    try (var _ = peers.hold(pace, () -> {})) {
      long now = seconds(pace, 0, 100, 1);
      now = seconds(pace, now, 25, 1000);
      assertEquals(0, hungUp(peers, now));
      now = seconds(pace, now, 5, 1);
      assertEquals(0, hungUp(peers, now), "that is the time of grace");
      now = seconds(pace, now, 10, 1);
      assertEquals(1, hungUp(peers, now));
    }
  }

  @Test
  void whoWasFastLongAgoHasNothingOfThat() {
    var peers = new SlowPeers();
    var trickling = new Pace(TimeUnit.SECONDS.toNanos(10), 0);
    var silent = new Pace(TimeUnit.SECONDS.toNanos(10), 0);
    try (var _ = peers.hold(trickling, () -> {});
        var _ = peers.hold(silent, () -> {})) {
      long now = seconds(trickling, 0, 5, 1 << 20);
      assertEquals(now, seconds(silent, 0, 5, 1 << 20));
      silent.waits(TimeUnit.SECONDS.toNanos(now));
      assertEquals(0, hungUp(peers, seconds(trickling, now, 4, 1)), "that was not long ago");
      now = seconds(trickling, now + 4, 21, 1);
      assertEquals(
          2,
          peers.hangUp(9, Duration.ofSeconds(5), 1000, TimeUnit.SECONDS.toNanos(now)),
          "neither who moves a byte now and then nor who moves none");
    }
  }

  @Test
  void ofThoseThatMoveNothingTheOneGoesThatWasWaitedForLongest() {
    var peers = new SlowPeers();
    var gone = new ArrayList<Integer>();
    var holds = new ArrayList<SlowPeers.Hold>();
    for (int i = 0; i < 20; i++) {
      int number = i;
      var pace = new Pace(TimeUnit.SECONDS.toNanos(100), 0);
      holds.add(peers.hold(pace, () -> gone.add(number)));
      pace.waits(TimeUnit.SECONDS.toNanos(i * 7 % 20));
    }
    long now = TimeUnit.SECONDS.toNanos(50);
    assertEquals(6, peers.hangUp(6, Duration.ofSeconds(5), 1000, now));
    assertEquals(List.of(0, 3, 6, 9, 12, 15), gone);
    holds.forEach(SlowPeers.Hold::close);
  }

  /** As for want of memory. */
  @Test
  void whoCannotBeHungUpOnSparesNobodyAndIsTriedAgain() {
    var peers = new SlowPeers();
    var gone = new ArrayList<String>();
    var fails = new AtomicBoolean(true);
    Runnable failing =
        () -> {
          if (fails.getAndSet(false)) {
            throw new OutOfMemoryError("says the test");
          }
          gone.add("slowest");
        };
    var slowest = new Pace(TimeUnit.SECONDS.toNanos(100), 0);
    var other = new Pace(TimeUnit.SECONDS.toNanos(100), 0);
    long now = TimeUnit.SECONDS.toNanos(50);
    try (var _ = peers.hold(slowest, failing)) {
      var second = peers.hold(other, () -> gone.add("other"));
      slowest.waits(TimeUnit.SECONDS.toNanos(1));
      other.waits(TimeUnit.SECONDS.toNanos(2));
      assertThrows(
          IllegalStateException.class, () -> peers.hangUp(1, Duration.ofSeconds(5), 1000, now));
      assertEquals(List.of("other"), gone);
      assertEquals(1, peers.hangUp(1, Duration.ofSeconds(5), 1000, now), "it is not gone yet");
      second.close();
      assertEquals(1, peers.hangUp(1, Duration.ofSeconds(5), 1000, now));
      assertEquals(List.of("other", "slowest"), gone);
    }
  }

  @ParameterizedTest
  @EnumSource
  void itIsKnownForWhomSomethingIsKept(Kind kind) throws Exception {
    var peers = new SlowPeers();
    try (var fibers = kind.start();
        var pair = Pair.accepted(fibers)) {
      assertFalse(peers.keepFor(pair.ours()));
      try (var _ = peers.hold(pair.ours(), Direction.SENDING)) {
        var again = peers.hold(pair.ours(), Direction.RECEIVING);
        assertTrue(peers.keepFor(pair.ours()));
        again.close();
        again.close();
        assertTrue(peers.keepFor(pair.ours()));
      }
      assertFalse(peers.keepFor(pair.ours()));
    }
  }

  @ParameterizedTest
  @EnumSource
  void whoKeepsTheRateIsSafeHoweverLongItTakes(Kind kind) throws Exception {
    var peers = new SlowPeers();
    try (var fibers = kind.start();
        var pair = Pair.accepted(fibers)) {
      pair.peerSends("x".repeat(50_000));
      var begun = new CountDownLatch(1);
      var read = receive(fibers, peers, pair, 50_000, begun, 1);
      // Before anything has come its rate is that of nobody.
      begun.await();
      for (int i = 0; i < 100; i++) {
        Thread.sleep(1);
        assertEquals(0, peers.hangUp(1, Duration.ZERO, 1));
      }
      pair.peerSends("x");
      assertEquals(50_001, Fiber.get(read).length());
    }
  }

  @ParameterizedTest
  @EnumSource
  void timeInWhichThePeerIsNotWaitedForIsNotItsFault(Kind kind) throws Exception {
    var peers = new SlowPeers();
    try (var fibers = kind.start();
        var pair = Pair.accepted(fibers)) {
      Fiber.run(
          fibers,
          () -> {
            try (var _ = peers.hold(pair.ours(), Direction.RECEIVING)) {
              fibers.sleep(Duration.ofMillis(50));
              assertEquals(0, peers.hangUp(1, Duration.ofMillis(10), ANY_RATE));
            }
            return 0;
          });
      pair.peerSends("ok");
      assertEquals("ok", Fiber.run(fibers, () -> Pair.read(pair.ours(), 2)));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aWriterWhosePeerDoesNotReadIsHungUpOn(Kind kind) throws Exception {
    var peers = new SlowPeers();
    try (var fibers = kind.start();
        var pair = Pair.accepted(fibers, Pair.loopback(), Pair.SMALL)) {
      pair.ours().whileWriterWaits(peers);
      var written =
          Fiber.start(
              fibers,
              () -> {
                try {
                  pair.ours().write(new byte[20_000_000]);
                  return true;
                } catch (IOException e) {
                  return false;
                }
              });
      awaitHungUp(peers, Duration.ofMillis(100), 1000);
      assertFalse(Fiber.get(written));
      assertEquals(0, peers.count());
    }
  }

  @ParameterizedTest
  @EnumSource
  void aWriterWhosePeerReadsIsNot(Kind kind) throws Exception {
    var peers = new SlowPeers();
    try (var fibers = kind.start();
        var pair = Pair.accepted(fibers, Pair.loopback(), Pair.SMALL)) {
      pair.ours().whileWriterWaits(peers);
      var written =
          Fiber.start(
              fibers,
              () -> {
                pair.ours().write(new byte[2_000_000]);
                pair.ours().flush();
                return true;
              });
      var into = ByteBuffer.allocate(2_000_000);
      while (into.hasRemaining()) {
        assertTrue(pair.peer().read(into) > 0);
        assertEquals(0, peers.hangUp(1, Duration.ofSeconds(20), 1000));
      }
      assertTrue(Fiber.get(written));
    }
  }
}
