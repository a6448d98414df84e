package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * No wake-up is ever lost, whatever wakes whom: each test plays ping-pong, and a lost ball would
 * end it by its time limit. {@code -Devergreen.fibers.rounds=N} sets how many rounds each plays.
 */
@Timeout(600)
class WakeUpTest {

  private static final int ROUNDS = Integer.getInteger("evergreen.fibers.rounds", 2_000);

  @TempDir Path folder;

  @ParameterizedTest
  @EnumSource
  void fibersWakeEachOtherByParking(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      var games = new ArrayList<CompletableFuture<Integer>>();
      for (int game = 0; game < 4; game++) {
        var there = new Gate();
        var back = new Gate();
        games.add(
            Fiber.start(
                fibers,
                () -> {
                  for (int i = 0; i < ROUNDS; i++) {
                    there.open();
                    assertTrue(back.await());
                  }
                  return 0;
                }));
        games.add(
            Fiber.start(
                fibers,
                () -> {
                  for (int i = 0; i < ROUNDS; i++) {
                    assertTrue(there.await());
                    back.open();
                  }
                  return 0;
                }));
      }
      for (var game : games) {
        Fiber.get(game);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void aForeignThreadWakesAFiberThatSleeps(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      var ball = new SynchronousQueue<Integer>();
      var back = new SynchronousQueue<Integer>();
      var game =
          Fiber.start(
              fibers,
              () -> {
                for (int i = 0; i < ROUNDS; i++) {
                  back.put(ball.take() + 1);
                }
                return 0;
              });
      var random = new Random(1);
      for (int i = 0; i < ROUNDS; i++) {
        if (random.nextInt(4) == 0) {
          awaitSleep(fibers);
        }
        ball.put(i);
        assertEquals(i + 1, back.take());
      }
      Fiber.get(game);
    }
  }

  /** Waits until the processors have nothing to do, so that the wake-up meets them asleep. */
  private static void awaitSleep(Fibers fibers) {
    long before = runs(fibers);
    LockSupport.parkNanos(50_000);
    while (runs(fibers) != before) {
      before = runs(fibers);
      LockSupport.parkNanos(50_000);
    }
  }

  private static long runs(Fibers fibers) {
    return fibers.report().processors().stream().mapToLong(p -> p.runs()).sum();
  }

  @ParameterizedTest
  @EnumSource
  void timersOfOursAndOfTheJdkRing(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      var games = new ArrayList<CompletableFuture<Integer>>();
      for (int game = 0; game < 8; game++) {
        var random = new Random(game);
        games.add(
            Fiber.start(
                fibers,
                () -> {
                  for (int i = 0; i < ROUNDS / 8; i++) {
                    var time = Duration.ofNanos(random.nextInt(300_000));
                    switch (random.nextInt(4)) {
                      case 0 -> fibers.sleep(time);
                      case 1 -> Thread.sleep(time);
                      case 2 -> {
                        var rung = new Semaphore(0);
                        fibers.schedule(time, rung::release);
                        rung.acquire();
                      }
                      default ->
                          new Semaphore(0)
                              .tryAcquire(
                                  time.toNanos(), java.util.concurrent.TimeUnit.NANOSECONDS);
                    }
                  }
                  return 0;
                }));
      }
      for (var game : games) {
        Fiber.get(game);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void locksOfTheJdkGoOnBetweenFibersAndForeignThreads(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      var lock = new ReentrantLock();
      var changed = lock.newCondition();
      var monitor = new Object();
      var turns = new int[2];
      int players = 4;
      var games = new ArrayList<CompletableFuture<Integer>>();
      for (int player = 0; player < players; player++) {
        int me = player;
        java.util.concurrent.Callable<Integer> game =
            () -> {
              for (int i = 0; i < ROUNDS / players; i++) {
                lock.lock();
                try {
                  while (turns[0] % players != me) {
                    changed.await();
                  }
                  turns[0]++;
                  changed.signalAll();
                } finally {
                  lock.unlock();
                }
                synchronized (monitor) {
                  while (turns[1] % players != me) {
                    monitor.wait();
                  }
                  turns[1]++;
                  monitor.notifyAll();
                }
              }
              return 0;
            };
        if (player == 0) {
          var result = new CompletableFuture<Integer>();
          Thread.ofPlatform()
              .daemon()
              .start(
                  () -> {
                    try {
                      result.complete(game.call());
                    } catch (Exception e) {
                      result.completeExceptionally(e);
                    }
                  });
          games.add(result);
        } else {
          games.add(Fiber.start(fibers, game));
        }
      }
      for (var game : games) {
        Fiber.get(game);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void socketsWakeTheirReaders(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      for (var address :
          new java.net.SocketAddress[] {
            Pair.loopback(), UnixDomainSocketAddress.of(folder.resolve("ping"))
          }) {
        try (var pair = Pair.accepted(fibers, address, SocketOptions.DEFAULT)) {
          var game =
              Fiber.start(
                  fibers,
                  () -> {
                    var into = ByteBuffer.allocateDirect(1);
                    for (int i = 0; i < ROUNDS; i++) {
                      assertEquals(1, pair.ours().read(into.clear()));
                      pair.ours().write(into.flip());
                    }
                    pair.ours().flush();
                    return 0;
                  });
          var random = new Random(1);
          var ball = ByteBuffer.allocate(1);
          for (int i = 0; i < ROUNDS; i++) {
            if (random.nextInt(8) == 0) {
              awaitSleep(fibers);
            }
            pair.peer().write(ball.clear());
            assertEquals(1, pair.peer().read(ball.clear()));
          }
          Fiber.get(game);
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void manyFibersPlayByEverythingAtOnce(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      var listener = fibers.listen(Pair.loopback());
      fibers.spawn(
          () ->
              listener.serve(
                  connection -> {
                    var into = ByteBuffer.allocateDirect(64);
                    while (connection.read(into.clear()) >= 0) {
                      connection.write(into.flip());
                    }
                  }));
      var shared = new Semaphore(2);
      var games = new ArrayList<CompletableFuture<Integer>>();
      for (int game = 0; game < 32; game++) {
        var random = new Random(game);
        games.add(
            Fiber.start(
                fibers,
                () -> {
                  try (var connection = fibers.connect(listener.address())) {
                    connection.readTimeout(Duration.ofSeconds(50));
                    for (int i = 0; i < ROUNDS / 32; i++) {
                      switch (random.nextInt(5)) {
                        case 0 -> fibers.sleep(Duration.ofNanos(random.nextInt(200_000)));
                        case 1 -> {
                          shared.acquire();
                          Fibers.letOthersRun();
                          shared.release();
                        }
                        case 2 -> fibers.spawn(Fibers::letOthersRun).join();
                        case 3 ->
                            Thread.ofVirtual().start(() -> LockSupport.parkNanos(1000)).join();
                        default -> {
                          connection.write(Pair.bytes("ball"));
                          assertEquals("ball", Pair.read(connection, 4));
                        }
                      }
                    }
                  }
                  return 0;
                }));
      }
      for (var game : games) {
        Fiber.get(game);
      }
    }
  }
}
