package dev.evergreen.dashboard;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Grain;
import dev.evergreen.core.Node;
import dev.evergreen.core.ReadOnly;

/** A node for tests, with a grain to call. */
final class Counting {

  private Counting() {}

  /** What is called. */
  public interface Counter extends Grain {
    @ReadOnly
    int count();
  }

  static Node node() {
    return EmbeddedNode.builder().grain(Counter.class, context -> () -> 1).start();
  }
}
