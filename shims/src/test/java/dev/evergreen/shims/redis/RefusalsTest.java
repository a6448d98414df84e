package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.provenance.Answer;
import dev.evergreen.provenance.Answer.Certainty;
import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.MemoryTrace;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Why;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What Redis refused for what the server is like. That of words is in {@link DefinitionTest}. */
final class RefusalsTest {
  private static final RedisSpecification SPECIFICATION = new RedisSpecification();

  @ParameterizedTest
  @ValueSource(
      strings = {
        "-OOM command not allowed when used memory > 'maxmemory'.",
        "-NOPERM this user has no permissions to run the 'set' command",
        "-READONLY You can't write against a read only replica.",
        "-UNBLOCKED client unblocked via CLIENT UNBLOCK",
        "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
      })
  void whatTheServerRefusedHasDoneNothingAndNobodyKnowsWhy(String refusal) {
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, "SET a 1", "+OK"));
    var refused = operation(2, "SET a 2", refusal);
    trace.add(refused);
    var answer = ask(trace, operation(3, "GET a", "$1\r\n1"));
    assertEquals(Certainty.CERTAIN, answer.certainty(), answer.note());
    assertEquals(List.of(1L), answer.witnesses().getFirst().rows());
    assertEquals(Certainty.NO_SPECIFICATION, ask(trace, refused).certainty());
  }

  @Test
  void whoListensToChannelsHasPingAnsweredInAnotherForm() {
    var trace = new MemoryTrace(SPECIFICATION);
    var ping = operation(1, "PING", "*2\r\n$4\r\npong\r\n$0\r\n");
    assertEquals(Certainty.CERTAIN, ask(trace, ping).certainty());
  }

  /** What it did is for its EXEC to tell. */
  @Test
  void nothingIsClaimedOfAReplyThatOnlySaysThatACommandWaits() {
    var trace = new MemoryTrace(SPECIFICATION);
    trace.add(operation(1, "MULTI", "+OK"));
    var queued = operation(2, "SET a 1", "+QUEUED");
    trace.add(queued);
    assertEquals(Certainty.NO_SPECIFICATION, ask(trace, queued).certainty());
  }

  private static Answer ask(MemoryTrace trace, Operation question) {
    return new Why(SPECIFICATION, trace).ask(question, Why.Wish.ONE);
  }

  private static Operation operation(long row, String command, String reply) {
    var time = Instant.EPOCH.plusSeconds(row);
    var bytes = Bytes.of(reply + "\r\n");
    return new Operation(row, 1, 1, 1, "0", time, time, Oracle.words(command), bytes);
  }
}
