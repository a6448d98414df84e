package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class CellTest {
  private static Cell random(Random random) {
    var cell = Cell.ALL;
    for (int depth = random.nextInt(4); depth > 0; depth--) {
      var name = new byte[random.nextInt(3)];
      for (int i = 0; i < name.length; i++) {
        name[i] = (byte) List.of(0, 1, 2, 255, 254).get(random.nextInt(5)).intValue();
      }
      cell = cell.child(Bytes.of(name));
    }
    return cell;
  }

  @Test
  void bytesAreInTheOrderOfCellsAndBelowACellIsOneRange() {
    for (long seed = 0; seed < 20_000; seed++) {
      var one = random(new Random(seed));
      var other = random(new Random(~seed));
      var name = "seed " + seed;
      assertEquals(one, Cell.decode(one.encoded()), name);
      int order = Arrays.compareUnsigned(one.encoded(), other.encoded());
      assertEquals(Integer.signum(one.compareTo(other)), Integer.signum(order), name);
      boolean inRange = order <= 0 && Arrays.compareUnsigned(other.encoded(), one.end()) < 0;
      assertEquals(one.contains(other), inRange, name);
      assertEquals(one.equals(other) || other.ancestors().contains(one), one.contains(other), name);
    }
  }

  @Test
  void bytesOfNoCellAreRefused() {
    for (var bytes :
        List.of(
            new byte[] {},
            new byte[] {2},
            new byte[] {1, 65},
            new byte[] {1, 0},
            new byte[] {1, 0, 2},
            new byte[] {1, 65, 0, -1})) {
      assertThrows(IllegalArgumentException.class, () -> Cell.decode(bytes));
    }
  }
}
