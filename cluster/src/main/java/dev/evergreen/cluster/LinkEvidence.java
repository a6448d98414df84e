package dev.evergreen.cluster;

import dev.evergreen.cluster.links.Reach;
import dev.evergreen.core.spi.Clock;
import dev.evergreen.core.spi.NodeId;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What the links know of the other members, and Pekko does not: whom calls reach, and whose process
 * has ended, as its host refuses connections. Has Pekko miss both, and gives up who has ended.
 *
 * <p>Thread-safe. Blocks nobody.
 */
final class LinkEvidence {

  /** Pekko knows of a death sooner than so long after a connection has ended. */
  private static final long UNKNOWN_DEATH_NANOS = Duration.ofSeconds(15).toNanos();

  /** What this node makes of it. */
  interface Node {

    /** Whether it gives nobody up any more. */
    boolean isLeaving();

    /** All whom Pekko knows, whatever their part in the cluster. */
    Collection<NodeId> all();

    /** Pekko is to miss this one from now on. */
    void misses(Member other, boolean asItsHostRefuses);

    /**
     * There has never been a connection for calls to one that is heard of.
     *
     * @param nanos for how long
     */
    void neverReached(Member own, Member other, long nanos);

    /** The cluster is to go on without this one. */
    void giveUp(NodeId other);
  }

  private final NodeId self;
  private final Map<NodeId, Member> members;
  private final Set<String> missed;
  private final long unreachedNanos;
  private final Tenure tenure;
  private final Clock clock;
  private final Reach links;
  private final Node node;

  /** Members to whom a connection has ended, and when the last did. */
  private final Map<NodeId, Long> lost = new ConcurrentHashMap<>();

  /** Members whose hosts refuse connections since the last one ended. */
  private final Set<NodeId> refusing = ConcurrentHashMap.newKeySet();

  private volatile Map<NodeId, Set<NodeId>> missedBy = Map.of();

  /**
   * Of one node.
   *
   * @param members those that it knows, kept up to date by others
   * @param missed addresses of those that Pekko is to miss, kept up to date by this
   * @param unreached after so long without a connection for calls a node is missed that had one
   */
  LinkEvidence(
      NodeId self,
      Map<NodeId, Member> members,
      Set<String> missed,
      Duration unreached,
      Tenure tenure,
      Clock clock,
      Reach links,
      Node node) {
    this.self = self;
    this.members = members;
    this.missed = missed;
    this.unreachedNanos = unreached.toNanos();
    this.tenure = tenure;
    this.clock = clock;
    this.links = links;
    this.node = node;
  }

  // Whom calls reach

  /** Whether calls reach a node. */
  boolean isReached(NodeId other) {
    return other.equals(self) || links.isConnected(other);
  }

  /** Whether it may be given partitions; who is cut off itself knows nothing against it. */
  boolean isReached(String address) {
    return !isConnected()
        || members.keySet().stream()
            .anyMatch(other -> other.address().equals(address) && isReached(other));
  }

  /** Whether calls reach at least half of those who host grains. */
  boolean isConnected() {
    var voters = tenure.voters();
    return 2 * voters.stream().filter(this::isReached).count() >= voters.size();
  }

  /** Who hosts grains and is heard of, but not connected. */
  List<Member> notReached() {
    return members.values().stream()
        .filter(member -> member.votes() && member.reachable() && !isReached(member.id()))
        .toList();
  }

  /** Whether calls reach one who hosts grains, other than this. */
  boolean reachesHostBut(NodeId unreached) {
    return members.values().stream()
        .filter(member -> member.votes() && !member.id().equals(unreached))
        .anyMatch(member -> isReached(member.id()));
  }

  /** Whether some member may have died without Pekko knowing it by now. */
  boolean someMayBeDead() {
    long now = clock.nanos();
    return lost.entrySet().stream()
        .anyMatch(
            one -> now - one.getValue() < UNKNOWN_DEATH_NANOS && !links.isConnected(one.getKey()));
  }

  /** Whether it is known that a node's process has ended. */
  boolean isDead(NodeId other) {
    return refusing.contains(other);
  }

  // What the links tell

  /** There is a connection to a node. */
  void connected(NodeId other) {
    refusing.remove(other);
  }

  /** A connection to a node has ended. */
  void broken(NodeId other) {
    if (members.containsKey(other)) {
      lost.put(other, clock.nanos());
    }
    refusing.remove(other); // it has lived until now
  }

  /** A node's host refuses a connection, which is evidence if there was one. */
  void refused(NodeId other) {
    var member = members.get(other);
    if (!lost.containsKey(other) || member == null || !member.isUp()) {
      return;
    }
    refusing.add(other);
    if (mayJudge()) {
      if (missed.add(other.address())) {
        node.misses(member, true);
      }
      giveUpTheDead();
    }
  }

  // What Pekko tells

  /** As {@link Members.Listener#missed}. */
  void missed(Map<NodeId, Set<NodeId>> by) {
    missedBy = by;
    giveUpTheDead();
  }

  /** These are members no more. */
  void gone(Set<NodeId> others) {
    others.forEach(other -> missed.remove(other.address()));
  }

  /** There is no link to a node any more. */
  void forget(NodeId other) {
    lost.remove(other);
    refusing.remove(other);
  }

  // What follows from it

  /**
   * Looks, from time to time, whom Pekko hears, but calls do not reach any more. Pekko is to miss
   * it, as its grains would be nobody's. It may be this node that the others do not reach, which
   * the majority decides. What is wrong may also be something that concerns all; then nobody is
   * connected to more than half, and nobody is missed. Whom calls have never reached nobody misses:
   * one of the two ends by itself ({@link Unreached}).
   */
  void look() {
    var own = members.get(self);
    if (own != null) {
      members.values().stream()
          .filter(member -> !member.id().equals(self))
          .forEach(member -> look(own, member));
    }
  }

  private void look(Member own, Member member) {
    var other = member.id();
    boolean needed = member.isUp() && Unreached.needEachOther(own, member);
    boolean wasReached = links.wasConnected(other);
    long nanos = links.brokenNanos(other);
    boolean unreached = needed && nanos > unreachedNanos;
    if (unreached && wasReached && mayJudge()) {
      if (missed.add(other.address())) {
        node.misses(member, false);
      }
    } else if (!refusing.contains(other)) {
      missed.remove(other.address());
    }
    if (unreached && !wasReached && member.reachable()) {
      node.neverReached(own, member, nanos);
    }
  }

  private boolean mayJudge() {
    int connected =
        (int)
            members.values().stream()
                .filter(LinkEvidence::counts)
                .filter(member -> !member.id().equals(self) && links.isConnected(member.id()))
                .count();
    return CrashDetector.mayJudge(connected, memberCount());
  }

  /** Who was given up a moment ago counts, or a node that is cut off would judge all in turn. */
  int memberCount() {
    return (int) members.values().stream().filter(LinkEvidence::counts).count()
        + tenure.givenUpCount();
  }

  /**
   * Whether one is of those of whom more than half must be connected. Who is joining is not: it
   * would count for a node that reaches nobody else. Who leaves is one until it has left.
   */
  private static boolean counts(Member member) {
    return member.isUp() || member.isLeaving();
  }

  /**
   * Gives up whose processes have ended, as all say who are heard. Missed first: the others need
   * not have seen what a node that is missed should see.
   */
  private void giveUpTheDead() {
    if (node.isLeaving() || refusing.isEmpty()) {
      return;
    }
    var heard =
        members.values().stream()
            .filter(member -> member.votes() && !missed.contains(member.id().address()))
            .map(Member::id)
            .filter(other -> !other.equals(self))
            .toList();
    var all = node.all();
    for (var other : all) {
      if (refusing.contains(other)
          && missed.contains(other.address())
          && CrashDetector.allMiss(other, heard, missedBy, all.size())) {
        node.giveUp(other);
      }
    }
  }
}
