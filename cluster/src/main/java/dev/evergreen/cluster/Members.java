package dev.evergreen.cluster;

import dev.evergreen.core.spi.NodeId;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * Knows who belongs to the cluster, by Pekko's events, and tells what that means for links and
 * results.
 *
 * <p>Pekko tells of each death by itself. All of which it knows at a moment are told on as one, so
 * that what a node has is gone over once: after the first the {@link #toldAll} is asked for, which
 * comes when Pekko has told what it has decided until then. For one thread at a time.
 */
final class Members {

  /** What the others' coming and going means. Called in the order of the events. */
  interface Listener {
    /** What is known of the members has changed; called before what it means. */
    void changed();

    /** A node belongs to the cluster. Repeated whenever its part in it changes. */
    void belongs(Member member);

    /** A node is not heard of and may come back. */
    void unreachable(Member member);

    /**
     * Who misses whom has changed.
     *
     * @param missedBy for each that is missed those who do
     */
    void missed(Map<NodeId, Set<NodeId>> missedBy);

    /** The others have given a node up: it decides nothing any more. Told at once. */
    void judged(NodeId node);

    /** What was {@linkplain #judged judged} in one go is to be given up. They are gone later. */
    void givenUp(Set<NodeId> nodes);

    /** Nodes are gone for good, as all have seen; others may come to their addresses. */
    void gone(Set<NodeId> nodes);

    /** This node itself was given up. */
    void downed();
  }

  private final NodeId self;
  private final Map<NodeId, Member> known;
  private final Listener listener;
  private final Runnable asksForAll;

  /** Those of which the listener has not been told yet. */
  private final Set<NodeId> givenUp = new LinkedHashSet<>();

  private final Set<NodeId> gone = new LinkedHashSet<>();

  /**
   * @param known kept up to date by this, read by anybody
   * @param asksForAll to be called when {@link #toldAll} is wanted
   */
  Members(
      NodeId self,
      ConcurrentHashMap<NodeId, Member> known,
      Listener listener,
      Runnable asksForAll) {
    this.self = self;
    this.known = known;
    this.listener = listener;
    this.asksForAll = asksForAll;
  }

  /** A node has another part in the cluster, or none any more. Whether it is heard of is kept. */
  void changed(Member member) {
    var id = member.id();
    if (!member.isDown() && !member.isRemoved()) {
      var before = known.get(id);
      tell(member.heard(before == null || before.reachable()), listener::belongs);
      return;
    }
    known.remove(id);
    listener.changed();
    if (!id.equals(self)) {
      if (member.isDown()) {
        listener.judged(id);
      }
      end(member.isDown() ? givenUp : gone, id);
    } else if (member.isDown()) {
      listener.downed();
    }
  }

  private void end(Set<NodeId> how, NodeId id) {
    if (givenUp.isEmpty() && gone.isEmpty()) {
      asksForAll.run();
    }
    how.add(id);
  }

  /** All was told that Pekko had decided when this was asked for. */
  void toldAll() {
    tell(givenUp, listener::givenUp);
    tell(gone, listener::gone);
  }

  private static void tell(Set<NodeId> ended, Consumer<Set<NodeId>> what) {
    if (!ended.isEmpty()) { // else another event was told after them
      var all = Set.copyOf(ended);
      ended.clear();
      what.accept(all);
    }
  }

  /** Who misses whom has changed; as {@link Listener#missed}. */
  void missed(Map<NodeId, Set<NodeId>> missedBy) {
    listener.missed(missedBy);
  }

  /** Whether a member is heard of has changed. */
  void reachable(Member member) {
    if (known.containsKey(member.id())) {
      tell(member, member.reachable() ? listener::belongs : listener::unreachable);
    }
  }

  private void tell(Member now, Consumer<Member> what) {
    toldAll();
    known.put(now.id(), now);
    listener.changed();
    if (!now.id().equals(self)) {
      what.accept(now);
    }
  }
}
