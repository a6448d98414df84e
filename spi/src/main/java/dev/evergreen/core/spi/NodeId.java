package dev.evergreen.core.spi;

import java.util.Comparator;

/**
 * One life of one node: a restarted process at the same address has another incarnation.
 *
 * @param address where the node is reached, as the engine understands it
 * @param incarnation differs between lives; compared for equality and order only
 */
public record NodeId(String address, long incarnation) implements Comparable<NodeId> {

  private static final Comparator<NodeId> ORDER =
      Comparator.comparing(NodeId::address).thenComparingLong(NodeId::incarnation);

  @Override
  public int compareTo(NodeId other) {
    return ORDER.compare(this, other);
  }

  @Override
  public String toString() {
    return address + "#" + incarnation;
  }
}
