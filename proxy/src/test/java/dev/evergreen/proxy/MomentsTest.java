package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What is remembered of many names in a fixed space. */
class MomentsTest {
  private static final long NOW = 1_795_435_200_000L;

  private final Moments moments = new Moments();

  @Test
  void eachNameHasItsOwn() {
    moments.put("a", NOW + 160);
    moments.put("b", NOW - 160);
    assertEquals(OptionalLong.of(160), moments.after("a", NOW));
    assertEquals(OptionalLong.of(-160), moments.after("b", NOW));
    assertEquals(OptionalLong.empty(), moments.after("c", NOW));
    moments.put("a", NOW);
    assertEquals(OptionalLong.of(0), moments.after("a", NOW));
  }

  @Test
  void itIsRightForMonths() {
    long months = 10L * 30 * 24 * 3600 * 1000;
    moments.put("a", NOW);
    assertEquals(OptionalLong.of(-months), moments.after("a", NOW + months));
    moments.put("a", NOW + months);
    assertEquals(OptionalLong.of(months), moments.after("a", NOW));
  }

  @Test
  void noNameIsTakenForAnother() {
    IntStream.range(0, 1_000_000).forEach(i -> moments.put("a" + i, NOW));
    long known = IntStream.range(0, 1_000_000).filter(i -> isKnown("a" + i)).count();
    assertEquals(0, IntStream.range(0, 1_000_000).filter(i -> isKnown("b" + i)).count());
    assertTrue(known > 65_000 && known <= 1 << 16, known + ": each place has the last put there");
  }

  private boolean isKnown(String name) {
    return moments.after(name, NOW).isPresent();
  }
}
