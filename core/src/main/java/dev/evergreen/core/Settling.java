package dev.evergreen.core;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.Message.Fence;
import dev.evergreen.core.spi.Message.Version;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.SummaryKey;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Finds out when a result reflects all that was acknowledged before a question.
 *
 * <p>The question, a fence, goes down the graph, from a summary to what its present result was
 * computed from, on whatever node that is; the answers come back up. A summary <em>reflects</em>
 * what is asked for when it is settled, which is neither marked nor being computed again, and has
 * been told all that its caches' publishers know who reflect it themselves:
 *
 * <ol>
 *   <li>A write marks the summaries of its grain before it is acknowledged. So one that is settled
 *       after the question has seen the writes of its own grain.
 *   <li>A publisher answers with the version of a result that reflects. A cache that has this or a
 *       later one, and has marked whoever had read another, has told them.
 *   <li>If all caches that the present result was computed from have told that, and the summary is
 *       settled <em>after</em> that, then the result reflects.
 * </ol>
 *
 * <p>If it is not, it runs, and the caches that it reads then are asked too. What reflects once
 * does so for good, so none is asked twice. Members of a circle do not ask further.
 */
final class Settling {

  /** So many summaries at most are asked at the same time by fences of all nodes. */
  private static final int MAX_VISITS = 100_000;

  private final NodeRuntime node;
  private final AtomicLong numbers = new AtomicLong();
  private final Map<Place, Visit> visits = new ConcurrentHashMap<>();
  private final Map<Name, Set<Question>> questions = new ConcurrentHashMap<>();

  private record Place(Fence fence, CallKey key) {}

  private record Name(Fence fence, SummaryKey key) {}

  Settling(NodeRuntime node) {
    this.node = node;
  }

  /**
   * Waits until the present result of a computation reflects what was acknowledged before.
   *
   * @param scope of the calling thread, if it runs a grain's code
   * @return false if that is not known by then, or if the computation is closed
   */
  boolean await(RootComputation<?> root, @Nullable Scope scope, long deadline) {
    var fence = new Fence(node.self(), numbers.incrementAndGet());
    return new Descent(fence, root, scope, deadline).succeeds();
  }

  /** Asks what one summary's present result was computed from; for one thread, which it blocks. */
  private final class Descent {
    private final Fence fence;
    private final RunnableSummary summary;
    private final @Nullable Scope scope;
    private final long deadline;
    private final Thread thread = Thread.currentThread();
    private final Map<Cache, Question> asked = new LinkedHashMap<>();

    Descent(Fence fence, RunnableSummary summary, @Nullable Scope scope, long deadline) {
      this.fence = fence;
      this.summary = summary;
      this.scope = scope;
      this.deadline = deadline;
    }

    boolean succeeds() {
      summary.watch(thread);
      try {
        while (true) {
          var read = summary.settledOn();
          if (read != null) {
            askAll(read);
            // Those who have read something else are marked when this is so: only then it counts.
            if (haveTold(read) && read.equals(summary.settledOn())) {
              return true;
            }
          }
          if (!awaitProgress()) {
            return false;
          }
        }
      } finally {
        summary.unwatch(thread);
        asked.values().forEach(Question::close);
      }
    }

    private void askAll(List<Cache> read) {
      for (var cache : read) {
        if (!asked.containsKey(cache)) {
          var question = new Question(fence, cache, thread);
          asked.put(cache, question);
          ask(question, deadline);
        }
      }
    }

    private boolean haveTold(List<Cache> read) {
      for (var cache : read) {
        var question = asked.get(cache);
        if (question == null || !question.hasTold()) {
          return false;
        }
      }
      return true;
    }

    /** Returns whether it is worth another look. */
    private boolean awaitProgress() {
      long again = node.clock().nanos() + node.settings().pushRetryAfter().toNanos();
      while (!awaitChange(again - deadline < 0 ? again : deadline)) {
        long now = node.clock().nanos();
        if (now - deadline >= 0 || node.stopped()) {
          return false;
        }
        // What was lost, and what has moved: its cache knows another publisher by now.
        asked.values().stream().filter(q -> !q.hasTold()).forEach(q -> ask(q, deadline));
        again = now + node.settings().pushRetryAfter().toNanos();
      }
      return !isOver();
    }

    private boolean awaitChange(long until) {
      return scope == null
          ? Scope.awaitOutside(node, this::hasProgressed, until)
          : scope.await(this::hasProgressed, until);
    }

    private boolean hasProgressed() {
      var read = summary.settledOn();
      return isOver() || (read != null && (haveTold(read) || !asked.keySet().containsAll(read)));
    }

    private boolean isOver() {
      synchronized (summary.guard()) {
        return summary.over();
      }
    }
  }

  // What is asked

  /** What one cache's publisher was asked. */
  private final class Question {
    private final Name name;
    private final Cache cache;
    private final Thread waiter;
    private volatile @Nullable Version version;

    Question(Fence fence, Cache cache, Thread waiter) {
      this.name = new Name(fence, cache.key().wire());
      this.cache = cache;
      this.waiter = waiter;
      questions.computeIfAbsent(name, n -> ConcurrentHashMap.newKeySet(1)).add(this);
      cache.addWaiter(waiter);
    }

    /** Whether the cache's readers know of a result that reflects, or else are marked. */
    boolean hasTold() {
      var answer = version;
      return answer != null && cache.haveToldOf(answer);
    }

    void answered(Version reflecting) {
      version = reflecting;
      node.threads().unpark(waiter);
    }

    void close() {
      cache.removeWaiter(waiter);
      questions.computeIfPresent(
          name,
          (n, all) -> {
            all.remove(this);
            return all.isEmpty() ? null : all;
          });
    }
  }

  private void ask(Question question, long deadline) {
    var to = question.cache.publisher();
    if (to == null) {
      return; // it has none yet, and is asked again
    }
    var fence = question.name.fence();
    if (to.equals(node.self())) {
      var summary = node.activations().summary(question.cache.key());
      if (summary != null) {
        visit(fence, summary, deadline, question.name.key(), to);
      }
      return;
    }
    try {
      long patience = deadline - node.clock().nanos();
      node.send(to, new Message.Settle(fence, question.name.key(), patience));
    } catch (IllegalArgumentException e) {
      // No link takes it; its subscription did not leave either, and says so.
      node.logFailure("a question to " + to, Failures.of(e));
    }
  }

  void answered(Message.Settled answer) {
    for (var question : questions.getOrDefault(new Name(answer.fence(), answer.key()), Set.of())) {
      question.answered(answer.version());
    }
  }

  // What is answered

  /** Another node asks. */
  void asked(NodeId from, Message.Settle question) {
    var call = node.knownCallKey(question.key());
    var summary = call == null ? null : node.activations().summary(call);
    if (summary != null) {
      long patience = Math.clamp(question.patienceNanos(), 0, longestPatience());
      visit(question.fence(), summary, node.clock().nanos() + patience, question.key(), from);
    }
  }

  private long longestPatience() {
    return node.settings().leaseFor().toNanos();
  }

  private void visit(
      Fence fence, GrainSummary summary, long deadline, SummaryKey name, NodeId asker) {
    if (visits.size() >= MAX_VISITS) {
      return;
    }
    var place = new Place(fence, summary.key());
    var fresh = new Visit(place, summary, deadline);
    var winner = visits.putIfAbsent(place, fresh);
    (winner == null ? fresh : winner).tell(name, asker);
    if (winner == null) {
      node.threads().start(fresh::run);
    }
  }

  /** One summary on its way to reflect what a fence asks for. */
  private final class Visit {
    private record Asker(SummaryKey name, NodeId node) {}

    private final Place place;
    private final GrainSummary summary;
    private final long deadline;

    @GuardedBy("this")
    private final List<Asker> askers = new ArrayList<>(1);

    @GuardedBy("this")
    private @Nullable Version version;

    Visit(Place place, GrainSummary summary, long deadline) {
      this.place = place;
      this.summary = summary;
      this.deadline = deadline;
    }

    void run() {
      if (new Descent(place.fence(), summary, null, deadline).succeeds()) {
        settled(summary.results().version());
        // For a while, so that who is read by many is not asked as often as there are paths to it.
        node.clock()
            .after(node.settings().pushRetryAfter().toNanos(), () -> visits.remove(place, this));
      } else {
        visits.remove(place, this);
      }
    }

    private void settled(Version reflecting) {
      List<Asker> waiting;
      synchronized (this) {
        version = reflecting;
        waiting = List.copyOf(askers);
        askers.clear();
      }
      waiting.forEach(asker -> answer(asker, reflecting));
    }

    /** Tells an asker, now or when it is so. */
    void tell(SummaryKey name, NodeId to) {
      var asker = new Asker(name, to);
      Version reflecting;
      synchronized (this) {
        reflecting = version;
        if (reflecting == null && !askers.contains(asker)) {
          askers.add(asker);
        }
      }
      if (reflecting != null) {
        answer(asker, reflecting);
      }
    }

    private void answer(Asker asker, Version reflecting) {
      var answer = new Message.Settled(place.fence(), asker.name(), reflecting);
      if (asker.node().equals(node.self())) {
        answered(answer);
      } else {
        node.send(asker.node(), answer); // if it is lost, it is asked for again
      }
    }
  }
}
