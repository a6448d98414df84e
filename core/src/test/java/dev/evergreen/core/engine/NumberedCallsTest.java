package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.work.NumberedCalls;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class NumberedCallsTest {

  @Test
  void noOpenNumberIsLowerThanTheOldestWhichKeepsUp() {
    for (int seed = 0; seed < 50; seed++) {
      var random = new Random(seed);
      var numbered = new NumberedCalls<String>(1 + random.nextInt(20));
      var open = new TreeSet<Long>();
      for (int i = 0; i < 2_000; i++) {
        open.add(numbered.add("call"));
        while (random.nextInt(10) > 0 && open.size() > 1) {
          var ended = random.nextInt(20) == 0 ? open.last() : open.first();
          open.remove(ended);
          numbered.remove(ended);
        }
        assertTrue(numbered.oldest() <= open.first(), "an open one is lower");
      }
      long last = 0;
      for (int i = 0; i < 3 * open.size() + 60; i++) {
        last = numbered.add("one more");
        numbered.remove(last);
      }
      assertEquals(open.first(), numbered.oldest());
      open.forEach(numbered::remove);
      for (int i = 0; i < 60; i++) {
        last = numbered.add("alone");
        numbered.remove(last);
      }
      assertTrue(numbered.oldest() > open.last());
    }
  }
}
