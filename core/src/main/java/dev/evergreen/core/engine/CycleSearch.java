package dev.evergreen.core.engine;

import static java.util.stream.Collectors.joining;

import dev.evergreen.core.CallInterruptedException;
import dev.evergreen.core.CycleException;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.engine.Cache.Dependent;
import dev.evergreen.core.engine.Cache.Edge;
import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.model.Failures;
import dev.evergreen.core.model.Graph;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.SummaryKey;
import dev.evergreen.core.work.Cancellation;
import dev.evergreen.core.work.Workers;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Looks for circles of reads, which the dependency graph must not have (004 §4.1: "a cycle would
 * represent a query with infinite recursion").
 *
 * <p><b>What a circle is.</b> A summary that reads itself, directly or through others, is in a
 * circle, and its result is a {@link CycleException} that names all who are in it, whatever its
 * operation makes of what it reads. Who only reads members is none, and may catch the exception. So
 * a result does not depend on where a computation enters the circle, nor on when.
 *
 * <p><b>When it is looked for.</b> An ordinary edge costs no message. A summary is deeper than all
 * that it reads, so in a circle some summary is not: this is the suspicion. Members, and all who
 * read them, are endlessly deep, so that whoever reads a member suspects itself. A run that waits
 * is suspicious too: along what waits in this process a circle is found at once, and one across
 * nodes is looked for when the waiting takes long; the search stops at summaries of a higher hash,
 * so that a long chain of waiting is not searched by each of its members.
 *
 * <p><b>How.</b> Along the {@linkplain Graph lists of reads} of what is at least as deep as the
 * suspect, which it subscribes like any other results. The lists of the other members stay edges of
 * a member: a verdict is computed from the edges that made it, and runs again when one of them
 * changes, wherever it is. It is in doubt as long as one of these publishers is not heard of. What
 * did not answer in time, or not with a list, stays an edge too, so that the search is made again
 * when it does; and so do all lists of who reads a member and is none, and to a member those of
 * what is as deep as members are. Of their changes only those count that may lead to another
 * verdict ({@link Evidence}): so a circle costs as much as each member needs to look at all others
 * once, in time and in edges.
 *
 * <p><b>What counts.</b> A verdict rests on the reads of accepted runs: what the results there are
 * depend on. A run under way does not replace these before it is accepted, and a circle of what a
 * member has read before and what it reads now may never have been there. In a circle of waiting it
 * is the runs under way that count, whose edges are listed from before they wait. A run that had
 * waited in a circle and went on is judged by both, as the others still wait. So are those of which
 * no result is known where they are read: in a circle that is computed for the first time, who gets
 * the first member's error is a member while the others still wait.
 *
 * <p>Not all lists are known at the same moment, so that a search may miss a circle that is just
 * being closed. Then the summary becomes deeper than all it reads; in a circle not all can be, and
 * whoever learns that it is not searches again.
 *
 * <p><b>How long it waits.</b> Until all lists of a step are heard of, or for the patience, of
 * which each step that has waited in vain leaves half to the next. A write makes the result of a
 * run worthless also while that is judged, as what is read before a write and what others read
 * after it may make a circle together that never was. So if each judgement took the patience, who
 * is written more often would show nothing for as long as a node is cut off. Therefore one that
 * follows a run which a write has discarded waits for no list that has been silent for longer than
 * the patience: a node that is cut off does not answer the next search either. The verdict is that
 * of a wait in vain. It is in doubt, and is made again when the list comes and says something else.
 * All others wait, as else members of a circle that nobody can see would run each other without a
 * pause.
 *
 * <p><b>What cannot be seen.</b> A list may be impossible to have: it, or the name that it is asked
 * for by, is larger than a value may be, or than a link takes. A circle of such lists is never
 * found, and its members would become deeper for ever. So a search that was made in vain too often
 * in a row ends in a result of its own: that nobody can tell.
 */
final class CycleSearch {

  private static final int MAX_VISITED = 10_000;
  private static final int MAX_NAMED = 20;

  /** What reads nothing has this depth, and is in no circle. */
  private static final int LEAF = 1;

  /**
   * What came of a search.
   *
   * @param circle the result of a member; null if the summary is in none
   * @param edges what the verdict rests on; to be released by whoever does not keep it
   * @param hidden what could not be seen, so that it may be in one all the same; null if all was
   */
  record Verdict(Outcome.@Nullable Threw circle, Edges edges, @Nullable String hidden) {
    static final Verdict UNSUSPICIOUS = new Verdict(null, Edges.NONE, null);

    /** The search itself failed. */
    static Verdict failed(Throwable why) {
      return new Verdict(null, Edges.NONE, Failures.describe(why));
    }

    /** Of a summary that was judged in vain too often. */
    Verdict inVain() {
      var circle =
          Outcome.Threw.of(
              new CycleException(
                  "reads seem to go in a circle, of which not all can be seen: " + hidden));
      return new Verdict(circle, edges, hidden);
    }
  }

  /** That a run of {@code reader} waits for a cache; several of its branches may, for the same. */
  static final class Wait {
    private final CallKey reader;
    private final Cache cache;
    private final Cancellation run;

    private Wait(CallKey reader, Cache cache, Cancellation run) {
      this.reader = reader;
      this.cache = cache;
      this.run = run;
    }
  }

  private final Base base;
  private final Workers workers;
  private final Caches caches;
  private final long patience;
  private final Map<CallKey, Set<Wait>> waits = new ConcurrentHashMap<>();

  CycleSearch(Base base, Caches caches) {
    this.base = base;
    this.workers = base.workers();
    this.caches = caches;
    this.patience = base.settings().pushRetryAfter().toNanos();
  }

  /** What those end with that read or wait in a circle; counts it. */
  Outcome.Threw found(Collection<String> path) {
    return found("reads go in a circle: " + String.join(" -> ", path));
  }

  private Outcome.Threw found(String circle) {
    base.observer().circleFound();
    return Outcome.Threw.of(
        new CycleException(circle + "; let one of them read less, or keep a copy in its state"));
  }

  // Waiting in this process

  /**
   * A run is about to wait.
   *
   * @param reader whose run it is; null if nobody can wait for that
   */
  @Nullable Wait waits(@Nullable CallKey reader, Cache cache, Cancellation run) {
    if (reader == null) {
      return null;
    }
    var wait = new Wait(reader, cache, run);
    waits.compute(
        reader,
        (key, some) -> {
          Set<Wait> all = some == null ? new LinkedHashSet<>(2) : some;
          all.add(wait);
          return all;
        });
    return wait;
  }

  /** It waits no more. */
  void waitsNoMore(@Nullable Wait wait) {
    if (wait != null) {
      waits.computeIfPresent(
          wait.reader,
          (key, all) -> {
            all.remove(wait);
            return all.isEmpty() ? null : all;
          });
    }
  }

  /** What runs of a summary wait for. */
  private List<Wait> waitsOf(CallKey reader) {
    if (!waits.containsKey(reader)) {
      return List.of();
    }
    var copy = new ArrayList<Wait>();
    waits.computeIfPresent(
        reader,
        (key, all) -> {
          copy.addAll(all);
          return all;
        });
    return copy;
  }

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
    var grain = write.home().id();
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
      for (var wait : waitsOf(at.key())) {
        var waited = wait.cache;
        if (!wait.run.cancelled() && !before.containsKey(waited.key())) {
          before.put(waited.key(), at.key());
          frontier.add(waited);
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

  // Searching

  /**
   * Whether a summary is in a circle by what a run of it has read. Blocks to ask publishers.
   *
   * @param rank how deep the summary is when it is in no circle
   * @param readsMember whether it has read a member of a circle, as far as that knows
   * @param waited whether the run has waited for itself, and so for runs under way
   * @param overtaken whether a write has discarded the run before, as it may this one
   */
  Verdict judge(
      Dependent summary,
      CallKey own,
      List<Graph.Read> reads,
      int rank,
      boolean readsMember,
      boolean waited,
      boolean overtaken) {
    int least = Math.max(rank, LEAF + 1);
    Predicate<Graph.Read> follows = read -> read.depth() == 0 || read.depth() >= least;
    long forgiven = overtaken ? patience : Long.MAX_VALUE;
    var search = new Search(summary, own, null, follows, waited, forgiven);
    search.run(reads, key -> true);
    return search.verdict(readsMember);
  }

  /** Whether a run that waits for {@code cache} waits for itself, on any node. */
  Outcome.@Nullable Threw waiting(Scope scope, Dependent summary, CallKey own, Cache cache) {
    // What nobody has a result of is waited for.
    try {
      Predicate<Graph.Read> follows = read -> read.depth() == 0;
      var search = new Search(summary, own, scope, follows, true, Long.MAX_VALUE);
      var wait = new Graph.Read(cache.key().wire(), 0, true);
      search.run(List.of(wait), key -> !outranks(key, own.wire()));
      var verdict = search.verdict(false);
      verdict.edges().release();
      return verdict.circle();
    } catch (GrainException e) {
      return null; // what cannot be named cannot be looked for
    }
  }

  /**
   * Whether of two members of a circle the first is to find it, as far as all nodes know the same:
   * the bytes of the arguments depend on the version of whoever names it, and are looked at only
   * where all else is equal, and so all names are those of one node.
   */
  private static boolean outranks(SummaryKey a, SummaryKey b) {
    int byName = Integer.compare(nameHash(a), nameHash(b));
    return byName != 0
        ? byName > 0
        : a.grain().equals(b.grain())
            && Arrays.hashCode(a.arguments()) > Arrays.hashCode(b.arguments());
  }

  private static int nameHash(SummaryKey key) {
    return key.grain().hashCode() * 31 + key.operation().hashCode();
  }

  /** Breadth first from one summary along reads. */
  private final class Search {
    private final Dependent summary;
    private final SummaryKey own;
    private final @Nullable Scope scope;
    private final Predicate<Graph.Read> follows;
    private final boolean waited;
    private final long forgiven;

    /** Of which somebody who reads them knows no result: they may be in their first run. */
    private final Set<SummaryKey> unknown = new HashSet<>();

    private final Map<SummaryKey, List<SummaryKey>> graph = new LinkedHashMap<>();
    private final Map<SummaryKey, Edge> lines = new LinkedHashMap<>();

    /** What those call themselves that a node of another version may have named. */
    private final Map<SummaryKey, SummaryKey> names = new HashMap<>();

    /**
     * What is in a circle or reads one, as far as a reader knows. It may become a member by its
     * list alone, as its result may be the same that it had in that circle before.
     */
    private final Set<SummaryKey> endless = new HashSet<>();

    /** What this node calls those that are followed, by what lists call them. */
    private final Map<SummaryKey, SummaryKey> ownNames = new HashMap<>();

    /** In whose lists the reads of runs under way count. */
    private final Set<SummaryKey> underWay = new HashSet<>();

    /** Whether there are others in one of these lists. */
    private boolean mixed;

    /** How long it waits for the next lists: less each time that some did not come. */
    private long patienceLeft = patience;

    /** The first that could not be seen of those that may be in the circle. */
    private @Nullable String hidden;

    /**
     * @param scope of the calling thread if it holds a baton
     * @param follows which reads are followed, as far as they count
     * @param waited whether all reads of runs under way count
     * @param forgiven for lists that have been silent for so long it does not wait
     */
    Search(
        Dependent summary,
        CallKey own,
        @Nullable Scope scope,
        Predicate<Graph.Read> follows,
        boolean waited,
        long forgiven) {
      this.summary = summary;
      this.own = own.wire();
      this.scope = scope;
      this.follows = follows;
      this.waited = waited;
      this.forgiven = forgiven;
    }

    void run(List<Graph.Read> reads, Predicate<SummaryKey> through) {
      try {
        var frontier = followed(reads, true);
        graph.put(own, frontier);
        while (!frontier.isEmpty() && graph.size() < MAX_VISITED) {
          var fresh = new LinkedHashSet<>(frontier);
          fresh.removeIf(key -> graph.containsKey(key) || !through.test(key));
          frontier = expand(fresh);
        }
        if (!frontier.isEmpty()) {
          hides("more than " + MAX_VISITED + " summaries");
        }
      } catch (RuntimeException | Error e) {
        new Edges(List.copyOf(lines.values())).release();
        throw e;
      }
    }

    private List<SummaryKey> expand(Set<SummaryKey> keys) {
      var asked = new ArrayList<Edge>();
      for (var key : keys) {
        try {
          var line = caches.retain(base.models().graph().readsOf(key), summary);
          lines.put(key, line);
          asked.add(line);
        } catch (GrainException e) {
          hides(key, Failures.describe(e));
        }
      }
      await(asked);
      var reached = new ArrayList<SummaryKey>();
      for (var key : keys) {
        var list = listOf(key);
        if (waited || unknown.contains(key)) {
          underWay.add(key);
          mixed |= Evidence.isMixed(list);
        }
        var next = followed(list, underWay.contains(key));
        graph.put(key, next);
        reached.addAll(next);
      }
      return reached;
    }

    private List<Graph.Read> listOf(SummaryKey key) {
      var line = lines.get(key);
      var outcome = line == null ? null : line.outcome();
      if (outcome instanceof Outcome.Threw(var failure, var original)) {
        hides(key, failure.message());
      }
      var list = Graph.Names.list(outcome);
      var name = list.isEmpty() ? null : list.getFirst().reader();
      if (name != null) {
        names.put(key, name);
      }
      return list;
    }

    /** What has no result in a circle yet cannot be what makes it deeper. */
    private void hides(SummaryKey key, @Nullable String why) {
      if (!unknown.contains(key)) {
        hides(key + ": " + why);
      }
    }

    private void hides(String what) {
      hidden = hidden == null ? what : hidden;
    }

    private List<SummaryKey> followed(List<Graph.Read> reads, boolean tentative) {
      var keys = new ArrayList<SummaryKey>();
      for (var read : reads) {
        if (Evidence.counts(read, follows, tentative)) {
          var key = base.models().ownName(read.summary());
          ownNames.put(read.summary(), key);
          keys.add(key);
          if (read.depth() == 0) {
            unknown.add(key);
          } else if (read.depth() == Graph.Read.ENDLESS) {
            endless.add(key);
          }
        }
      }
      return keys;
    }

    /**
     * Also waits for lists whose publishers are not heard of, as their grains have moved: by an old
     * list a circle would be missed, and its members would run each other until a new one comes.
     * What waits in vain adds up to twice the patience, however many are on a node that is cut off.
     */
    private void await(List<Edge> asked) {
      var unheard = asked.stream().filter(e -> e.outcome() == null || !isHeard(e)).toList();
      var open = unheard.stream().filter(e -> e.cache().unheardFor() < forgiven).toList();
      try {
        if (!open.isEmpty()) {
          awaitAll(open);
        }
      } catch (CallInterruptedException e) {
        // What has not answered by now stays an edge that went on without.
        return;
      } finally {
        unheard.forEach(edge -> edge.cache().goOnWithout(edge, null));
      }
    }

    private void awaitAll(List<Edge> open) {
      var thread = Thread.currentThread();
      open.forEach(edge -> edge.cache().addWaiter(thread));
      try {
        long deadline = workers.nanos() + patienceLeft;
        BooleanSupplier allHeard = () -> open.stream().allMatch(Search::isHeard);
        if (!Scope.await(workers, scope, allHeard, deadline, false)) {
          patienceLeft /= 2;
        }
      } finally {
        open.forEach(edge -> edge.cache().removeWaiter(thread));
      }
    }

    private static boolean isHeard(Edge asked) {
      var cache = asked.cache();
      return cache.closed() || (cache.present() != null && !cache.isSilent());
    }

    /**
     * @param readsMember if so, that the summary is in no circle rests on all lists: the member may
     *     be one of another life, and fail in the same way again when the lists are others
     */
    Verdict verdict(boolean readsMember) {
      var members = members();
      var kept = new LinkedHashMap<SummaryKey, Edge>();
      var released = new ArrayList<Edge>();
      lines.forEach(
          (key, line) -> {
            boolean evidence =
                members.isEmpty()
                    ? readsMember || !(line.outcome() instanceof Outcome.Returned)
                    : members.contains(key) || endless.contains(key);
            if (evidence) {
              kept.put(key, line);
            } else {
              released.add(line);
            }
          });
      new Edges(released).release();
      if (!mixed) {
        readAsEvidence(kept, !members.isEmpty());
      }
      var edges = new Edges(List.copyOf(kept.values()));
      return members.isEmpty()
          ? new Verdict(null, edges, hidden)
          : new Verdict(found(describe(members)), edges, null);
    }

    private void readAsEvidence(Map<SummaryKey, Edge> kept, boolean circle) {
      var seen = new HashSet<SummaryKey>();
      ownNames.forEach(
          (name, key) -> {
            if (key.equals(own) || kept.containsKey(key)) {
              seen.add(name);
            }
          });
      kept.forEach(
          (key, line) -> line.readAs(new Evidence(follows, underWay.contains(key), circle, seen)));
    }

    /** All that reach the summary, which reaches all; empty if it does not reach itself. */
    private Set<SummaryKey> members() {
      var readers = new HashMap<SummaryKey, List<SummaryKey>>();
      graph.forEach(
          (reader, read) ->
              read.forEach(
                  key -> readers.computeIfAbsent(key, k -> new ArrayList<>()).add(reader)));
      var members = new LinkedHashSet<SummaryKey>();
      var frontier = new ArrayDeque<SummaryKey>();
      frontier.add(own);
      while (!frontier.isEmpty()) {
        for (var reader : readers.getOrDefault(frontier.poll(), List.of())) {
          if (members.add(reader)) {
            frontier.add(reader);
          }
        }
      }
      return members;
    }

    /** The same words for all members of a circle, by the names that these have for themselves. */
    private String describe(Set<SummaryKey> members) {
      var reads = new TreeMap<SummaryKey, Set<SummaryKey>>();
      for (var member : members) {
        var read = reads.computeIfAbsent(nameOf(member), name -> new LinkedHashSet<>());
        graph.getOrDefault(member, List.of()).stream()
            .filter(members::contains)
            .forEach(key -> read.add(nameOf(key)));
      }
      var path = simplePath(reads);
      var named = path != null ? path : reads.keySet();
      int more = named.size() - MAX_NAMED;
      return "reads go in "
          + (path != null ? "a circle: " : "circles among ")
          + named.stream()
              .limit(MAX_NAMED)
              .map(SummaryKey::toString)
              .collect(joining(path != null ? " -> " : ", "))
          + (more > 0 ? " and " + more + " more" : "")
          + argumentsOf(reads.keySet());
    }

    private SummaryKey nameOf(SummaryKey key) {
      return names.getOrDefault(key, key);
    }

    /** The way around from the first member to itself, if each reads just one other. */
    private static @Nullable List<SummaryKey> simplePath(
        SortedMap<SummaryKey, Set<SummaryKey>> reads) {
      var path = new ArrayList<SummaryKey>();
      var first = reads.firstKey();
      for (var at = first; path.isEmpty() || !at.equals(first); ) {
        path.add(at);
        var next = reads.getOrDefault(at, Set.of());
        if (next.size() != 1 || path.size() > reads.size()) {
          return null;
        }
        at = next.iterator().next();
      }
      path.add(first);
      return path;
    }

    /** Tells circles apart that differ in their members' arguments only. */
    private static String argumentsOf(Set<SummaryKey> members) {
      int hash = 1;
      for (var member : members) {
        hash = 31 * hash + Arrays.hashCode(member.arguments());
      }
      boolean none = members.stream().allMatch(member -> member.arguments().length == 0);
      return none ? "" : " (arguments " + Integer.toHexString(hash) + ")";
    }
  }
}
