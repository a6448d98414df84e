package dev.evergreen.core.work;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** A {@link Chain} behaves as a set that keeps its order. */
final class ChainTest {

  private static final int STEPS = 20_000;
  private static final int LINKS = 12;

  private static final class Link extends Chain.Link<Link> {}

  @Test
  void behavesAsALinkedHashSet() {
    var random = new SplittableRandom(7);
    var links = new ArrayList<Link>();
    for (int i = 0; i < LINKS; i++) {
      links.add(new Link());
    }
    var chain = new Chain<Link>();
    var expected = new LinkedHashSet<Link>();
    for (int step = 0; step < STEPS; step++) {
      var link = links.get(random.nextInt(LINKS));
      switch (random.nextInt(40)) {
        case 0 -> {
          assertEquals(List.copyOf(expected), chain.drain());
          expected.clear();
        }
        case 1 -> assertEquals(expected.isEmpty() ? null : expected.removeFirst(), chain.poll());
        default -> {
          if (random.nextBoolean()) {
            assertEquals(expected.add(link), chain.add(link));
          } else {
            assertEquals(expected.remove(link), chain.remove(link));
          }
        }
      }
      assertEquals(List.copyOf(expected), chain.toList());
      assertEquals(expected.isEmpty(), chain.isEmpty());
    }
  }

  @Test
  void anElementMayBeRemovedWhileItIsVisited() {
    var chain = new Chain<Link>();
    for (int i = 0; i < LINKS; i++) {
      chain.add(new Link());
    }
    var visited = new ArrayList<Link>();
    chain.forEach(
        link -> {
          visited.add(link);
          chain.remove(link);
        });
    assertEquals(LINKS, visited.size());
    assertNull(chain.poll());
  }
}
