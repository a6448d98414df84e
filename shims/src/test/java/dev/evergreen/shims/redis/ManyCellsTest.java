package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.StoreKind;
import dev.evergreen.provenance.Touch;
import dev.evergreen.provenance.Touch.Effect;
import java.time.Instant;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A request of some kilobytes must not take the memory of who counts what it touches. */
@Timeout(60)
class ManyCellsTest {
  /** Of a key there are so many at most: where its values and its deadline are, and these again. */
  private static final int CELLS_OF_A_KEY = 30;

  private final StoreKind kind = StoreKind.named("redis").orElseThrow();

  private static Operation operation(@Nullable String reply, Stream<String> words) {
    return new Operation(
        1,
        1,
        1,
        1,
        "0",
        Instant.EPOCH,
        Instant.EPOCH,
        words.map(Bytes::of).toList(),
        reply == null ? null : Bytes.of(reply));
  }

  private static Stream<String> keys(int count) {
    return IntStream.range(0, count).mapToObj(i -> "k" + i);
  }

  private static Stream<String> pairs(int count) {
    return keys(count).flatMap(key -> Stream.of(key, "v"));
  }

  private static Stream<String> words(String before, Stream<String> keys, String after) {
    return Stream.of(Stream.of(before.split(" ", -1)), keys, Stream.of(after.split(" ", -1)))
        .flatMap(all -> all)
        .filter(word -> !word.isEmpty());
  }

  /** How many cells are held; those of a list that touches share are held once. */
  private static long cells(List<Touch> touches) {
    var lists = Collections.newSetFromMap(new IdentityHashMap<List<Cell>, Boolean>());
    touches.forEach(touch -> lists.addAll(List.of(touch.from(), touch.unless())));
    return touches.size() + lists.stream().mapToLong(List::size).sum();
  }

  /** How many cells somebody meets who goes through the lists of all touches. */
  private static long steps(List<Touch> touches) {
    return touches.stream().mapToLong(touch -> 1 + touch.from().size()).sum();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          LMPOP 400     | LEFT   | *-1
          BLMPOP 0 400  | LEFT   | *-1
          ZMPOP 400     | MIN    | *-1
          BZMPOP 0 400  | MIN    | *-1
          BLPOP         | 0      | *-1
          BRPOP         | 0      | *-1
          BZPOPMIN      | 0      | *-1
          EVAL s 400    | a      | :1
          MGET          | ''     | *0
          DEL           | ''     | :1
          """)
  void whatACommandOnManyKeysTouchesGrowsWithTheirNumberOnly(
      String before, String after, String reply) {
    var touches = kind.touches(operation(reply + "\r\n", words(before, keys(400), after)));
    assertTrue(touches.size() >= 400, () -> touches.size() + " touches");
    assertTrue(cells(touches) < 400 * CELLS_OF_A_KEY, () -> cells(touches) + " cells");
    assertTrue(steps(touches) < 400 * CELLS_OF_A_KEY, () -> steps(touches) + " steps");
  }

  @Test
  void soItIsIfAllKeysAreWrittenOrNone() {
    var touches = kind.touches(operation(":1\r\n", words("MSETNX", pairs(1_000), "")));
    assertEquals(1_000, touches.size());
    assertTrue(cells(touches) < 2_000, () -> cells(touches) + " cells");
    assertTrue(steps(touches) < 10_000, () -> steps(touches) + " steps");
    assertTrue(
        touches.stream().allMatch(touch -> covers(touch.from(), key(999))), "each depends on all");
  }

  private static Cell key(int number) {
    return Cell.of("d", "0", "k" + number);
  }

  private static boolean covers(List<Cell> cells, Cell cell) {
    return cells.stream().anyMatch(one -> one.contains(cell));
  }

  @Test
  void whatTouchesTooManyCellsMayHaveDoneAnything() {
    var anything = List.of(Touch.changes(Cell.ALL).effect(Effect.UNKNOWN));
    assertEquals(anything, kind.touches(operation("+OK\r\n", words("MSET", pairs(210_000), ""))));
    assertEquals(
        List.of(Touch.reads(Cell.ALL)),
        kind.touches(operation("*0\r\n", words("MGET", keys(210_000), ""))),
        "but a command that reads has written nothing");
    assertEquals(
        List.of(Touch.changes(Cell.ALL).effect(Effect.NO)),
        kind.touches(
            operation("-WRONGTYPE of another kind\r\n", words("MSET", pairs(210_000), ""))),
        "nor has one that was refused");
  }

  @Test
  void soItIsOfATransactionWhosePartsDoSoTogether() {
    var part = operation("+OK\r\n", words("MSET", pairs(30_000), ""));
    var few = operation("*2\r\n", Stream.of("EXEC")).with(Collections.nCopies(2, part));
    assertEquals(60_000, kind.touches(few).size());
    var many = operation("*8\r\n", Stream.of("EXEC")).with(Collections.nCopies(8, part));
    assertEquals(List.of(Touch.changes(Cell.ALL).effect(Effect.UNKNOWN)), kind.touches(many));
  }

  /** Of what it has read before only the keys are kept, and at last only that there were many. */
  @Test
  void whatAScriptWritesDependsOnAllThatItHasReadHoweverMuchThatIs() {
    var commands =
        IntStream.range(0, 6_000)
            .mapToObj(i -> Stream.of("0", i % 2 == 0 ? "GET" : "INCR", "k" + i))
            .map(words -> Resp.write(words.map(Bytes::of).toList()))
            .toList();
    var reply = Effects.with(Bytes.of(Effects.list(commands)), Bytes.of(":1\r\n")).latin1();
    var touches = kind.touches(operation(reply, Stream.of("EVAL", "s", "0")));
    var writes =
        touches.stream()
            .filter(touch -> key(5_999).contains(touch.cell()) && touch.writes())
            .toList();
    assertEquals(1, writes.size());
    assertTrue(covers(writes.getFirst().from(), key(0)));
    assertTrue(steps(touches) < 6_000 * CELLS_OF_A_KEY, () -> steps(touches) + " steps");
  }
}
