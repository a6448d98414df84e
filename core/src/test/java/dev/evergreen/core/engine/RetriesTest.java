package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.work.Retries;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When caches ask again, by a clock that the test sets. */
@Timeout(60)
class RetriesTest {

  private static final long MILLI = HandClock.MILLI;

  private final WiredNodes wired = new WiredNodes(WiredNodes.id("b"));
  private final HandClock clock = new HandClock();
  private final List<Long> asked = new ArrayList<>();

  private Cache cache;
  private Runnable whileAsking = () -> {};

  private final Retries<Cache> retries =
      new Retries<>(
          clock.workers(),
          Duration.ofSeconds(30),
          Cache::failedAttempt,
          (caches, next) -> caches.forEach(this::askInVain));

  @BeforeEach
  void makeCache() {
    wired.connected = node -> false;
    var node = wired.start(WiredNodes.id("a"), NodeSettings.DEFAULT);
    var computation = node.reactive(node.grains().get(Cell.class, "c")::text);
    computation.tracker().poll(Duration.ZERO);
    WiredNodes.await("the cache", () -> node.caches.size() > 0);
    cache = node.caches.all().iterator().next();
  }

  @AfterEach
  void stop() {
    wired.close();
  }

  private void askInVain(Cache cache) {
    long finds = retries.finds();
    asked.add(clock.nanos());
    whileAsking.run();
    retries.later(cache, finds);
  }

  private void becomePatient() {
    for (int i = 0; i < 20; i++) {
      cache.failedAttempt();
    }
    retries.later(cache);
    clock.passTo(clock.nanos() + 1_000 * MILLI);
    assertEquals(List.of(), asked, "it is patient");
  }

  @Test
  void whatIsFoundEndsTheWaiting() {
    becomePatient();
    retries.now(all -> true);
    assertEquals(List.of(clock.nanos()), asked);
  }

  @Test
  void whatIsFoundElsewhereDoesNot() {
    becomePatient();
    retries.now(all -> false);
    assertEquals(List.of(), asked);
  }

  /** The cache does not wait then, but is about to, by what it had looked at before. */
  @Test
  void whatIsFoundWhileItAsksEndsTheWaitingToo() {
    becomePatient();
    whileAsking =
        () -> {
          whileAsking = () -> {};
          retries.now(all -> true);
        };
    retries.now(all -> true);
    clock.passTo(clock.nanos() + 20 * MILLI);
    assertEquals(2, asked.size());
    clock.passTo(clock.nanos() + 2_000 * MILLI);
    assertEquals(2, asked.size(), "it is patient again");
    assertTrue(retries.contains(cache));
  }

  /** As where memory ends. */
  @Test
  void whoCouldNotBeSetDownAsksAnotherTime() {
    var fails = new AtomicBoolean(true);
    var attempts =
        new Retries<Cache>(
            clock.workers(),
            Duration.ofSeconds(30),
            one -> {
              if (fails.getAndSet(false)) {
                throw new OutOfMemoryError("says the test");
              }
              return 0;
            },
            (caches, next) -> caches.forEach(one -> asked.add(clock.nanos())));
    assertThrows(OutOfMemoryError.class, () -> attempts.later(cache));
    attempts.later(cache);
    clock.passTo(clock.nanos() + 20 * MILLI);
    assertEquals(1, asked.size());
  }
}
