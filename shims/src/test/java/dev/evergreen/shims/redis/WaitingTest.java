package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import dev.evergreen.provenance.Answer;
import dev.evergreen.provenance.Answer.Certainty;
import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.MemoryTrace;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Why;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Why who waits for several keys was served from one of them. */
class WaitingTest {
  private static final RedisSpecification SPECIFICATION = new RedisSpecification();
  private static final String B = "*2\r\n$1\r\nb\r\n$1\r\n1\r\n";

  private final MemoryTrace trace = new MemoryTrace(SPECIFICATION);

  private static Operation operation(
      long row, long lane, long sent, long replied, String command, String reply) {
    return new Operation(
        row,
        1,
        lane,
        lane,
        "0",
        Instant.ofEpochSecond(sent),
        Instant.ofEpochSecond(replied),
        Oracle.words(command),
        Bytes.of(reply));
  }

  /** What another client does, which is over before it does the next. */
  private void others(long row, String command, String reply) {
    trace.add(operation(row, 2, 10 * row, 10 * row + 5, command, reply));
  }

  /** A transaction of another client, whose commands reply with these numbers. */
  private void transaction(long row, long sent, long replied, List<String> commands, long... all) {
    var array = new StringBuilder("*" + all.length + "\r\n");
    Arrays.stream(all).forEach(number -> array.append(":" + number + "\r\n"));
    var exec = operation(row, 2, sent, replied, "EXEC", array.toString());
    trace.add(
        exec.with(
            IntStream.range(0, all.length)
                .mapToObj(
                    i -> {
                      var queued = operation(-1 - i, 2, sent, sent, commands.get(i), "+QUEUED\r\n");
                      return queued.within(exec, queued.request(), Bytes.of(":" + all[i] + "\r\n"));
                    })
                .toList()));
  }

  private Answer ask(long row, long sent, long replied) {
    var question = operation(row, 1, sent, replied, "BLPOP a b 0", B);
    return new Why(SPECIFICATION, trace).ask(question, Why.Wish.ONE);
  }

  private static void assertCertain(Answer answer, Long... rows) {
    assertEquals(Certainty.CERTAIN, answer.certainty(), answer::toString);
    assertEquals(List.of(rows), answer.witnesses().getFirst().rows());
  }

  /** Had the first key not been emptied, that would have served at once. */
  @Test
  void whoWaitsIsServedByATransactionFromTheKeyThatItFillsFirst() {
    others(1, "RPUSH a 0", ":1\r\n");
    others(2, "LPOP a", "$1\r\n0\r\n");
    transaction(4, 60, 90, List.of("RPUSH b 1", "RPUSH a 1"), 1, 1);
    assertCertain(ask(3, 40, 100), 2L, 4L);
  }

  @Test
  void aKeyThatATransactionHasFoundThereServesNobodyWhoWaits() {
    others(1, "RPUSH a 0", ":1\r\n");
    others(2, "LPOP a", "$1\r\n0\r\n");
    transaction(4, 60, 90, List.of("DEL a", "RPUSH b 1", "RPUSH a 1"), 0, 1, 1);
    assertCertain(ask(3, 40, 100), 2L, 4L);
  }

  @Test
  void whoHasNotWaitedDependsOnWhoEmptiedTheFirstKey() {
    transaction(1, 10, 15, List.of("RPUSH b 1", "RPUSH a 1"), 1, 1);
    others(2, "LPOP a", "$1\r\n1\r\n");
    assertCertain(ask(3, 40, 50), 1L, 2L);
  }

  @Test
  void whoWaitsIsServedByTheFirstOfTwoWrites() {
    trace.add(operation(2, 2, 60, 90, "RPUSH b 1", ":1\r\n"));
    trace.add(operation(3, 2, 60, 91, "RPUSH a 1", ":1\r\n"));
    assertCertain(ask(1, 40, 100), 2L);
  }

  @Test
  void itIsNotKnownWhetherSomebodyHasWaitedForWhatWasSentBefore() {
    transaction(1, 10, 90, List.of("RPUSH b 1", "RPUSH a 1"), 1, 1);
    var answer = ask(2, 20, 100);
    assertEquals(Certainty.ONE_OF, answer.certainty(), answer::toString);
    assertEquals(List.of(1L), answer.witnesses().getFirst().rows());
  }

  @Test
  void whoFindsBothGetsOfTheFirst() {
    others(1, "RPUSH a 0", ":1\r\n");
    others(2, "RPUSH b 1", ":1\r\n");
    assertEquals(Certainty.OUTSIDE, ask(3, 40, 50).certainty());
  }

  /** The order is that of a table of Redis's own. */
  @Test
  void whatAChangeOfDatabasesServesFirstIsNotKnown() {
    trace.add(operation(1, 2, 10, 15, "RPUSH a 1", ":1\r\n").in("1"));
    trace.add(operation(2, 2, 20, 25, "RPUSH b 1", ":1\r\n").in("1"));
    trace.add(operation(4, 2, 60, 90, "SWAPDB 0 1", "+OK\r\n"));
    assertNotEquals(Certainty.OUTSIDE, ask(3, 40, 100).certainty());
  }
}
