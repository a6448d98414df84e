package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.provenance.Neighbours.Placed;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

final class NeighboursTest {
  private static final Cell HOT = Cell.of("hot");

  @Test
  void aLongHistoryIsReadOnceHoweverOftenItIsAskedFor() throws Exception {
    long last = 200_000;
    var questions = new AtomicLong();
    var read = new AtomicLong();
    var neighbours =
        new Neighbours(
            (_, before) -> {
              questions.incrementAndGet();
              return LongStream.iterate(Math.min(before, last) - 1, row -> row > 0, row -> row - 1)
                  .peek(_ -> read.incrementAndGet())
                  .mapToObj(row -> placed(row, row + 3))
                  .iterator();
            });
    for (long row = last; row > 0; row--) {
      long asked = row;
      var found = StoredTrace.stream(neighbours.of(HOT, row, row + 3)).map(Placed::row).toList();
      assertEquals(
          LongStream.iterate(
                  Math.min(asked + 2, last - 1), r -> r > 0 && r >= asked - 2, r -> r - 1)
              .boxed()
              .toList(),
          found);
    }
    assertEquals(last - 1, read.get());
    assertEquals(1, questions.get());
  }

  @Test
  void whatIsFarBelowIsFoundWithoutAllThatIsBetween() throws Exception {
    var read = new AtomicLong();
    var neighbours =
        new Neighbours(
            (_, before) ->
                LongStream.iterate(before - 1, row -> row > 0, row -> row - 1)
                    .peek(_ -> read.incrementAndGet())
                    .mapToObj(row -> placed(row, row + 3))
                    .iterator());
    neighbours.of(HOT, 1_000_000, 1_000_003).forEachRemaining(_ -> {});
    assertTrue(
        StoredTrace.stream(neighbours.of(HOT, 10, 13))
            .map(Placed::row)
            .toList()
            .containsAll(List.of(8L, 9L)));
    assertTrue(read.get() < 10_000, () -> read + " are read");
  }

  private static Placed placed(long row, long end) {
    return new Placed(
        new Operation(row, 1, 1, 1, "", Instant.EPOCH, Instant.EPOCH, List.of(), Bytes.EMPTY), end);
  }
}
