package dev.evergreen.core.spi;

import java.util.Set;

/**
 * Shuts nodes out where the states are. It belongs to a {@link Storage}, and knows which nodes of
 * one cluster are alive: those that have joined and were not given up.
 *
 * <p>A node cannot know by itself that others have taken over what it hosted. It may have been
 * stopped, with all its clocks, between its last look and its save. So the save itself looks:
 *
 * <ol>
 *   <li>A save by {@link #storageOf} a node takes effect only while that node is alive.
 *   <li>When {@link #giveUp} has returned, no save of that node is under way, and none will take
 *       effect any more. What it saved before is seen by every load that begins then.
 *   <li>{@link #isAlive} says whether the node was alive at some moment between the question and
 *       the answer.
 * </ol>
 *
 * <p>Therefore whoever gives a node up before it loads what that node hosted sees all that the node
 * has acknowledged, and all that it will ever acknowledge. No clock is part of that. Thread-safe;
 * methods block the calling thread, and throw a {@link StorageException} if the storage could not
 * answer; whether a node has joined or was given up is then unknown, and it may be tried again.
 */
public interface Fence {

  /**
   * The storage as a node uses it: a save fails with a {@link NodeGivenUpException} unless the node
   * is alive. Closing it does nothing. Does not block.
   */
  Storage storageOf(NodeId node);

  /**
   * A node is alive from now on, if it was not already. A node joins when its life begins, and
   * finds out afterwards whether the others still count on it; its next life has another
   * incarnation. If this fails the node may join later all the same, but not when it has joined by
   * another try, and was given up.
   */
  void join(NodeId node);

  /** The nodes that are alive. */
  Set<NodeId> alive();

  /** Whether a node is alive. One question to the storage may answer many that wait for it. */
  boolean isAlive(NodeId node);

  /** Gives a node up in its own name: it leaves, or nobody else is concerned. */
  default void giveUp(NodeId node) {
    giveUp(node, node);
  }

  /**
   * Gives a node up, for good. Saves that are under way are waited for, and no others may begin
   * meanwhile. Nothing happens if it is not alive, or if the one who wants it is not: so of two
   * that give each other up at the same time one stays.
   *
   * @param by who wants it
   * @return whether that one was alive
   */
  boolean giveUp(NodeId node, NodeId by);
}
