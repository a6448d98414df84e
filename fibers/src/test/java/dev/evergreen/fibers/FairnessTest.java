package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Fibers.Mode;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Nothing that is ready waits for ever, whatever others do. Who starves would end its test by the
 * time limit. {@code -Devergreen.fibers.seeds=N} sets how many random loads are tried.
 */
@Timeout(300)
class FairnessTest {

  private static final int SEEDS = Integer.getInteger("evergreen.fibers.seeds", 30);

  static IntStream seeds() {
    return IntStream.range(0, SEEDS);
  }

  private static Fibers start(int processors) {
    return Fibers.builder().mode(Mode.PROCESSORS).processors(processors).start();
  }

  @Test
  void aFiberThatUsedItsTurnUpIsWokenBehindOthersOnce() throws Exception {
    int rounds = 50;
    int lightFirst = 0;
    try (var fibers = start(1)) {
      for (int i = 0; i < rounds; i++) {
        var order = Fiber.run(fibers, () -> wakeTwice(fibers));
        lightFirst += order.getFirst().equals("light") ? 1 : 0;
        assertEquals(List.of("busy", "light"), order.subList(2, 4), "it has waited since");
      }
    }
    // Not each time: the processor may have been suspended for so long that the other's share came.
    assertTrue(lightFirst > 0, "who used its turn up is always run first");
  }

  /** The order in which two fibers run that are woken together, the one that was busy first. */
  private static List<String> wakeTwice(Fibers fibers) throws InterruptedException {
    var order = new ArrayList<String>();
    var busy = new Semaphore(0);
    var light = new Semaphore(0);
    var fiberOfBusy =
        fibers.spawn(
            () -> {
              Fibers.letOthersRun();
              takeTwice(busy, "busy", order);
            });
    var fiberOfLight = fibers.spawn(() -> takeTwice(light, "light", order));
    for (int woken = 0; woken < 4; woken += 2) {
      while (order.size() < woken || !busy.hasQueuedThreads() || !light.hasQueuedThreads()) {
        Fibers.letOthersRun();
      }
      busy.release();
      light.release();
    }
    fiberOfBusy.join();
    fiberOfLight.join();
    return order;
  }

  private static void takeTwice(Semaphore permits, String name, List<String> order) {
    for (int i = 0; i < 2; i++) {
      permits.acquireUninterruptibly();
      order.add(name);
    }
  }

  @Test
  void fibersOfOneProcessorThatOnlyYieldTakeTurns() throws Exception {
    var turns = new long[7];
    var begun = new AtomicInteger();
    try (var fibers = start(1)) {
      // Started by a fiber, so that none of them runs before all are ready.
      var games =
          Fiber.run(
              fibers,
              () ->
                  IntStream.range(0, turns.length)
                      .mapToObj(me -> Fiber.start(fibers, () -> takeTurns(turns, begun, me)))
                      .toList());
      for (var game : games) {
        Fiber.get(game);
      }
    }
  }

  /**
   * Two that wake each other in turns among many that only yield: by the order of arrival each
   * would wait for all of them, each time.
   */
  @Test
  void whoIsWokenDoesNotWaitForAllThatYield() throws Exception {
    int hogs = 100;
    int hops = 1_000;
    var stop = new AtomicBoolean();
    try (var fibers = start(1);
        Closeable _ = () -> stop.set(true)) {
      var turns = new AtomicInteger();
      var during =
          Fiber.run(
              fibers,
              () -> {
                for (int i = 0; i < hogs; i++) {
                  fibers.spawn(() -> yieldUntil(stop, turns));
                }
                Fibers.letOthersRun();
                int before = turns.get();
                pingPong(fibers, hops);
                return turns.get() - before;
              });
      // One in each millisecond, however busy the machine is.
      assertTrue(during < hops * hogs / 4, () -> "the others had " + during + " turns");
    }
  }

  /** Two that wake each other all the time leave their share to one that yields. */
  @Test
  void whoYieldsRunsThoughOthersAreAlwaysWoken() throws Exception {
    var stop = new AtomicBoolean();
    try (var fibers = start(1)) {
      var turns = new AtomicInteger();
      var game =
          Fiber.start(
              fibers,
              () -> {
                while (!stop.get()) {
                  pingPong(fibers, 100);
                }
                return 0;
              });
      fibers.spawn(() -> yieldUntil(stop, turns));
      while (turns.get() < 20) {
        Thread.onSpinWait();
      }
      stop.set(true);
      Fiber.get(game);
    }
  }

  private static void yieldUntil(AtomicBoolean stop, AtomicInteger turns) {
    while (!stop.get()) {
      turns.incrementAndGet();
      Fibers.letOthersRun();
    }
  }

  private static void pingPong(Fibers fibers, int hops) throws InterruptedException {
    var here = new Semaphore(0);
    var there = new Semaphore(0);
    var other =
        fibers.spawn(
            () -> {
              for (int i = 0; i < hops; i++) {
                there.acquireUninterruptibly();
                here.release();
              }
            });
    for (int i = 0; i < hops; i++) {
      there.release();
      here.acquire();
    }
    other.join();
  }

  @Test
  void anAcceptorInAFloodLetsOthersRun() throws Exception {
    int flood = 300;
    var accepted = new AtomicInteger();
    var peers = new ArrayList<SocketChannel>();
    try (var fibers = start(1);
        var listener = fibers.listen(Pair.loopback(), SocketOptions.DEFAULT.withBacklog(flood))) {
      for (int i = 0; i < flood; i++) {
        peers.add(SocketChannel.open(listener.address()));
      }
      // Started by a fiber, so that neither runs before both are ready.
      var games =
          Fiber.run(
              fibers,
              () ->
                  List.of(
                      Fiber.start(fibers, () -> acceptAll(listener, accepted, flood)),
                      Fiber.start(fibers, () -> mostBetweenTurns(accepted, flood))));
      Fiber.get(games.getFirst());
      assertEquals(OwnListener.TURN, Fiber.get(games.getLast()));
    } finally {
      for (var peer : peers) {
        peer.close();
      }
    }
  }

  private static int acceptAll(Listener listener, AtomicInteger accepted, int flood)
      throws IOException {
    while (accepted.get() < flood) {
      listener.accept().close();
      accepted.incrementAndGet();
    }
    return 0;
  }

  private static int mostBetweenTurns(AtomicInteger accepted, int flood) {
    int most = 0;
    for (int before = 0; before < flood; ) {
      int now = accepted.get();
      most = Math.max(most, now - before);
      before = now;
      Fibers.letOthersRun();
    }
    return most;
  }

  private static int takeTurns(long[] turns, AtomicInteger begun, int me) {
    // New ones come before those that have had a turn.
    begun.incrementAndGet();
    while (begun.get() < turns.length) {
      Fibers.letOthersRun();
    }
    while (turns[me] < 5_000) {
      turns[me]++;
      for (long other : turns) {
        assertTrue(
            Math.abs(other - turns[me]) <= 1, () -> "out of turn: " + Arrays.toString(turns));
      }
      Fibers.letOthersRun();
    }
    return 0;
  }

  /** Hogs that yield and sometimes compute, and victims of all kinds, by a seed. */
  @ParameterizedTest
  @MethodSource("seeds")
  void whoeverIsReadyRunsWhileOthersOnlyYield(int seed) throws Exception {
    var random = new Random(seed);
    int processors = 1 + random.nextInt(3);
    var stop = new AtomicBoolean();
    // What fails must end the hogs too, as closing waits for them.
    try (var fibers = start(processors);
        Closeable _ = () -> stop.set(true)) {
      var yields = new AtomicLongArray(4);
      int hogs = 1 + random.nextInt(4);
      for (int hog = 0; hog < hogs; hog++) {
        int me = hog;
        int spin = random.nextInt(3) * 2_000;
        fibers.spawn(
            () -> {
              while (!stop.get()) {
                for (int i = 0; i < spin; i++) {
                  Thread.onSpinWait();
                }
                yields.incrementAndGet(me);
                Fibers.letOthersRun();
              }
            });
      }
      var victims = new ArrayList<CompletableFuture<Integer>>();
      for (int victim = 0; victim < 6; victim++) {
        victims.add(victim(fibers, random.nextInt(4), 50));
      }
      for (var victim : victims) {
        Fiber.get(victim);
      }
      // A hog's processor may have been waking while the others ran all the victims.
      long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
      for (int hog = 0; hog < hogs; hog++) {
        while (yields.get(hog) == 0) {
          assertTrue(System.nanoTime() < deadline, "hog " + hog + " never ran");
          Thread.onSpinWait();
        }
      }
    }
  }

  private static CompletableFuture<Integer> victim(Fibers fibers, int what, int rounds) {
    return Fiber.start(
        fibers,
        () -> {
          switch (what) {
            case 0 -> {
              for (int i = 0; i < rounds; i++) {
                fibers.sleep(Duration.ofNanos(1));
              }
            }
            case 1 -> {
              for (int i = 0; i < rounds; i++) {
                Thread.sleep(Duration.ofNanos(1));
              }
            }
            case 2 -> {
              for (int i = 0; i < rounds; i++) {
                fibers.spawn(() -> {}).join();
              }
            }
            default -> echo(fibers, rounds);
          }
          return 0;
        });
  }

  private static void echo(Fibers fibers, int rounds) throws Exception {
    try (var listener = fibers.listen(Pair.loopback());
        var out = fibers.connect(listener.address());
        var in = listener.accept()) {
      var ball = ByteBuffer.allocateDirect(1);
      for (int i = 0; i < rounds; i++) {
        out.write(ball.clear());
        out.flush();
        assertEquals(1, in.read(ball.clear()));
      }
    }
  }

  /**
   * A fiber computes until the others are done, and they belong to its processor: only if another
   * one looks after its queue, its sockets and its alarms does this end.
   */
  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void whatWaitsAtAProcessorThatComputesIsHelped(int processors) throws Exception {
    try (var fibers = start(processors)) {
      for (int round = 0; round < 20; round++) {
        var done = new AtomicBoolean();
        try (var pair = Pair.accepted(fibers)) {
          var ready = new Semaphore(0);
          var computing =
              Fiber.start(
                  fibers,
                  () -> {
                    // These park on this processor, then it computes.
                    var reader =
                        fibers.spawn(
                            () -> {
                              try {
                                pair.ours().read(ByteBuffer.allocate(1));
                              } catch (java.io.IOException e) {
                                throw new java.io.UncheckedIOException(e);
                              }
                            });
                    var sleeper =
                        fibers.spawn(
                            () -> {
                              try {
                                fibers.sleep(Duration.ofMillis(1));
                              } catch (InterruptedException e) {
                                throw new AssertionError(e);
                              }
                            });
                    Fibers.letOthersRun();
                    var last =
                        fibers.spawn(
                            () -> {
                              try {
                                reader.join();
                                sleeper.join();
                              } catch (InterruptedException e) {
                                throw new AssertionError(e);
                              }
                              done.set(true);
                            });
                    ready.release();
                    while (!done.get()) {
                      Thread.onSpinWait();
                    }
                    last.join();
                    return 0;
                  });
          ready.acquire();
          pair.peerSends("x");
          Fiber.get(computing);
        }
      }
    }
  }

  @Test
  void idleProcessorsTakeFibersFromABusyOne() throws Exception {
    try (var fibers = start(2)) {
      // Each waits until the other runs too, without ever giving its processor away.
      var running = new java.util.concurrent.atomic.AtomicInteger();
      Fiber.run(
          fibers,
          () -> {
            var both = new ArrayList<Thread>();
            for (int i = 0; i < 2; i++) {
              both.add(
                  fibers.spawn(
                      () -> {
                        running.incrementAndGet();
                        while (running.get() < 2) {
                          Thread.onSpinWait();
                        }
                      }));
            }
            for (var one : both) {
              one.join();
            }
            return 0;
          });
      assertTrue(fibers.report().processors().stream().mapToLong(p -> p.steals()).sum() > 0);
    }
  }

  @Test
  void withoutHelpingNobodyHelps() throws Exception {
    try (var fibers = Fibers.builder().mode(Mode.PROCESSORS).processors(2).helping(false).start()) {
      var victims = new ArrayList<CompletableFuture<Integer>>();
      for (int victim = 0; victim < 4; victim++) {
        victims.add(victim(fibers, victim, 100));
      }
      for (var victim : victims) {
        Fiber.get(victim);
      }
      assertEquals(0, fibers.report().processors().stream().mapToLong(p -> p.helps()).sum());
    }
  }

  /** Its socket is never empty, so that it would never have to wait. */
  @Test
  void aReaderWhosePeerSendsWithoutEndLetsOthersRun() throws Exception {
    try (var fibers = start(1);
        var pair = Pair.accepted(fibers)) {
      var stop = new AtomicBoolean();
      var sender =
          Thread.ofPlatform()
              .start(
                  () -> {
                    var bytes = ByteBuffer.allocateDirect(1 << 20);
                    try {
                      while (!stop.get()) {
                        pair.peer().write(bytes.clear());
                      }
                      pair.peer().shutdownOutput();
                    } catch (java.io.IOException e) {
                      throw new java.io.UncheckedIOException(e);
                    }
                  });
      var reader =
          Fiber.start(
              fibers,
              () -> {
                var into = ByteBuffer.allocateDirect(1000);
                while (pair.ours().read(into.clear()) >= 0) {
                  // As fast as it can.
                }
                return 0;
              });
      for (int what = 0; what < 4; what++) {
        Fiber.get(victim(fibers, what, 20));
      }
      stop.set(true);
      Fiber.get(reader);
      sender.join();
    }
  }
}
