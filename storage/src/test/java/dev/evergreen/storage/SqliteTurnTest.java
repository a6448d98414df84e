package dev.evergreen.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
final class SqliteTurnTest {

  private static final Duration LONG = Duration.ofMinutes(1);

  private final Path database;
  private final ConcurrentLinkedQueue<String> order = new ConcurrentLinkedQueue<>();
  private final CountDownLatch locked = new CountDownLatch(1);

  SqliteTurnTest(@TempDir Path directory) {
    database = directory.resolve("grains.db");
  }

  @Test
  void whoeverIsNextComesBeforeThoseThatAskLater() throws Exception {
    try (var one = new SqliteTurn(database, LONG);
        var other = new SqliteTurn(database, LONG)) {
      var first = takeSlowly(one);
      var second =
          new FutureTask<>(
              () -> {
                take(other);
                return true;
              });
      Callers.awaitWaiting(List.of(Thread.ofVirtual().start(second)));
      assertFalse(second.isDone(), "two are the next");
      order.add("unlocked");
      locked.countDown();
      first.get();
      second.get();
      assertEquals(List.of("unlocked", "slow", "other"), List.copyOf(order));
    }
  }

  @Test
  void whoHasNoPatienceLeftGoesOnWithoutATurn() throws Exception {
    try (var one = new SqliteTurn(database, LONG);
        var other = new SqliteTurn(database, Duration.ofMillis(20))) {
      var first = takeSlowly(one);
      take(other);
      locked.countDown();
      first.get();
      assertEquals(List.of("other", "slow"), List.copyOf(order));
    }
  }

  @Test
  void aTurnThatIsNeverOverIsWaitedForOnlyOnce() throws Exception {
    try (var one = new SqliteTurn(database, LONG);
        var other = new SqliteTurn(database, Duration.ofSeconds(1))) {
      var first = takeSlowly(one);
      // Each for itself they would wait longer than this test may take.
      for (int i = 0; i < 1000; i++) {
        take(other);
      }
      locked.countDown();
      first.get();
      assertEquals(1001, order.size());
    }
  }

  @Test
  void aTurnThatFailedIsOver() throws Exception {
    try (var one = new SqliteTurn(database, LONG);
        var other = new SqliteTurn(database, LONG)) {
      assertThrows(
          SQLException.class,
          () ->
              one.take(
                  () -> {
                    throw new SQLException("locked");
                  }));
      take(other);
      assertEquals(List.of("other"), List.copyOf(order));
    }
  }

  @Test
  void whereThereCanBeNoFileNobodyWaits() throws Exception {
    try (var one = new SqliteTurn(database.resolve("missing"), LONG)) {
      take(one);
      assertEquals(List.of("other"), List.copyOf(order));
    }
  }

  /** Has its turn until {@link #locked}; returns when that has begun. */
  private FutureTask<Void> takeSlowly(SqliteTurn turn) throws InterruptedException {
    var begun = new CountDownLatch(1);
    var task =
        new FutureTask<Void>(
            () -> {
              turn.take(
                  () -> {
                    begun.countDown();
                    awaitLocked();
                    order.add("slow");
                  });
              return null;
            });
    Thread.ofVirtual().start(task);
    begun.await();
    return task;
  }

  private void awaitLocked() {
    try {
      locked.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private void take(SqliteTurn turn) throws SQLException {
    turn.take(() -> order.add("other"));
  }
}
