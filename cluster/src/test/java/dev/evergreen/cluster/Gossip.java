package dev.evergreen.cluster;

import dev.evergreen.core.spi.NodeId;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What one node knows of the cluster, after the model of Pekko's gossip: versions by vector clocks,
 * merged if they are concurrent; who has seen the present one; who misses whom; and what a leader
 * does when all who stay have seen it. A node that was removed is never let in again by a merge.
 *
 * @param parts what those who belong to it are
 * @param removed who was
 * @param clock how often each has changed it
 * @param seen who has seen just this
 * @param missed whom each misses, with a number that grows
 */
record Gossip(
    SortedMap<NodeId, Part> parts,
    Set<NodeId> removed,
    Map<NodeId, Integer> clock,
    Set<NodeId> seen,
    Map<NodeId, Missed> missed) {

  /** The later one wins where two know different ones. */
  enum Part {
    JOINING,
    WEAKLY_UP,
    UP,
    LEAVING,
    EXITING,
    DOWN;

    private boolean ends() {
      return this == EXITING || this == DOWN;
    }

    boolean leads() {
      return this == UP || this == LEAVING;
    }
  }

  record Missed(int number, Set<NodeId> nodes) {}

  private enum Order {
    SAME,
    BEFORE,
    AFTER,
    CONCURRENT
  }

  static Gossip of(Collection<NodeId> up) {
    var parts = new TreeMap<NodeId, Part>(Member.NODES_BY_ADDRESS);
    up.forEach(node -> parts.put(node, Part.UP));
    return new Gossip(parts, Set.of(), Map.of(), Set.copyOf(up), Map.of());
  }

  boolean has(NodeId node) {
    return parts.containsKey(node);
  }

  boolean is(NodeId node, Part part) {
    return parts.get(node) == part;
  }

  private Part part(NodeId node) {
    return Objects.requireNonNull(parts.get(node));
  }

  /** The same, changed by a node, which nobody else has seen. */
  private Gossip by(
      NodeId node, SortedMap<NodeId, Part> parts, Set<NodeId> removed, Map<NodeId, Missed> missed) {
    var clock = new HashMap<>(this.clock);
    clock.merge(node, 1, Integer::sum);
    return new Gossip(parts, removed, clock, Set.of(node), missed);
  }

  Gossip with(NodeId by, NodeId node, Part part) {
    var parts = new TreeMap<>(this.parts);
    parts.put(node, part);
    return by(by, parts, removed, missed);
  }

  Gossip missing(NodeId by, Set<NodeId> nodes) {
    var before = missed.get(by);
    var missed = new HashMap<>(this.missed);
    missed.put(by, new Missed(before == null ? 1 : before.number() + 1, nodes));
    return by(by, parts, removed, missed);
  }

  /** After a node has received what another one knows. */
  Gossip received(NodeId self, Gossip other) {
    return switch (order(other)) {
      case SAME -> new Gossip(parts, removed, clock, union(seen, other.seen), missed);
      case AFTER -> this;
      case BEFORE -> other.seenBy(self);
      case CONCURRENT -> merged(other).seenBy(self);
    };
  }

  private Gossip seenBy(NodeId node) {
    return seen.contains(node)
        ? this
        : new Gossip(parts, removed, clock, union(seen, Set.of(node)), missed);
  }

  boolean isOlderThan(Gossip other) {
    return order(other) == Order.BEFORE;
  }

  private Order order(Gossip other) {
    boolean less = false;
    boolean more = false;
    for (var node : union(clock.keySet(), other.clock.keySet())) {
      int mine = clock.getOrDefault(node, 0);
      int theirs = other.clock.getOrDefault(node, 0);
      less |= mine < theirs;
      more |= mine > theirs;
    }
    return less ? more ? Order.CONCURRENT : Order.BEFORE : more ? Order.AFTER : Order.SAME;
  }

  private Gossip merged(Gossip other) {
    var gone = union(removed, other.removed);
    var all = new TreeMap<NodeId, Part>(Member.NODES_BY_ADDRESS);
    for (var node : union(parts.keySet(), other.parts.keySet())) {
      var mine = parts.get(node);
      var theirs = other.parts.get(node);
      if (!gone.contains(node)) {
        if (mine != null && theirs != null) {
          all.put(node, mine.compareTo(theirs) > 0 ? mine : theirs);
        } else {
          var known = Objects.requireNonNull(mine == null ? theirs : mine);
          if (!known.ends()) { // else the other one has removed it
            all.put(node, known);
          }
        }
      }
    }
    var clock = new HashMap<>(this.clock);
    other.clock.forEach((node, count) -> clock.merge(node, count, Math::max));
    var missed = new HashMap<>(this.missed);
    other.missed.forEach(
        (node, theirs) ->
            missed.merge(node, theirs, (one, two) -> one.number() > two.number() ? one : two));
    return new Gossip(all, gone, clock, Set.of(), missed);
  }

  private static <T> Set<T> union(Set<T> one, Set<T> other) {
    var all = new HashSet<>(one);
    all.addAll(other);
    return all;
  }

  /** Who is missed, and by whom, as far as they belong to it; who is down says nothing. */
  Map<NodeId, Set<NodeId>> missedBy() {
    var missedBy = new TreeMap<NodeId, Set<NodeId>>(Member.NODES_BY_ADDRESS);
    missed.forEach(
        (observer, theirs) -> {
          if (has(observer) && !is(observer, Part.DOWN)) {
            for (var subject : theirs.nodes()) {
              if (has(subject)) {
                missedBy.computeIfAbsent(subject, node -> new TreeSet<>()).add(observer);
              }
            }
          }
        });
    return missedBy;
  }

  /** Who acts for all, as a node sees it. */
  boolean isLeader(NodeId self) {
    var missing = missedBy().keySet();
    var candidates =
        parts.keySet().stream()
            .filter(node -> !is(node, Part.DOWN))
            .filter(node -> node.equals(self) || !missing.contains(node))
            .toList();
    return candidates.stream()
        .filter(node -> part(node).leads())
        .findFirst()
        .or(() -> candidates.stream().findFirst())
        .filter(self::equals)
        .isPresent();
  }

  /** Whether all who stay have seen it, as a node sees it. */
  boolean converges(NodeId self, Set<NodeId> exited) {
    boolean allHeard =
        missedBy().keySet().stream()
            .filter(node -> !node.equals(self) && !exited.contains(node))
            .allMatch(node -> part(node).ends());
    return allHeard
        && parts.keySet().stream()
            .filter(node -> part(node).leads() && !exited.contains(node))
            .allMatch(seen::contains);
  }

  /** What a leader makes of who joins, when for long not all who stay have seen it. */
  Gossip weakly(NodeId self) {
    var next = new TreeMap<>(parts);
    next.replaceAll((node, part) -> part == Part.JOINING ? Part.WEAKLY_UP : part);
    return !isLeader(self) || next.equals(parts) ? this : by(self, next, removed, missed);
  }

  /** What a leader makes of it when all who stay have seen it; the same if there is nothing. */
  Gossip led(NodeId self, Set<NodeId> exited) {
    if (!isLeader(self) || !converges(self, exited)) {
      return this;
    }
    var missing = missedBy().keySet();
    var next = new TreeMap<NodeId, Part>(Member.NODES_BY_ADDRESS);
    parts.forEach(
        (node, part) -> {
          boolean ends = part.ends() && missing.contains(node) && !node.equals(self);
          if (!ends && !(part == Part.EXITING && exited.contains(node))) {
            next.put(
                node,
                switch (part) {
                  case JOINING, WEAKLY_UP -> Part.UP;
                  case LEAVING -> Part.EXITING;
                  default -> part;
                });
          }
        });
    if (next.equals(parts)) {
      return this;
    }
    var gone = new HashSet<>(parts.keySet());
    gone.removeAll(next.keySet());
    return by(self, next, union(removed, gone), missed);
  }
}
