package dev.evergreen.core.sim;

import dev.evergreen.core.CycleException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Judges the circles of formulas that are told: each member has at some time had one program by
 * which it reads what it is said to read. What a formula reads by one program and what it reads by
 * the next make no circle together.
 */
final class Circles {

  /** With more ways than these to choose a program for each member, a circle is not judged. */
  private static final long MOST_CHOICES = 5_000;

  private static final Pattern TOLD =
      Pattern.compile("reads go in (a circle: |circles among )(.*)");
  private static final Pattern MEMBER = Pattern.compile("(\\w+)/(\\w+)\\.\\w+\\([^)]*\\)");

  /** What each formula has read, by each of its programs. */
  private final Map<Long, Set<Set<Long>>> reads = new LinkedHashMap<>();

  /** A formula may have this program. */
  void note(long formula, List<Step> program) {
    var read = new HashSet<Long>();
    program.forEach(step -> references(step, formula).forEach(read::add));
    reads.computeIfAbsent(formula, key -> new LinkedHashSet<>()).add(read);
  }

  private static Stream<Long> references(Step step, long self) {
    return switch (step) {
      case Step.Add(var ref) -> formula(ref);
      case Step.AddAll(var refs) -> refs.stream().flatMap(Circles::formula);
      case Step.AddAllOr(var refs, long otherwise) -> refs.stream().flatMap(Circles::formula);
      case Step.SkipIfOdd(var ref, int steps) -> formula(ref);
      case Step.AddOr(var ref, long otherwise) -> formula(ref);
      case Step.AddWithin(var ref, long nanos, long otherwise) -> formula(ref);
      case Step.AddOwn own -> Stream.of(self);
      case Step.FailIfOdd any -> Stream.of();
      case Step.Wait any -> Stream.of();
      case Step.WaitOr any -> Stream.of();
      case Step.OnlyFor any -> Stream.of();
      case Step.Times any -> Stream.of();
    };
  }

  private static Stream<Long> formula(Ref ref) {
    return ref instanceof Ref.OfFormula(long key, int argument, var aspect)
        ? Stream.of(key)
        : Stream.of();
  }

  /** Whether a circle may have been there. */
  boolean mayHaveBeen(CycleException told) {
    var text = TOLD.matcher(String.valueOf(told.getMessage()));
    if (!text.find()) {
      return true; // of a chain of calls
    }
    var members = new ArrayList<Long>();
    for (var member = MEMBER.matcher(text.group(2)); member.find(); ) {
      if (!member.group(1).equals("Formula")) {
        return true;
      }
      members.add(Long.parseLong(member.group(2)));
    }
    if (text.group(1).startsWith("a ")) {
      return isPath(members);
    }
    // Of members that differ in what they are asked it is not told who reads which.
    var all = List.copyOf(new LinkedHashSet<>(members));
    return all.size() < members.size() || areCircles(all);
  }

  private boolean isPath(List<Long> path) {
    for (int i = 0; i + 1 < path.size(); i++) {
      long next = path.get(i + 1);
      if (programs(path.get(i)).stream().noneMatch(read -> read.contains(next))) {
        return false;
      }
    }
    return true;
  }

  private Set<Set<Long>> programs(long formula) {
    return reads.getOrDefault(formula, Set.of());
  }

  private boolean areCircles(List<Long> members) {
    long choices = 1;
    for (long member : members) {
      choices *= programs(member).size();
      if (choices > MOST_CHOICES) {
        return true;
      }
    }
    return choose(members, 0, new LinkedHashMap<>());
  }

  private boolean choose(List<Long> members, int next, Map<Long, Set<Long>> chosen) {
    if (next == members.size()) {
      // In a simple circle each would read one other, and it would be told otherwise.
      return members.stream().allMatch(member -> reached(member, chosen).containsAll(members))
          && chosen.values().stream()
              .anyMatch(read -> members.stream().filter(read::contains).count() > 1);
    }
    for (var read : programs(members.get(next))) {
      chosen.put(members.get(next), read);
      if (choose(members, next + 1, chosen)) {
        return true;
      }
    }
    return false;
  }

  /** All that one reads, directly or through others; itself only if it is in a circle. */
  static <T> Set<T> reached(T from, Map<T, ? extends Set<T>> reads) {
    var reached = new LinkedHashSet<T>();
    var frontier = new ArrayDeque<T>();
    frontier.add(from);
    while (!frontier.isEmpty()) {
      var read = reads.get(frontier.removeLast());
      if (read != null) {
        read.stream().filter(reached::add).forEach(frontier::add);
      }
    }
    return reached;
  }
}
