package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Answer;
import dev.evergreen.provenance.Answer.Certainty;
import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Durability;
import dev.evergreen.provenance.Recording;
import dev.evergreen.provenance.Skew;
import dev.evergreen.provenance.SpoolSettings;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Writes that do not pass the shim. */
@Timeout(60)
class OutsideTest {
  @TempDir private Path directory;

  /** What clients and others do with a shim that notices. */
  @FunctionalInterface
  private interface Doing {
    void with(Shimmed shimmed, Talk client, Recording recording) throws IOException;
  }

  private void recorded(Doing doing, String... options) throws IOException {
    var settings = SpoolSettings.DEFAULT.withSegmentBytes(1 << 20).withDurability(Durability.NONE);
    try (var made = new Recorded(directory).record(settings);
        var shimmed =
            Shimmed.start(with -> with.withSpool(made.spool()).withOutside(true), options);
        var client = shimmed.client()) {
      doing.with(shimmed, client, made);
    }
  }

  /** Which time that is goes by the clock of Redis, which may be ahead or behind. */
  @ParameterizedTest
  @CsvSource({"0, 2, true", "0, 60, false", "3600, 3602, true", "3600, 2, true", "-60, 2, false"})
  void whatExpiresSoonDoesSoByTheClockOfRedis(long ahead, long in, boolean soon) {
    long named = Instant.now().plusSeconds(in).toEpochMilli();
    var words =
        Stream.of("SET", "k", "v", "PXAT", "" + named)
            .map(word -> word.getBytes(StandardCharsets.US_ASCII))
            .toList();
    var clock = new Skew(ahead * 1_000 - 250, ahead * 1_000 + 250);
    assertEquals(soon, OutsideWatch.givesShortDeadline(words, clock));
    assertEquals(in < 5, OutsideWatch.givesShortDeadline(words, Skew.UNKNOWN));
  }

  private Answer ask(Recording recording, String question) {
    return ask(recording, "0", question);
  }

  private Answer ask(Recording recording, String database, String question) {
    assertTrue(recording.awaitLoaded(Duration.ofSeconds(20)), "not loaded");
    return new Recorded(directory).ask(database, question);
  }

  private void awaitOutside(Recording recording, String question) {
    awaitOutside(recording, "0", question);
  }

  private void awaitOutside(Recording recording, String database, String question) {
    while (ask(recording, database, question).certainty() != Certainty.OUTSIDE) {
      assertFalse(Thread.currentThread().isInterrupted(), () -> "not noticed: " + question);
    }
  }

  @Test
  void aWriteFromOutsideIsShownForItsKeyOnly() throws IOException {
    recorded(
        (shimmed, client, made) -> {
          client.ask("FLUSHALL");
          client.ask("SET", "b", "1");
          shimmed.redis.ask("SET", "a", "2");
          awaitOutside(made, "GET a");
          assertEquals(Certainty.CERTAIN, ask(made, "GET b").certainty());
          assertEquals(Certainty.OUTSIDE, ask(made, "EXISTS a b").certainty());
          client.ask("SET", "a", "3");
          assertEquals(Certainty.CERTAIN, ask(made, "GET a").certainty(), "replaced since");
          shimmed.redis.ask("SET", "c", "1");
          shimmed.redis.ask("DEL", "c");
          awaitOutside(made, "GET c");
        });
  }

  @Test
  void whatPassesAndWhatExpiresIsNotFromOutside() throws IOException {
    recorded(
        (shimmed, client, made) -> {
          for (var line :
              List.of(
                  "SET a 1",
                  "INCR a",
                  "RPUSH l 1 2",
                  "LMOVE l m LEFT RIGHT",
                  "COPY a b",
                  "MULTI",
                  "SET c 1",
                  "EXEC",
                  "EVAL return(redis.call('SET',KEYS[1],'1')) 1 e",
                  "SELECT 3",
                  "SET z 1",
                  "MOVE z 0",
                  "SELECT 0",
                  "PFADD h x",
                  "PFCOUNT h",
                  "XADD s * f v")) {
            client.ask(line.split(" ", -1));
          }
          client.send(Inline.ascii("set line 1\r\n"));
          client.reply();
          client.ask(
              IntStream.range(0, 301)
                  .mapToObj(i -> i == 0 ? "MSET" : "many" + (i - i % 2))
                  .toArray(String[]::new));
          client.ask("SET", "long", "x".repeat(200_000));
          client.ask("SET", "short", "1", "PX", "1");
          while (!client.ask("GET", "short").equals("$-1\r\n")) {
            Thread.onSpinWait();
          }
          for (var key :
              List.of("a", "l", "m", "b", "c", "z", "h", "s", "line", "many2", "long", "short")) {
            assertTrue(
                ask(made, "EXISTS " + key).certainty() != Certainty.OUTSIDE,
                () -> key + ": " + ask(made, "EXISTS " + key));
          }
          // And something is noticed at all.
          shimmed.redis.ask("SET", "last", "1");
          awaitOutside(made, "GET last");
        });
  }

  /** Nobody knows which key it was, so it may have been any. */
  @Test
  void aKeyThatIsTooLongToBeKeptEndsNothing() throws IOException {
    recorded(
        (shimmed, client, made) -> {
          client.ask("FLUSHALL");
          shimmed.redis.ask("SET", "k".repeat(300_000), "1");
          awaitOutside(made, "GET other");
          client.ask("FLUSHALL");
          assertEquals(Certainty.CERTAIN, ask(made, "GET other").certainty(), "replaced since");
          shimmed.redis.ask("SET", "other", "2");
          awaitOutside(made, "GET other");
          assertEquals(Certainty.CERTAIN, ask(made, "GET another").certainty(), "it has its name");
        });
  }

  @ParameterizedTest
  @CsvSource({"64, 63", "65, 64", "200, 199", "1500, 1499"})
  void aWriteFromOutsideIsNoticedInEachDatabase(String databases, String database)
      throws IOException {
    recorded(
        (shimmed, client, made) -> {
          client.ask("FLUSHALL");
          assertEquals("+OK\r\n", client.ask("SELECT", database));
          client.ask("SET", "b", "1");
          assertEquals(Certainty.CERTAIN, ask(made, database, "GET a").certainty());
          try (var other = Talk.to(shimmed.redis.port)) {
            other.ask("SELECT", database);
            other.ask("SET", "a", "2");
          }
          awaitOutside(made, database, "GET a");
        },
        "--databases",
        databases);
  }

  /** Redis tells of both in the same way. */
  @Test
  void whatIsDeletedFromOutsideIsNotTakenForWhatHasExpiredBefore() throws IOException {
    recorded(
        (shimmed, client, made) -> {
          client.ask("FLUSHALL");
          client.ask("SET", "k", "one");
          // Behind it, and so the shim has been told of the key when it is told of this one.
          shimmed.redis.ask("SET", "told", "1");
          awaitOutside(made, "GET told");
          // Then no request explains the key any more.
          client.ask("SET", namesInPlaceOf(Stream.of("k")).getFirst(), "1");
          client.ask("SET", "brief", "1", "PX", "1");
          while (!client.ask("GET", "brief").equals("$-1\r\n")) {
            Thread.onSpinWait();
          }
          assertEquals(Certainty.CERTAIN, ask(made, "GET k").certainty());
          shimmed.redis.ask("DEL", "k");
          awaitOutside(made, "GET k");
          assertTrue(ask(made, "GET brief").certainty() != Certainty.OUTSIDE);
        });
  }

  @Test
  void whatExpiresLongAfterItsRequestIsNotFromOutside() throws IOException {
    recorded(
        (shimmed, client, made) -> {
          client.ask("FLUSHALL");
          for (int i = 0; i < 20; i++) {
            client.ask("SET", "k" + i, "1", "PX", "" + (1_000 + 50 * i));
          }
          shimmed.redis.ask("SET", "told", "1");
          awaitOutside(made, "GET told");
          for (var name : namesInPlaceOf(IntStream.range(0, 20).mapToObj(i -> "k" + i))) {
            client.ask("SET", name, "1");
          }
          // Not by the shim: all that is asked by it has to be loaded.
          for (int i = 0; i < 20; i++) {
            while (!shimmed.redis.ask("EXISTS", "k" + i).equals(":0\r\n")) {
              Thread.onSpinWait();
            }
          }
          shimmed.redis.ask("SET", "last", "1");
          awaitOutside(made, "GET last");
          for (int i = 0; i < 20; i++) {
            var answer = ask(made, "GET k" + i);
            assertTrue(answer.certainty() != Certainty.OUTSIDE, answer::toString);
          }
        });
  }

  /** Other words: when they pass, the watch forgets that these have. */
  private static List<String> namesInPlaceOf(Stream<String> words) {
    var slots = words.map(OutsideTest::slot).collect(Collectors.toSet());
    return IntStream.iterate(0, i -> i + 1)
        .mapToObj(i -> "other-" + i)
        .filter(other -> slots.remove(slot(other)))
        .limit(slots.size())
        .toList();
  }

  private static int slot(String word) {
    return OutsideWatch.slot(Bytes.of(word));
  }
}
