package dev.evergreen.core.spi;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class GoneNodesTest {

  private final GoneNodes gone = new GoneNodes();

  private static NodeId node(int incarnation) {
    return new NodeId("n", incarnation);
  }

  @Test
  void theLatestAreRemembered() {
    for (int i = 0; i <= GoneNodes.MOST; i++) {
      gone.add(node(i));
    }
    assertFalse(gone.contains(node(0)));
    assertTrue(gone.contains(node(1)));
    assertTrue(gone.contains(node(GoneNodes.MOST)));
  }

  @Test
  void whoIsNamedTwiceIsRememberedOnce() {
    for (int i = 0; i < GoneNodes.MOST; i++) {
      gone.add(node(i));
      gone.add(node(i));
    }
    assertTrue(gone.contains(node(0)));
    assertFalse(gone.contains(node(GoneNodes.MOST)));
  }
}
