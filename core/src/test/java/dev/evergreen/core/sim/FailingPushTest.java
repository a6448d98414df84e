package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.engine.TestGrains;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.spi.Message;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A push that fails by an exception of a link comes again, long before the renewal. */
final class FailingPushTest {

  private static final long MILLI = FewNodes.MILLI;
  private static final NodeSettings SETTINGS = NodeSettings.DEFAULT;

  private final FewNodes nodes = new FewNodes(2, SETTINGS, TestGrains::types);
  private final Scheduler scheduler = nodes.scheduler;

  /** When pushes have failed. */
  private final List<Long> failed = new ArrayList<>();

  private List<String> keys = List.of();

  @Test
  void itComesAgainSoon() {
    whenRead(
        1,
        texts -> {
          fail(push -> failed.size() < 3);
          write(0, "x");
          assertEquals("x", texts.getFirst().next(Duration.ofMillis(500)));
          assertEquals(3, failed.size());
        });
  }

  @Test
  void itComesAgainWithPausesThatGrowToALimit() {
    whenRead(
        1,
        texts -> {
          fail(push -> true);
          write(0, "x");
          scheduler.sleep(20_000 * MILLI);
          long longest = SETTINGS.pushRetryAfter().toNanos();
          for (int i = 1; i < failed.size(); i++) {
            long pause = failed.get(i) - failed.get(i - 1);
            long least = Math.min(longest, (10 * MILLI) << (i - 1));
            assertTrue(pause >= least, failed::toString);
            assertTrue(pause <= 2 * longest, failed::toString);
          }
          assertTrue(failed.size() > 10, failed::toString);
          fail(push -> false);
          assertEquals("x", texts.getFirst().next(SETTINGS.pushRetryAfter().multipliedBy(2)));
        });
  }

  /** The pauses are those of failures in a row. */
  @Test
  void itComesAgainAsSoonAfterAnotherOneThatWasSent() {
    whenRead(
        1,
        texts -> {
          for (int i = 0; i < 10; i++) {
            failed.clear();
            fail(push -> failed.size() < 3);
            write(0, "x" + i);
            assertEquals("x" + i, texts.getFirst().next(Duration.ofMillis(500)));
          }
        });
  }

  @Test
  void oneThatCanNeverBeSentDoesNotKeepTheOthers() {
    whenRead(
        5,
        texts -> {
          var bad = texts.get(2);
          fail(push -> push.updates().stream().anyMatch(update -> isOf(2, update)));
          for (int i = 0; i < 5; i++) {
            var text = "x" + i;
            IntStream.range(0, 5).forEach(cell -> write(cell, text));
            for (var shown : texts) {
              if (shown != bad) {
                assertEquals(text, shown.next(Duration.ofSeconds(5)));
              }
            }
          }
          assertTrue(bad.poll(Duration.ZERO).isEmpty());
        });
  }

  @Test
  void severalThatCanNeverBeSentDoNotKeepTheOthersEither() {
    whenRead(
        8,
        texts -> {
          fail(push -> push.updates().stream().anyMatch(u -> isOf(1, u) || isOf(4, u)));
          IntStream.range(0, 8).forEach(cell -> write(cell, "x"));
          for (int cell : List.of(0, 2, 3, 5, 6, 7)) {
            assertEquals("x", texts.get(cell).next(Duration.ofSeconds(1)));
          }
          fail(push -> false);
          var longest = SETTINGS.pushRetryAfter().multipliedBy(2);
          assertEquals("x", texts.get(1).next(longest));
          assertEquals("x", texts.get(4).next(longest));
        });
  }

  private boolean isOf(int index, Message.Update update) {
    return update.key().grain().key().equals(keys.get(index));
  }

  private interface Watched {
    void by(List<ResultTracker<String>> texts);
  }

  /** A node reads some cells of another one, and has got the first results. */
  private void whenRead(int count, Watched watched) {
    nodes.run(
        () -> {
          keys = nodes.keysOnSecond(Cell.class).limit(count).toList();
          var node = nodes.first().engine();
          var computations =
              keys.stream()
                  .map(key -> node.reactive(node.grains().get(Cell.class, key)::text))
                  .toList();
          var texts = computations.stream().map(ReactiveComputation::tracker).toList();
          texts.forEach(text -> assertEquals("", text.next(Duration.ofMinutes(1))));
          watched.by(texts);
          computations.forEach(ReactiveComputation::close);
        });
  }

  private void write(int index, String text) {
    nodes.second().engine().grains().get(Cell.class, keys.get(index)).set(text);
  }

  private void fail(Predicate<Message.Push> which) {
    nodes.network.fails(
        message -> {
          boolean fails = message instanceof Message.Push push && which.test(push);
          if (fails) {
            failed.add(scheduler.now());
          }
          return fails;
        });
  }
}
