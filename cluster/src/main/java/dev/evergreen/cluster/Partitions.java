package dev.evergreen.cluster;

import dev.evergreen.core.spi.GoneNodes;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.Placement;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Which node hosts which grain, by partitions of all grains: those that this node owns, and hints
 * about the others. Ownership is given and taken by the cluster's authority; a hint that is missing
 * or proved wrong is asked for. Methods do not block, but for {@link #confirmed} and {@link
 * #takeOver}.
 */
final class Partitions implements Placement {

  private final NodeId self;
  private final Mandate mandate;
  private final AtomicReferenceArray<NodeId> owners;

  /** Of those an answer may still be on its way, but none may come back. */
  private final GoneNodes gone = new GoneNodes();

  private volatile IntConsumer authority = partition -> {};
  private volatile IntConsumer whenFound = partition -> {};

  /**
   * @param count how many partitions there are; the same on all nodes
   */
  Partitions(NodeId self, int count, Mandate mandate) {
    this.self = self;
    this.mandate = mandate;
    this.owners = new AtomicReferenceArray<>(count);
  }

  /** Whom to ask who owns a partition; answers come to {@link #hint}. May be asked repeatedly. */
  void askAt(IntConsumer authority) {
    this.authority = authority;
  }

  /** Whom to tell that the owner of a partition has become known. */
  void whenFound(IntConsumer action) {
    this.whenFound = action;
  }

  int count() {
    return owners.length();
  }

  int of(GrainId grain) {
    return Math.floorMod(grain.stableHash(), owners.length());
  }

  /** How many partitions this node owns. */
  int owned() {
    int owned = 0;
    for (int i = 0; i < owners.length(); i++) {
      owned += isMine(i) ? 1 : 0;
    }
    return owned;
  }

  boolean isMine(int partition) {
    return self.equals(owners.get(partition));
  }

  boolean isKnown(int partition) {
    return owners.get(partition) != null;
  }

  /** Whether an owner of each partition is known. */
  boolean allKnown() {
    for (int i = 0; i < owners.length(); i++) {
      if (owners.get(i) == null) {
        return false;
      }
    }
    return true;
  }

  /** As {@link Mandate#takeOver}; blocks. To be asked before a partition is gained. */
  boolean takeOver() {
    return mandate.takeOver();
  }

  /** This node owns a partition from now on. */
  void gain(int partition) {
    owners.set(partition, self);
    whenFound.accept(partition);
  }

  /**
   * This node owns a partition no more, and asks for the next owner; false if it did not own it.
   */
  boolean lose(int partition) {
    return clear(partition, self);
  }

  /** Nobody is known to own a partition any more, if it was this node. Then it is asked for. */
  private boolean clear(int partition, NodeId owner) {
    var known = owners.get(partition);
    boolean cleared = owner.equals(known) && owners.compareAndSet(partition, known, null);
    if (cleared) {
      authority.accept(partition);
    }
    return cleared;
  }

  /** Another node says that it owns a partition. From one that is gone it is not taken. */
  void hint(int partition, NodeId owner) {
    var before =
        owners.getAndUpdate(
            partition, known -> self.equals(known) || self.equals(owner) ? known : owner);
    if (self.equals(before) || self.equals(owner)) {
      return;
    }
    // Looked at after the hint is there: so one of this and forget clears it. Whoever got it asks
    // again, after a pause, since who is gone may still answer.
    if (gone.contains(owner)) {
      owners.compareAndSet(partition, owner, null);
    } else {
      whenFound.accept(partition);
    }
  }

  /** A node is gone: its partitions are asked for. */
  void forget(NodeId node) {
    gone.add(node);
    for (int i = 0; i < owners.length(); i++) {
      clear(i, node);
    }
  }

  @Override
  public int parts() {
    return owners.length();
  }

  @Override
  public int part(GrainId grain) {
    return of(grain);
  }

  @Override
  public @Nullable NodeId locate(GrainId grain) {
    int partition = of(grain);
    var owner = owners.get(partition);
    if (owner == null) {
      authority.accept(partition);
    }
    return owner;
  }

  /** Whether a grain is on a node, for all that is known. */
  boolean isAt(GrainId grain, NodeId node) {
    return node.equals(owners.get(of(grain)));
  }

  @Override
  public boolean isHere(GrainId grain) {
    return isMine(of(grain));
  }

  @Override
  public boolean confirmed() {
    return mandate.confirmed();
  }

  @Override
  public void notThere(GrainId grain, NodeId node) {
    int partition = of(grain);
    if (!node.equals(self)) {
      clear(partition, node);
    }
  }
}
