package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.HashSet;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class RowsTest {
  @Test
  void eachRowIsNewOnce() {
    var random = new Random(1);
    var rows = new Rows();
    var expected = new HashSet<Long>();
    for (int i = 0; i < 100_000; i++) {
      long row = random.nextBoolean() ? random.nextLong(20_000) : random.nextLong(1L << 62);
      assertEquals(expected.add(row), rows.add(row), () -> "row " + row);
    }
  }
}
