package dev.evergreen.core;

import dev.evergreen.core.Cache.Dependent;
import dev.evergreen.core.spi.SummaryKey;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
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
 * <p><b>How.</b> On the {@linkplain Circles map of the graph} that all suspects of a process share.
 * An edge is listed there from before its value is returned, also that of a run under way: of the
 * members of a circle, the last to be judged sees the edges of all.
 */
final class CycleSearch {

  /** What reads nothing has this depth, and is in no circle. */
  private static final int LEAF = 1;

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
  private final Circles circles;
  private final Map<CallKey, Set<Wait>> waits = new ConcurrentHashMap<>();

  CycleSearch(Base base, Caches caches) {
    this.base = base;
    this.circles = new Circles(base, caches);
  }

  /** What those end with that wait in a circle; counts it. */
  Outcome.Threw found(Collection<String> path) {
    base.observer().circleFound();
    return Circles.failure("reads go in a circle: " + String.join(" -> ", path));
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
   * Whether a summary is in a circle by what a run of it has read. Blocks while publishers are
   * asked.
   *
   * @param rank how deep the summary is when it is in no circle
   * @param readsMember whether it has read a member of a circle, as far as that knows: that may be
   *     one of another life, and fail in the same way again when the graph is another
   * @return to be {@linkplain Circles.Suspect#forget forgotten} by whoever does not keep it; null
   *     if it is in no circle, and in none later unless it becomes suspicious again
   */
  Circles.@Nullable Suspect judge(
      Dependent summary, CallKey own, List<Graph.Read> reads, int rank, boolean readsMember) {
    var suspect = circles.judge(summary, own.wire(), reads, Math.max(rank, LEAF + 1), readsMember);
    if (suspect != null && suspect.circle() != null) {
      base.observer().circleFound();
    }
    return suspect;
  }

  /** Whether a run that waits for {@code cache} waits for itself, on any node. */
  Outcome.@Nullable Threw waiting(Scope scope, Dependent summary, CallKey own, Cache cache) {
    var name = own.wire();
    var circle =
        circles.waiting(scope, summary, name, cache.key().wire(), key -> !outranks(key, name));
    if (circle != null) {
      base.observer().circleFound();
    }
    return circle;
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
}
