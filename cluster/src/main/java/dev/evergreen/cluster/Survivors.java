package dev.evergreen.cluster;

import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.work.Workers;
import java.util.Collection;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Has the {@link Tenure} know what becomes of the members, and says what that means for this node:
 * whom it loses, and whether it is in the part that goes on. Called by whoever follows the members,
 * one thread at a time.
 */
final class Survivors {

  /** What this node makes of it. */
  interface Node {

    /** Whether this node is fenced or its cluster has ended: then all others seem gone. */
    boolean isOver();

    /** Whether this node leaves the cluster, to which all others seem gone as well. */
    boolean isLeaving();

    /** Whether a node is linked to this one, or is to be; so it was not {@linkplain #lose lost}. */
    boolean isLinked(NodeId other);

    /** Whether it is known that a node's process has ended. */
    boolean isDead(NodeId other);

    /** What these nodes had is nobody's any more, and nothing comes from them. */
    void lose(Set<NodeId> others);

    /** What these nodes had is with others. */
    void forget(Set<NodeId> others);

    /** A majority has agreed that these are gone. */
    void agreed(Set<NodeId> gone);

    /** This node itself was given up, or is in the smaller part. */
    void fence();
  }

  private final Tenure tenure;
  private final Workers workers;
  private final Node node;
  private boolean asksToBeAdmitted;

  Survivors(Tenure tenure, Workers workers, Node node) {
    this.tenure = tenure;
    this.workers = workers;
    this.node = node;
  }

  /** What is known of the members has changed. */
  void changed(Collection<Member> members) {
    tenure.voters(
        members.stream().filter(Member::votes).sorted(Member.BY_ADDRESS).map(Member::id).toList());
    if (!tenure.isAdmitted() && !asksToBeAdmitted) {
      asksToBeAdmitted = true;
      workers.begin(tenure::awaitAdmission);
    }
    if (!tenure.mayBeAdmitted() && !node.isOver()) {
      downed(); // nobody is left who knows whether those who let it in were a majority
    }
  }

  /** A member has handed its grains over: no call shall meet its end. */
  void exits(NodeId other) {
    node.forget(Set.of(other));
    tenure.leaves(other);
  }

  /** As {@link Members.Listener#judged}. */
  void judged(NodeId other) {
    if (node.isOver()) {
      return;
    }
    if (tenure.isLargerPart()) {
      tenure.givenUp(other, node.isDead(other));
    } else {
      downed();
    }
  }

  /** As {@link Members.Listener#givenUp}. */
  void givenUp(Set<NodeId> others) {
    if (node.isOver()) {
      return;
    }
    node.lose(others);
    workers.begin(() -> agreeOn(others));
  }

  private void agreeOn(Set<NodeId> gone) {
    if (tenure.agree()) {
      node.agreed(gone);
    } else if (!tenure.isOver()) {
      downed();
    }
  }

  /** As {@link Members.Listener#gone}. */
  void gone(Set<NodeId> others) {
    if (node.isLeaving() || node.isOver()) {
      // It must not tell them that they are gone.
      node.forget(others);
      return;
    }
    var left = others.stream().filter(node::isLinked).collect(Collectors.toSet());
    for (var other : others) {
      if (left.contains(other)) {
        tenure.left(other);
      } else {
        tenure.gone(other); // it was given up before
      }
    }
    if (!left.isEmpty()) {
      node.lose(left);
    }
  }

  /** As {@link Members.Listener#downed}. */
  void downed() {
    tenure.end(); // also when it leaves
    node.fence();
  }
}
