package dev.evergreen.core.sim;

import dev.evergreen.core.sim.Schedule.Deviation;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.function.LongFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Performs a small program in every order of steps, up to a bound: a stateless model checker, which
 * bounds how often a run deviates from the ordinary {@link Schedule} (Emmi, Qadeer and Rakamarić,
 * "Delay-bounded scheduling", POPL 2011; Musuvathi and Qadeer, "Iterative context bounding", PLDI
 * 2007).
 *
 * <p>Schedules with no deviation come first, then all with one, and so on; so what is found has as
 * few as there can be. When the limit is reached within a level, those that were performed are
 * spread evenly over it.
 */
final class Explorer {

  /** A performed schedule, which is the beginning of others. */
  private record Parent(List<Deviation> deviations, byte[] widths) {
    int first() {
      return deviations.isEmpty() ? 0 : deviations.getLast().point() + 1;
    }

    long children() {
      long children = 0;
      for (int point = first(); point < widths.length; point++) {
        children += widths[point] - 1;
      }
      return children;
    }

    List<Deviation> child(long number) {
      long left = number;
      int point = first();
      while (left >= widths[point] - 1) {
        left -= widths[point++] - 1;
      }
      return Lists.append(deviations, new Deviation(point, (int) left + 1));
    }
  }

  private static final int MOST_PARENTS = 20_000;

  private final Function<List<Deviation>, Attempt> program;
  private final Limit limit;
  private final List<Parent> parents = new ArrayList<>();
  private volatile long performed;
  private int exhausted = -1;

  private Explorer(Function<List<Deviation>, Attempt> program, Limit limit) {
    this.program = program;
    this.limit = limit;
  }

  /** When an exploration ends at the latest. */
  interface Limit {

    /** Whether it ends after so many schedules. */
    boolean over(long performed);

    static Limit schedules(long most) {
      return performed -> performed >= most;
    }

    static Limit nanos(long most) {
      long start = System.nanoTime();
      return performed -> System.nanoTime() - start >= most;
    }
  }

  /**
   * What came of one schedule.
   *
   * @param decided what was decided otherwise than ordinarily, for people
   * @param widths how many choices there were at each point
   */
  record Attempt(
      List<Deviation> deviations,
      List<String> decided,
      byte[] widths,
      @Nullable SimulationFailure failure) {

    Attempt(Schedule schedule, @Nullable SimulationFailure failure) {
      this(schedule.deviations(), schedule.decided(), schedule.widths(), failure);
    }
  }

  /**
   * What came of an exploration.
   *
   * @param performed how many schedules were performed
   * @param exhausted up to how many deviations all schedules were performed; -1 for none
   */
  record Findings(long performed, int exhausted, @Nullable Attempt failure) {

    boolean failed() {
      return failure != null;
    }

    @Override
    public String toString() {
      if (failure == null) {
        return performed + " schedules, all of those with up to " + exhausted + " deviations";
      }
      return failure.failure()
          + "\n  in schedule "
          + Deviation.text(failure.deviations())
          + ", found after "
          + performed
          + failure.decided().stream().map(s -> "\n    " + s).collect(Collectors.joining());
    }
  }

  /** Explores a program until a schedule fails, or there are no more, or the limit is reached. */
  static Findings explore(Function<List<Deviation>, Attempt> program, Limit limit)
      throws InterruptedException {
    return new Explorer(program, limit).explore();
  }

  private Findings explore() throws InterruptedException {
    var root = program.apply(List.of());
    performed = 1;
    if (root.failure() != null) {
      return new Findings(performed, exhausted, root);
    }
    exhausted = 0;
    var level = List.of(new Parent(List.of(), root.widths()));
    while (true) {
      parents.clear();
      var failure = performChildren(level);
      if (failure != null) {
        return new Findings(performed, exhausted, failure);
      }
      if (limit.over(performed) || parents.isEmpty()) {
        return new Findings(performed, exhausted, null);
      }
      exhausted++;
      level = List.copyOf(parents);
    }
  }

  private @Nullable Attempt performChildren(List<Parent> level) throws InterruptedException {
    var starts = new long[level.size()];
    long count = 0;
    for (int i = 0; i < starts.length; i++) {
      starts[i] = count;
      count += level.get(i).children();
    }
    long total = count;
    long stride = stride(total);
    LongFunction<@Nullable Attempt> run =
        number -> performChild(level, starts, Math.floorMod(number * stride, total));
    var failures = Seeds.<Attempt>failures(0, total, 1, run);
    return failures.isEmpty() ? null : failures.getFirst();
  }

  /** A step by which every number below {@code total} is come to, those near each other late. */
  private static long stride(long total) {
    long stride = Math.max(1, (long) (total * 0.618));
    while (gcd(stride, total) != 1) {
      stride++;
    }
    return stride;
  }

  private static long gcd(long a, long b) {
    return b == 0 ? a : gcd(b, a % b);
  }

  private @Nullable Attempt performChild(List<Parent> level, long[] starts, long number) {
    if (limit.over(performed)) {
      return null;
    }
    int found = Arrays.binarySearch(starts, number);
    int parent = found >= 0 ? lastWith(starts, found) : -found - 2;
    var deviations = level.get(parent).child(number - starts[parent]);
    var attempt = program.apply(deviations);
    note(attempt);
    return attempt.failure() == null ? null : attempt;
  }

  private static int lastWith(long[] starts, int index) {
    int last = index;
    while (last + 1 < starts.length && starts[last + 1] == starts[index]) {
      last++;
    }
    return last;
  }

  private synchronized void note(Attempt attempt) {
    performed++;
    if (parents.size() < MOST_PARENTS) {
      parents.add(new Parent(attempt.deviations(), attempt.widths()));
    }
  }
}
