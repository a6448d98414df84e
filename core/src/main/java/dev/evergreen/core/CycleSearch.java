package dev.evergreen.core;

import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.SummaryKey;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Looks for cycles of reads, which the dependency graph must not have (004 §4.1: "a cycle would
 * represent a query with infinite recursion").
 *
 * <p>An ordinary edge costs no message. There are two kinds of suspicion. A run that waits: along
 * what waits in this process a cycle is found at once, and one across nodes is searched for when
 * the waiting takes long; of the members of such a cycle the one with the highest hash finds it,
 * and the searches of the others stop at it, so that a long chain of waiting is not searched by
 * each of its members. And a run that is to be accepted and has read something not less deep than
 * its summary is, while others may read that summary already. Edges exist before values are
 * returned: of two edges that close a cycle at the same time, at least the later one's search meets
 * the other.
 *
 * <p>A summary that ends in a cycle fails with a {@link CycleException} that names the path, and
 * keeps its edges, so that it runs again when the cycle is broken. Such members keep each other
 * alive; so they ask from time to time whether a computation still {@linkplain #reachable reaches}
 * them.
 */
final class CycleSearch {

  private static final int MAX_VISITED = 100_000;

  /** Stands for any reactive computation. */
  private static final GrainId ROOT = new GrainId("", "");

  private record Place(NodeId node, SummaryKey key) {}

  /**
   * @param settled whether all before it are
   */
  private record Step(Place place, @Nullable Step before, boolean settled) {}

  private static final class Open {
    volatile @Nullable List<Message.Neighbours> answer;
    final Thread waiter = Thread.currentThread();
  }

  private final NodeRuntime node;
  private final AtomicLong probes = new AtomicLong();
  private final Map<Long, Open> open = new ConcurrentHashMap<>();

  CycleSearch(NodeRuntime node) {
    this.node = node;
  }

  /** What the members of a cycle end with; counts it. */
  Outcome found(List<String> path) {
    node.meters().cycles.increment();
    return Outcome.Threw.of(
        new CycleException(
            "reads go in a circle: "
                + String.join(" -> ", path)
                + "; let one of them read less, or keep a copy in its state"));
  }

  // Waiting in this process

  /**
   * Whether a run of {@code own} that waits for {@code cache} waits for itself, as far as this
   * process can see.
   *
   * @return the path, or null
   */
  @Nullable List<String> waitingHere(CallKey own, Cache cache) {
    return waitingHere(own::equals, cache);
  }

  /**
   * Whether a computation that a write waits for waits for a summary of that write's own grain,
   * which cannot run before the write has ended.
   *
   * @return the path, or null
   */
  @Nullable List<String> waitingForWrite(Turn write, Cache cache) {
    var grain = write.activation().id();
    var path = waitingHere(key -> key.grain().equals(grain), cache);
    if (path != null) {
      path.set(0, write.toString());
    }
    return path;
  }

  private @Nullable List<String> waitingHere(Predicate<CallKey> target, Cache cache) {
    var before = new HashMap<CallKey, CallKey>();
    var frontier = new ArrayDeque<Cache>();
    frontier.add(cache);
    while (!frontier.isEmpty()) {
      var at = frontier.poll();
      if (target.test(at.key())) {
        return path(at.key(), before);
      }
      var summary = summaryHere(at.key());
      if (summary != null) {
        for (var waited : summary.waitingFor()) {
          if (!before.containsKey(waited.key())) {
            before.put(waited.key(), at.key());
            frontier.add(waited);
          }
        }
      }
    }
    return null;
  }

  private static List<String> path(CallKey own, Map<CallKey, CallKey> before) {
    var path = new ArrayList<String>();
    path.add(own.toString());
    for (var at = before.get(own);
        at != null && path.size() <= before.size();
        at = before.get(at)) {
      path.addFirst(at.toString());
    }
    path.addFirst(own.toString());
    return path;
  }

  private @Nullable GrainSummary summaryHere(CallKey key) {
    var activation = node.activations().get(key.grain());
    return activation == null ? null : activation.summary(key);
  }

  // Searching

  /**
   * A way back to where the search began.
   *
   * @param settled whether no summary on it is about to be computed again
   */
  record Found(List<String> path, boolean settled) {}

  /** Whether a run of {@code own} that waits for {@code cache} waits for itself, on any node. */
  @Nullable List<String> waiting(Scope scope, CallKey own, Cache cache) {
    int highest = rank(own.wire());
    int arguments = Arrays.hashCode(own.encodedArguments());
    var found =
        search(
            scope,
            own,
            List.of(cache),
            Message.Relation.WAITS_FOR,
            0,
            key ->
                rank(key) != highest
                    ? rank(key) < highest
                    : !key.grain().equals(own.grain())
                        || Arrays.hashCode(key.arguments()) <= arguments);
    return found == null ? null : found.path();
  }

  /**
   * The hash by which a member of a cycle is chosen, as far as all nodes know the same: the bytes
   * of the arguments depend on the version of whoever names it, and are looked at only where all
   * else is equal, and so all names are those of one node.
   */
  private static int rank(SummaryKey key) {
    return key.grain().hashCode() * 31 + key.operation().hashCode();
  }

  /**
   * Whether {@code own} is read, directly or through others, by one of {@code edges}.
   *
   * @param least the depth of {@code own}
   */
  @Nullable Found reading(CallKey own, Edges edges, int least) {
    var suspects = edges.caches().stream().filter(c -> c.depth() >= least).toList();
    return search(null, own, suspects, Message.Relation.READS, least, key -> true);
  }

  /**
   * Breadth first from {@code starts} to {@code own}. Blocks while other nodes are asked; one that
   * does not answer counts as having no neighbours.
   *
   * @param scope of the calling thread if it holds a baton
   * @param least only what is at least as deep as this is followed: what reads a summary, directly
   *     or through others, is deeper than it
   */
  private @Nullable Found search(
      @Nullable Scope scope,
      CallKey own,
      List<Cache> starts,
      Message.Relation relation,
      int least,
      Predicate<SummaryKey> through) {
    var target = own.wire();
    var visited = new HashSet<SummaryKey>();
    List<Step> frontier = new ArrayList<>();
    for (var cache : starts) {
      var publisher = cache.publisher();
      if (publisher != null) {
        frontier.add(new Step(new Place(publisher, cache.key().wire()), null, true));
      }
    }
    while (!frontier.isEmpty() && visited.size() < MAX_VISITED) {
      var fresh = new ArrayList<Step>();
      for (var step : frontier) {
        var key = step.place().key();
        if (key.equals(target)) {
          return new Found(describe(own, step), step.settled());
        }
        if (through.test(key) && visited.add(key)) {
          fresh.add(step);
        }
      }
      frontier = expand(scope, fresh, relation, least);
    }
    return null;
  }

  private static List<String> describe(CallKey own, Step last) {
    var path = new ArrayList<String>();
    path.add(own.toString());
    for (var step = last.before(); step != null; step = step.before()) {
      path.addFirst(step.place().key().toString());
    }
    path.addFirst(own.toString());
    return path;
  }

  /**
   * Whether a reactive computation reads this summary, directly or through others, here or on other
   * nodes. Blocks; a node that does not answer counts as yes.
   */
  boolean reachable(CallKey key) {
    var visited = new HashSet<Place>();
    List<Step> frontier = new ArrayList<>();
    frontier.add(new Step(new Place(node.self(), key.wire()), null, true));
    while (!frontier.isEmpty()) {
      var fresh = new ArrayList<Step>();
      for (var step : frontier) {
        if (visited.add(step.place())) {
          fresh.add(step);
        }
      }
      var readers = expand(null, fresh, Message.Relation.READ_BY, 0);
      if (readers.stream().anyMatch(step -> step.place().equals(rootPlace()))) {
        return true;
      }
      frontier = readers;
    }
    return false;
  }

  private Place rootPlace() {
    return new Place(node.self(), new SummaryKey(ROOT, "", new byte[0]));
  }

  private List<Step> expand(
      @Nullable Scope scope, List<Step> steps, Message.Relation relation, int least) {
    var byNode = new TreeMap<NodeId, List<Step>>();
    for (var step : steps) {
      byNode.computeIfAbsent(step.place().node(), n -> new ArrayList<>()).add(step);
    }
    var reached = new ArrayList<Step>();
    byNode.forEach(
        (at, there) -> {
          var keys = there.stream().map(step -> step.place().key()).toList();
          var answer =
              at.equals(node.self()) ? neighbours(keys, relation) : ask(scope, at, relation, keys);
          if (answer != null) {
            boolean own = at.equals(node.self());
            for (int i = 0; i < Math.min(answer.size(), there.size()); i++) {
              follow(there.get(i), answer.get(i), own, least, reached);
            }
          } else if (relation == Message.Relation.READ_BY) {
            reached.add(new Step(rootPlace(), null, false));
          }
        });
    return reached;
  }

  /**
   * @param own whether the neighbours are named by this node
   */
  private void follow(
      Step from, Message.Neighbours neighbours, boolean own, int least, List<Step> reached) {
    boolean settled = from.settled() && neighbours.settled();
    if (neighbours.root()) {
      reached.add(new Step(rootPlace(), from, settled));
    }
    for (var next : neighbours.summaries()) {
      if (next.depth() < least) {
        continue;
      }
      var key = own ? next.key() : ownName(next);
      reached.add(new Step(new Place(next.node(), key), from, settled));
    }
  }

  /** What this node calls a summary of its own that a node of another version may have named. */
  private SummaryKey ownName(Message.Located named) {
    var call = named.node().equals(node.self()) ? node.knownCallKey(named.key()) : null;
    return call == null ? named.key() : call.wire();
  }

  private @Nullable List<Message.Neighbours> ask(
      @Nullable Scope scope, NodeId to, Message.Relation relation, List<SummaryKey> keys) {
    long id = probes.incrementAndGet();
    var question = new Open();
    open.put(id, question);
    long deadline = node.clock().nanos() + node.settings().pushRetryAfter().toNanos();
    try {
      node.send(to, new Message.Probe(id, relation, keys));
      if (scope == null) {
        Scope.awaitOutside(node, () -> question.answer != null, deadline);
      } else {
        scope.await(() -> question.answer != null, deadline);
      }
      return question.answer;
    } catch (IllegalArgumentException e) {
      return null; // more keys than a link takes at a time
    } finally {
      open.remove(id);
    }
  }

  void answered(Message.ProbeAnswer answer) {
    var question = open.get(answer.id());
    if (question != null) {
      question.answer = answer.neighbours();
      node.threads().unpark(question.waiter);
    }
  }

  // Answering

  /** The neighbours of summaries on this node; of those that are not here, none. */
  List<Message.Neighbours> neighbours(List<SummaryKey> keys, Message.Relation relation) {
    return keys.stream()
        .map(
            key ->
                switch (relation) {
                  case READS -> located(summaryHere(key), Summary::dependencies);
                  case WAITS_FOR -> located(summaryHere(key), Summary::waitingFor);
                  case READ_BY -> readers(key);
                })
        .toList();
  }

  private static Message.Neighbours located(
      @Nullable GrainSummary summary, Function<Summary, List<Cache>> caches) {
    if (summary == null) {
      return new Message.Neighbours(List.of(), false, true);
    }
    var located = new LinkedHashSet<Message.Located>();
    boolean settled = summary.settled();
    for (var cache : caches.apply(summary)) {
      var publisher = cache.publisher();
      if (publisher != null) {
        located.add(new Message.Located(publisher, cache.key().wire(), cache.depth()));
      }
    }
    return new Message.Neighbours(List.copyOf(located), false, settled);
  }

  /**
   * What reads a summary: on its own node the caches of others that are kept true; on theirs, the
   * summaries that depend on the cache.
   */
  private Message.Neighbours readers(SummaryKey key) {
    var readers = new LinkedHashSet<Message.Located>();
    boolean root = false;
    var summary = summaryHere(key);
    if (summary != null) {
      readers.addAll(summary.cachesElsewhere());
    }
    var call = node.knownCallKey(key);
    var cache = call == null ? null : node.caches().get(call);
    if (cache != null) {
      for (var dependent : cache.dependents()) {
        var reader = dependent.key();
        if (reader == null) {
          root = true;
        } else {
          readers.add(new Message.Located(node.self(), reader.wire(), 0));
        }
      }
    }
    return new Message.Neighbours(List.copyOf(readers), root, true);
  }

  private @Nullable GrainSummary summaryHere(SummaryKey key) {
    var call = node.knownCallKey(key);
    return call == null ? null : summaryHere(call);
  }
}
