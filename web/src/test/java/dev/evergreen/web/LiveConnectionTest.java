package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.parallel.ExecutionMode.CONCURRENT;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.evergreen.live.HandNode;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;

/**
 * What a connection shall write while its writer is about to end. Each round begins when the last
 * message of the round before has been written, and so meets that moment.
 */
class LiveConnectionTest {

  private static final int ROUNDS = 2_000;
  private static final int LONGEST_LINGER = 500;
  private static final long SOON_SECONDS = 20;

  private final AtomicInteger value = new AtomicInteger();
  private final HandNode node = new HandNode();
  private final Counters counters = new Counters();
  private final Failures failures = new Failures(e -> Optional.empty());
  private final LiveView<LiveView.NoParams> view =
      LiveView.of(
          "value", LiveView.NoParams.class, Authorisation.everyone(), params -> () -> value.get());
  private final Hub hub = new Hub(node, Map.of(view.name(), view), WebSettings.DEFAULT, failures);
  private final RecordedConnection connection =
      new RecordedConnection(
          Caller.ANONYMOUS,
          counters,
          hub,
          new Standings(node, request -> Caller.ANONYMOUS, WebSettings.DEFAULT, () -> 0),
          LiveConnectionTest::linger);
  private final WatchedView<LiveView.NoParams> live =
      hub.acquire(view, Caller.ANONYMOUS, "an address", JsonNodeFactory.instance.objectNode());

  /** The test knows already; so what it does next comes before, at, or after the writer's end. */
  private static void linger() {
    for (int i = ThreadLocalRandom.current().nextInt(LONGEST_LINGER); i > 0; i--) {
      Thread.onSpinWait();
    }
  }

  @AfterEach
  void end() {
    connection.close();
    hub.close();
    node.close();
  }

  private static String next(BlockingQueue<String> written, String what)
      throws InterruptedException {
    @Nullable String next = null;
    for (int i = 0; next == null && i < LONGEST_LINGER; i++) {
      // A thread that has to be woken would come too late for the writer's end.
      Thread.onSpinWait();
      next = written.poll();
    }
    if (next == null) {
      next = written.poll(SOON_SECONDS, TimeUnit.SECONDS);
    }
    assertTrue(next != null, () -> what + " was not written");
    return next == null ? "" : next;
  }

  @Test
  void aResultThatComesWhenTheWriterEndsIsWritten() throws InterruptedException {
    connection.watch(live);
    assertEquals("0}", next(connection.results, "the first result"));
    for (int i = 1; i <= ROUNDS; i++) {
      value.set(i);
      node.changed();
      assertEquals(i + "}", next(connection.results, "result " + i));
    }
    assertEquals(List.of(), List.copyOf(connection.results));
  }

  @Test
  void changesOfSeveralThreadsEndWithTheLatestResult() throws InterruptedException {
    var subscription = connection.watch(live);
    assertEquals("0}", next(connection.results, "the first result"));
    for (int i = 1; i <= ROUNDS / 4; i++) {
      var other = Thread.startVirtualThread(() -> subscription.changed(true));
      value.set(i);
      node.changed();
      assertEquals(i + "}", next(connection.results, "result " + i));
      assertTrue(other.join(Duration.ofSeconds(SOON_SECONDS)));
    }
    assertEquals(List.of(), List.copyOf(connection.results));
  }

  @Test
  void eachControlMessageIsWrittenOnceAndInOrder() throws InterruptedException {
    for (int i = 0; i < 10 * ROUNDS; i++) {
      connection.say("message " + i);
      assertEquals("message " + i, next(connection.control, "message " + i));
    }
    assertEquals(List.of(), List.copyOf(connection.control));
  }

  /**
   * What is to be sent later is looked at then: the latest result, by the rights of then. Meanwhile
   * the connection says what else there is to say.
   */
  @Test
  @Execution(CONCURRENT)
  void aResultThatHasToWaitIsTheLatestAndForWhoMaySeeItByThen() throws InterruptedException {
    var allowed = new AtomicBoolean(true);
    var looks = new AtomicInteger();
    var length = 8_000;
    var long1 =
        LiveView.of(
            "long",
            LiveView.NoParams.class,
            (caller, none) -> looks.incrementAndGet() > 0 && allowed.get(),
            none -> () -> value.get() + "x".repeat(length));
    var slow =
        new RecordedConnection(
            Caller.ANONYMOUS,
            WebSettings.DEFAULT.withMaxBytesPerSecond(length / 15),
            counters,
            hub,
            new Standings(node, request -> Caller.ANONYMOUS, WebSettings.DEFAULT, () -> 0),
            () -> {});
    slow.watch(
        hub.acquire(long1, Caller.ANONYMOUS, "an address", JsonNodeFactory.instance.objectNode()));
    assertTrue(next(slow.results, "the first result").startsWith("\"0x"));
    // The allowance is used up for five seconds.
    int before = looks.get();
    Await.until(
        "another waits",
        () -> {
          value.incrementAndGet();
          node.changed();
          return counters.skipped.sum() > 0 || looks.get() > before;
        });
    slow.say("meanwhile");
    assertEquals("meanwhile", next(slow.control, "what else there is to say"));
    allowed.set(false);
    assertTrue(next(slow.control, "the end").contains("forbidden"));
    assertEquals(List.of(), List.copyOf(slow.results));
    slow.close();
  }

  /** Else a client that asks and does not listen would fill the memory with answers. */
  @Test
  void readingStopsWhileAnswersAreNotTakenAndThenGoesOn() throws InterruptedException {
    var taken = new CountDownLatch(1);
    var slow =
        new RecordedConnection(
            Caller.ANONYMOUS,
            counters,
            hub,
            new Standings(node, request -> Caller.ANONYMOUS, WebSettings.DEFAULT, () -> 0),
            () -> awaitUninterruptibly(taken));
    int answers = 0;
    while (!slow.pauseReading()) {
      slow.say("answer " + answers++);
      assertTrue(answers < 100, "it reads on");
    }
    assertEquals(0, slow.readsOn.availablePermits());
    taken.countDown();
    assertTrue(slow.readsOn.tryAcquire(SOON_SECONDS, TimeUnit.SECONDS));
    assertFalse(slow.pauseReading());
    for (int i = 0; i < answers; i++) {
      assertEquals("answer " + i, next(slow.control, "answer " + i));
    }
    slow.close();
  }

  /** Seen: it stayed among the subscribers of the view for as long as that was kept. */
  @Test
  void nothingIsLeftInAViewOfWhatEndsWhileItIsSubscribed() {
    var subscription = connection.prepare(live);
    connection.close();
    connection.follow(subscription);
    assertEquals(0, live.subscribers());
  }

  /** Seen: nothing more was written, not even heartbeats. */
  @Test
  void anErrorInACheckOfRightsRefusesAndTheConnectionGoesOn() throws InterruptedException {
    var broken = new AtomicBoolean();
    var right =
        LiveView.of(
            "right",
            LiveView.NoParams.class,
            (caller, none) -> {
              if (broken.get()) {
                throw new StackOverflowError();
              }
              return true;
            },
            none -> () -> value.get());
    var watched =
        hub.acquire(right, Caller.ANONYMOUS, "an address", JsonNodeFactory.instance.objectNode());
    connection.watch(watched);
    assertEquals("0}", next(connection.results, "the first result"));
    broken.set(true);
    value.set(1);
    node.changed();
    assertTrue(next(connection.control, "the end").contains("forbidden"));
    connection.say("and on");
    assertEquals("and on", next(connection.control, "the next message"));
    assertThrows(
        WebException.class,
        () -> Refusals.require(watched.allows(Caller.ANONYMOUS), Caller.ANONYMOUS));
  }

  /** Whatever else goes wrong ends the connection: it must not be open and silent. */
  @Test
  void anErrorOfTheWriterEndsTheConnection() {
    var failing =
        new RecordedConnection(
            Caller.ANONYMOUS,
            counters,
            hub,
            new Standings(node, request -> Caller.ANONYMOUS, WebSettings.DEFAULT, () -> 0),
            () -> {
              throw new StackOverflowError();
            });
    failing.say("something");
    Await.until("over", failing::isOver);
  }

  /** Seen: the watchdog waited for the lock that was held while deltas were made. */
  @Test
  void deltasAreMadeWithoutTheLockOfTheResult() throws InterruptedException {
    var asked = new LinkedBlockingQueue<Boolean>();
    live.subscribe(
        new WatchedView.Subscriber() {
          @Override
          public void changed(boolean newResult) {}

          @Override
          public boolean takesDeltas() {
            asked.add(Thread.holdsLock(live));
            return true;
          }

          @Override
          public void ended(WebException why) {}
        });
    assertTrue(live.awaitFirst(Duration.ofSeconds(SOON_SECONDS)));
    value.set(1);
    node.changed();
    assertEquals(false, asked.poll(SOON_SECONDS, TimeUnit.SECONDS));
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
