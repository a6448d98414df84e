package dev.evergreen.core.engine;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.mapping;
import static java.util.stream.Collectors.toList;

import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.model.Failures;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.Message.Located;
import dev.evergreen.core.spi.Message.Readers;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.SummaryKey;
import dev.evergreen.core.work.Workers;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Reclaims circles that no reactive computation reaches. What reads each other keeps each other, so
 * counting readers would keep such a circle for ever: its members ask from time to time who reads
 * them, directly or through others, on all nodes.
 *
 * <p>If no computation does, the caches between all who were found are closed on every node, and
 * their summaries go with their last subscription as ever. Nothing rests on that answer being still
 * true: a cache that has got another reader meanwhile stays, and a summary that has lost a cache
 * and is still there when other nodes have had the time to do the same runs again.
 */
final class CircleCollector {

  private static final class Question {
    volatile @Nullable List<Readers> answer;
    final Thread waiter = Thread.currentThread();
  }

  private final Base base;
  private final Workers workers;
  private final Caches caches;
  private final Activations activations;
  private final long patience;
  private final AtomicLong probes = new AtomicLong();
  private final Map<Long, Question> open = new ConcurrentHashMap<>();

  /**
   * Who has not answered in this sweep, and is not asked again in it: else each of its circles
   * would hold it up. Touched by who sweeps.
   */
  private final Set<NodeId> silent = new HashSet<>();

  CircleCollector(Propagation parts, Activations activations) {
    this.base = parts.base();
    this.workers = base.workers();
    this.caches = parts.caches();
    this.activations = activations;
    this.patience = parts.base().settings().pushRetryAfter().toNanos();
  }

  /**
   * Looks at one member of each circle, as all have the same readers: directly, or through each
   * other. Blocks.
   */
  void sweep() {
    var seen = new HashSet<SummaryKey>();
    silent.clear();
    for (var activation : activations.all()) {
      for (var summary : activation.summaries()) {
        if (summary.inCircle()) {
          Failures.alone("collecting " + summary.key(), () -> collect(summary, seen));
        }
      }
    }
  }

  /** One may have no name, if its arguments are too large: then it fails alone. */
  private void collect(GrainSummary summary, Set<SummaryKey> seen) {
    if (seen.add(summary.key().wire())) {
      seen.addAll(summary.otherMembers());
      collect(summary.key());
    }
  }

  /**
   * Closes what reads a member of a circle, unless a computation does. What does not leave is told
   * when this is looked at again.
   */
  private void collect(CallKey member) {
    var found = readersOf(new Located(base.peers().self(), member.wire()));
    if (found == null) {
      return;
    }
    byNode(found)
        .forEach(
            (at, keys) -> {
              if (at.equals(base.peers().self())) {
                close(keys);
              } else {
                base.peers().sendParts(at, keys, Message.Unreachable::new);
              }
            });
  }

  /** Closes the caches of summaries here that only such summaries read. */
  void close(List<SummaryKey> unreachable) {
    var calls = new LinkedHashSet<CallKey>();
    for (var key : unreachable) {
      var call = base.models().knownCallKey(key);
      if (call != null) {
        calls.add(call);
      }
    }
    caches.closeIfReadOnlyBy(calls);
  }

  /** All that read a summary, and itself; null if a computation is among them or may be. */
  private @Nullable Set<Located> readersOf(Located first) {
    var visited = new LinkedHashSet<Located>();
    Set<Located> frontier = Set.of(first);
    while (!frontier.isEmpty()) {
      visited.addAll(frontier);
      var readers = expand(frontier);
      if (readers == null) {
        return null;
      }
      readers.removeAll(visited);
      frontier = readers;
    }
    return visited;
  }

  private @Nullable Set<Located> expand(Set<Located> places) {
    var reached = new LinkedHashSet<Located>();
    for (var there : byNode(places).entrySet()) {
      var answer =
          there.getKey().equals(base.peers().self())
              ? readers(there.getValue())
              : ask(there.getKey(), there.getValue());
      if (answer == null || answer.stream().anyMatch(Readers::root)) {
        return null;
      }
      answer.forEach(readers -> reached.addAll(readers.summaries()));
    }
    return reached;
  }

  private static Map<NodeId, List<SummaryKey>> byNode(Set<Located> places) {
    return places.stream()
        .collect(groupingBy(Located::node, TreeMap::new, mapping(Located::key, toList())));
  }

  private @Nullable List<Readers> ask(NodeId to, List<SummaryKey> keys) {
    if (silent.contains(to)) {
      return null;
    }
    long id = probes.incrementAndGet();
    var question = new Question();
    open.put(id, question);
    try {
      boolean answered =
          base.peers().send(to, new Message.Probe(id, keys))
              && workers.await(() -> question.answer != null, workers.nanos() + patience, false);
      if (!answered) {
        silent.add(to);
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
      question.answer = answer.readers();
      workers.unpark(question.waiter);
    }
  }

  /** Who reads these summaries, as far as this node knows. */
  List<Readers> readers(List<SummaryKey> keys) {
    return keys.stream().map(this::readers).toList();
  }

  /**
   * On a summary's own node the caches of others that are kept true; where there is a cache of it,
   * the summaries that depend on that.
   */
  private Readers readers(SummaryKey key) {
    var readers = new LinkedHashSet<Located>();
    boolean root = false;
    var call = base.models().knownCallKey(key);
    var summary = call == null ? null : activations.summary(call);
    if (summary != null) {
      readers.addAll(summary.results().cachesElsewhere());
    }
    var cache = call == null ? null : caches.get(call);
    if (cache != null) {
      for (var dependent : cache.dependents()) {
        var reader = dependent.key();
        if (reader == null) {
          root = true;
        } else {
          readers.add(new Located(base.peers().self(), reader.wire()));
        }
      }
    }
    return new Readers(List.copyOf(readers), root);
  }
}
