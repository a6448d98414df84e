package dev.evergreen.core.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.evergreen.core.model.Failures;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.Message.Fence;
import dev.evergreen.core.spi.Message.Located;
import dev.evergreen.core.spi.Message.Version;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.SummaryKey;
import dev.evergreen.core.work.Workers;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
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
 * does so for good, so none is asked twice. Members of a circle ask for each other's lists of
 * reads, which ask no member. That a grain cannot be activated is an answer too, if it was tried
 * after the question; not where a result of it is still shown, which reflects nothing.
 *
 * <p>Those who ask at about the same time share a fence, so that each summary is asked once for
 * all. A publisher answers another node only if it still belongs to the cluster, and is asked only
 * while it is where the grain is: one that does not know that it was replaced knows of no write.
 */
final class Settling {

  /** So many summaries at most are asked at the same time by fences of all nodes. */
  private static final int MAX_VISITS = 100_000;

  /** While one fence after the other is wished for, they begin so far apart. */
  private static final long GATHER_NANOS = 5_000_000;

  /** After this a question is asked again for the first time; then the time doubles. */
  private static final long FIRST_PATIENCE_NANOS = 50_000_000;

  private final Base base;
  private final Workers workers;
  private final Activations activations;

  @GuardedBy("this")
  private long fences;

  /** When the last fence begins, or has begun. */
  @GuardedBy("this")
  private long begins;

  private final Map<Name, Visit> visits = new ConcurrentHashMap<>();
  private final Map<Name, Set<Question>> questions = new ConcurrentHashMap<>();

  private record Name(Fence fence, SummaryKey key) implements Comparable<Name> {
    @Override
    public int compareTo(Name other) {
      return key.compareTo(other.key);
    }
  }

  /** A fence that begins at a moment, for all who had wished for it before. */
  private record Planned(Fence fence, long begins) {}

  Settling(Base base, Activations activations) {
    this.base = base;
    this.workers = base.workers();
    this.activations = activations;
  }

  /**
   * Waits until the present result of a computation reflects what was acknowledged before.
   *
   * @param scope of the calling thread, if it runs a grain's code
   * @return false if that is not known by then, or if the computation is closed
   */
  boolean await(Summary root, @Nullable Scope scope, long deadline) {
    var planned = plan();
    if (planned.begins() - workers.nanos() > 0) {
      Scope.await(workers, scope, base.lifetime()::stopped, planned.begins(), false);
    }
    return new Descent(planned.fence(), root, false, scope, deadline).succeeds();
  }

  /** A fence that has not begun yet. */
  private synchronized Planned plan() {
    long now = workers.nanos();
    if (fences == 0 || begins - now <= 0) {
      boolean soon = fences > 0 && begins + GATHER_NANOS - now > 0;
      begins = soon ? begins + GATHER_NANOS : now;
      fences++;
    }
    return new Planned(new Fence(base.peers().self(), fences), begins);
  }

  /** Asks what one summary's present result was computed from; for one thread, which it blocks. */
  private final class Descent {
    private final Fence fence;
    private final Summary summary;
    private final boolean isList;
    private final @Nullable Scope scope;
    private final long deadline;
    private final Thread thread = Thread.currentThread();
    private final Map<Cache, Question> asked = new LinkedHashMap<>();
    private long patience = FIRST_PATIENCE_NANOS;

    Descent(Fence fence, Summary summary, boolean isList, @Nullable Scope scope, long deadline) {
      this.fence = fence;
      this.summary = summary;
      this.isList = isList;
      this.scope = scope;
      this.deadline = deadline;
    }

    boolean succeeds() {
      summary.watchers.add(thread);
      try {
        while (true) {
          var read = summary.settledOn(isList);
          if (read != null) {
            askAll(read);
            // Those who have read something else are marked when this is so: only then it counts.
            if (haveTold(read) && read.equals(summary.settledOn(isList))) {
              return true;
            }
          }
          if (!awaitProgress()) {
            return false;
          }
        }
      } finally {
        summary.watchers.remove(thread);
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
      long again = workers.nanos() + patience;
      while (!Scope.await(
          workers, scope, this::hasProgressed, again - deadline < 0 ? again : deadline, false)) {
        long now = workers.nanos();
        if (now - deadline >= 0 || base.lifetime().stopped()) {
          return false;
        }
        // What was lost, and what has moved: its cache knows another publisher by now.
        asked.values().stream().filter(q -> !q.hasTold()).forEach(q -> ask(q, deadline));
        patience = Math.min(2 * patience, base.settings().pushRetryAfter().toNanos());
        again = now + patience;
      }
      return !summary.isOver();
    }

    private boolean hasProgressed() {
      var read = summary.settledOn(isList);
      return summary.isOver()
          || (read != null && (haveTold(read) || !asked.keySet().containsAll(read)));
    }
  }

  // What is asked

  /** What one cache's publisher was asked. */
  private final class Question {
    private final Name name;
    private final Cache cache;
    private final Thread waiter;
    private volatile @Nullable Version version;

    /** That the publisher was tried again since then, and cannot be had. */
    private final Version failure;

    Question(Fence fence, Cache cache, Thread waiter) {
      this.name = new Name(fence, cache.key().wire());
      this.cache = cache;
      this.waiter = waiter;
      this.failure = Cache.failure(cache.generation() + 1);
      // In one step, as the last question of that name may be closed meanwhile.
      questions.compute(
          name,
          (n, some) -> {
            Set<Question> all = some == null ? ConcurrentHashMap.newKeySet(1) : some;
            all.add(this);
            return all;
          });
      cache.addWaiter(waiter);
    }

    /** Whether the cache's readers know of a result that reflects, or else are marked. */
    boolean hasTold() {
      var answer = version;
      return cache.haveToldOf(failure) || (answer != null && cache.haveToldOf(answer));
    }

    void answered(Version reflecting) {
      version = reflecting;
      workers.unpark(waiter);
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
    if (to == null || !to.equals(place(question.cache.key().grain()))) {
      return; // it is being subscribed where the grain is now, and asked again
    }
    var fence = question.name.fence();
    if (to.equals(base.peers().self())) {
      var summary = activations.summary(question.cache.key());
      if (summary != null) {
        visit(fence, summary, earlier(deadline), new Located(to, question.name.key()));
      }
      return;
    }
    try {
      long patience = deadline - workers.nanos();
      base.peers().send(to, new Message.Settle(fence, question.name.key(), patience));
    } catch (IllegalArgumentException e) {
      // No link takes it; its subscription did not leave either, and says so.
      Failures.log("a question to " + to, e);
    }
  }

  /** Where a grain is; null if that is not known. */
  private @Nullable NodeId place(GrainId grain) {
    return base.placement().isHere(grain) ? base.peers().self() : base.placement().locate(grain);
  }

  void answered(Message.Settled answer) {
    for (var question : questions.getOrDefault(new Name(answer.fence(), answer.key()), Set.of())) {
      question.answered(answer.version());
    }
  }

  // What is answered

  /** Another node asks. */
  void asked(NodeId from, Message.Settle question) {
    var call = base.models().knownCallKey(question.key());
    var summary = call == null ? null : activations.summary(call);
    if (summary != null) {
      long patience = Math.clamp(question.patienceNanos(), 0, Long.MAX_VALUE / 2);
      long deadline = earlier(workers.nanos() + patience);
      visit(question.fence(), summary, deadline, new Located(from, question.key()));
    }
  }

  /** Who waits longer asks again, so that nothing is looked for that nobody waits for. */
  private long earlier(long deadline) {
    long longest = workers.nanos() + base.settings().leaseFor().toNanos();
    return deadline - longest < 0 ? deadline : longest;
  }

  private void visit(Fence fence, GrainSummary summary, long deadline, Located asker) {
    if (visits.size() >= MAX_VISITS) {
      return;
    }
    boolean isList = base.models().graph().isReads(asker.key());
    var place = new Name(fence, isList ? asker.key() : summary.key().wire());
    var fresh = new Visit(place, summary, deadline);
    var winner = visits.putIfAbsent(place, fresh);
    (winner == null ? fresh : winner).tell(asker);
    if (winner == null) {
      workers.begin(fresh::run);
    }
  }

  /** One summary on its way to reflect what a fence asks for. */
  private final class Visit {
    private final Name place;
    private final GrainSummary summary;
    private final long deadline;

    @GuardedBy("this")
    private final List<Located> askers = new ArrayList<>(1);

    @GuardedBy("this")
    private @Nullable Version version;

    Visit(Name place, GrainSummary summary, long deadline) {
      this.place = place;
      this.summary = summary;
      this.deadline = deadline;
    }

    void run() {
      long keepFor = 0;
      try {
        boolean isList = base.models().graph().isReads(place.key());
        if (new Descent(place.fence(), summary, isList, null, deadline).succeeds()) {
          var present = isList ? summary.listVersion() : summary.results().version();
          if (present != null) {
            // So that who is read by many is not asked as often as there are paths to it.
            keepFor = base.settings().pushRetryAfter().toNanos();
            settled(present);
          }
        }
      } finally {
        workers.afterShortly(keepFor, () -> visits.remove(place, this));
      }
    }

    private void settled(Version reflecting) {
      List<Located> waiting;
      synchronized (this) {
        version = reflecting;
        waiting = List.copyOf(askers);
        askers.clear();
      }
      answer(waiting, reflecting);
    }

    /** Tells an asker, now or when it is so. Does not block. */
    void tell(Located asker) {
      Version reflecting;
      synchronized (this) {
        reflecting = version;
        if (reflecting == null && !askers.contains(asker)) {
          askers.add(asker);
        }
      }
      if (reflecting != null) {
        workers.begin(() -> answer(List.of(asker), reflecting));
      }
    }

    /**
     * Answers, unless this node was replaced: then it has not seen what others have written since.
     * What is not answered is asked again. Blocks while the node finds out, before it tells others.
     */
    private void answer(List<Located> waiting, Version reflecting) {
      if (!base.placement().isHere(summary.key().grain())) {
        return;
      }
      var others = new ArrayList<Located>();
      for (var asker : waiting) {
        if (asker.node().equals(base.peers().self())) {
          answered(new Message.Settled(place.fence(), asker.key(), reflecting));
        } else {
          others.add(asker);
        }
      }
      if (!others.isEmpty() && base.placement().confirmed()) {
        for (var asker : others) {
          base.peers()
              .send(asker.node(), new Message.Settled(place.fence(), asker.key(), reflecting));
        }
      }
    }
  }
}
