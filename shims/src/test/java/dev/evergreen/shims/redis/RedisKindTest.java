package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Redactor;
import dev.evergreen.provenance.Specification.Knowledge;
import dev.evergreen.provenance.StoreKind;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a trace reads of Redis's bytes. */
class RedisKindTest {
  private final StoreKind kind = StoreKind.named("redis").orElseThrow();

  private static List<String> texts(List<Bytes> words) {
    return words.stream().map(Bytes::text).toList();
  }

  @Test
  void dividesCommandsIntoWords() {
    assertEquals(
        List.of("SET", "a", "1 2"),
        texts(kind.words(Bytes.of("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$3\r\n1 2\r\n"))));
    assertEquals(List.of("SET", "a", "1 2"), texts(kind.words(Bytes.of("SET a \"1 2\"\r\n"))));
    var words = Stream.of("SET", "", "b\r\n").map(Bytes::of).toList();
    assertEquals(words, kind.words(kind.recorded(words)));
  }

  @Test
  void dividesTheBeginningOfACommandThatIsTooLong() {
    var whole = "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n";
    for (int length = 0; length <= whole.length(); length++) {
      var words = texts(kind.words(Bytes.of(whole.substring(0, length))));
      assertTrue(length < 13 || words.getFirst().equals("SET"), words.toString());
      assertTrue(length < 22 || words.get(1).equals("key"), words.toString());
    }
  }

  @Test
  void tellsRepliesAsPlainValues() {
    assertEquals("OK", kind.value(Bytes.of("+OK\r\n")));
    assertEquals(3L, kind.value(Bytes.of(":3\r\n")));
    assertNull(kind.value(Bytes.of("$-1\r\n")));
    assertEquals("ERR no such key", kind.value(Bytes.of("-ERR no such key\r\n")));
    assertEquals(List.of("a", 1L), kind.value(Bytes.of("*2\r\n$1\r\na\r\n:1\r\n")));
  }

  @Test
  void putsTransactionsTogether() {
    var earlier =
        List.of(
            operation(3, "+QUEUED\r\n", "INCR", "b"),
            operation(2, "+QUEUED\r\n", "SET", "a", "1"),
            operation(1, "+OK\r\n", "MULTI"),
            operation(0, "+QUEUED\r\n", "SET", "a", "0"));
    var exec = operation(4, "*2\r\n+OK\r\n:1\r\n", "EXEC");
    var parts = kind.parts(exec, earlier.iterator());
    assertEquals(List.of(2L, 3L), parts.stream().map(Operation::row).toList());
    assertEquals(
        List.of(Bytes.of("+OK\r\n"), Bytes.of(":1\r\n")),
        parts.stream().map(Operation::reply).toList());
    for (var untold : List.of("+hidden\r\n", "*2\r\n+OK\r\n$9\r\ncut")) {
      assertEquals(
          List.of(2L, 3L),
          kind.parts(operation(4, untold, "EXEC"), earlier.iterator()).stream()
              .map(Operation::row)
              .toList());
    }
    assertEquals(List.of(), kind.parts(operation(4, "*-1\r\n", "EXEC"), earlier.iterator()));
    assertEquals(List.of(), kind.parts(operation(4, "-EXECABORT\r\n", "EXEC"), earlier.iterator()));
    assertEquals(List.of(), kind.parts(operation(4, "+OK\r\n", "GET", "a"), earlier.iterator()));
  }

  @Test
  void aReplyThatIsNestedTooDeepIsNoneThatCanBeRead() {
    var deep = Bytes.of("*1\r\n".repeat(20_000) + ":1\r\n");
    assertThrows(IllegalArgumentException.class, () -> Resp.read(deep));
    var parts =
        kind.parts(
            operation(2, deep.text(), "EXEC"),
            List.of(operation(1, "+QUEUED\r\n", "EVAL", "s", "0"), operation(0, "+OK\r\n", "MULTI"))
                .iterator());
    assertEquals(1, parts.size());
  }

  /** What is on record of an EXEC, and of what came before it. */
  private Operation exec(@Nullable String reply, Operation... earlier) {
    var exec = operation(9, reply, "EXEC");
    return exec.with(kind.parts(exec, List.of(earlier).iterator()));
  }

  private boolean mayWriteAll(Operation exec) {
    boolean opaque = kind.specification().knowledge(exec) == Knowledge.OPAQUE;
    assertEquals(
        opaque,
        kind.touches(exec).stream()
            .anyMatch(touch -> touch.writes() && touch.cell().equals(Call.DATABASES)));
    return opaque;
  }

  @Test
  void aTransactionOfWhichPartsAreMissingMayHaveWrittenAnything() {
    var multi = operation(1, "+OK\r\n", "MULTI");
    var refused = operation(2, "-ERR nested\r\n", "MULTI");
    var queued = operation(3, "+QUEUED\r\n", "SET", "a", "1");
    assertFalse(mayWriteAll(exec("*1\r\n+OK\r\n", queued, multi)));
    assertFalse(mayWriteAll(exec("*1\r\n+OK\r\n", queued, refused, multi)));
    assertTrue(mayWriteAll(exec("*2\r\n+OK\r\n+OK\r\n", queued, multi)), "one is missing");
    assertTrue(mayWriteAll(exec("*2\r\n+OK\r\n+OK\r\n", queued)), "so is the beginning");
    assertTrue(mayWriteAll(exec(null, queued)), "there may have been more");
    assertFalse(mayWriteAll(exec(null, queued, multi)));
    var moved = operation(2, "+QUEUED\r\n", "SELECT", "99");
    assertTrue(mayWriteAll(exec(null, queued, moved, multi)), "it may have been refused");
    assertFalse(mayWriteAll(exec("*2\r\n-ERR range\r\n+OK\r\n", queued, moved, multi)));
    assertFalse(mayWriteAll(exec(null, multi)), "what has no reply counts by itself");
    assertFalse(mayWriteAll(exec("*0\r\n", multi)));
    assertFalse(mayWriteAll(exec("*-1\r\n", queued, multi)));
    assertFalse(mayWriteAll(exec("-ERR EXEC without MULTI\r\n")));
  }

  private static Operation operation(long row, @Nullable String reply, String... words) {
    return new Operation(
        row,
        1,
        1,
        1,
        "0",
        Instant.EPOCH,
        Instant.EPOCH,
        Stream.of(words).map(Bytes::of).toList(),
        reply == null ? null : Bytes.of(reply));
  }

  /** Else it would tell of another key than the operations, and in clear. */
  @Test
  void hidesOfASignWhatIsHiddenOfTheKey(@TempDir Path directory) throws IOException {
    var redactor = Redactor.open(directory, List.of(Pattern.compile("^k?user:[a-z]+$")));
    var hidden = redactor.mark(Bytes.of("user:ann"));
    var sign = kind.redactEvidence(Bytes.of("kuser:ann"), redactor);
    assertEquals(Bytes.of("k" + hidden), sign);
    assertEquals(Bytes.EMPTY, kind.redactEvidence(Bytes.EMPTY, redactor));
    assertEquals(hidden, kind.outside(sign).getFirst().path().getLast());
  }

  @Test
  void keepsTheFormOfRepliesFromWhichSomethingIsHidden(@TempDir Path directory) throws IOException {
    var redactor = Redactor.open(directory, List.of(Pattern.compile("secret")));
    var reply = Bytes.of("*3\r\n$7\r\nsecret1\r\n:1\r\n+secret\r\n");
    var hidden = redactor.mark(Bytes.of("secret")).text();
    assertEquals(List.of(hidden + "1", 1L, hidden), kind.value(kind.redactReply(reply, redactor)));
    var harmless = Bytes.of("*2\r\n$-1\r\n$2\r\nab\r\n");
    assertEquals(harmless, kind.redactReply(harmless, redactor));
  }
}
