package dev.evergreen.core.spi;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Nodes that have left for good. Safe for any number of threads.
 *
 * <p>The latest of them are remembered, since they would else grow without end: a process that
 * starts again is another node. Of one that so many have followed no message is under way any more,
 * and should its process still live, nobody connects with it, as it is no member.
 */
public final class GoneNodes {

  /** How many are remembered. */
  public static final int MOST = 10_000;

  private final Set<NodeId> nodes = ConcurrentHashMap.newKeySet();
  private final Queue<NodeId> oldestFirst = new ArrayDeque<>(); // guarded by this

  /** A node has left, and forgotten is who left before {@value #MOST} others. */
  public synchronized void add(NodeId node) {
    if (nodes.add(node)) {
      oldestFirst.add(node);
      if (oldestFirst.size() > MOST) {
        nodes.remove(oldestFirst.remove());
      }
    }
  }

  /** Whether a node has left, as far as that is remembered. */
  public boolean contains(NodeId node) {
    return nodes.contains(node);
  }
}
