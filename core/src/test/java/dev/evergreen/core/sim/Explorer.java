package dev.evergreen.core.sim;

import dev.evergreen.core.sim.Schedule.Deviation;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongPredicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Performs a small program in every order of steps, up to a bound: a stateless model checker, which
 * bounds how often a run deviates from the ordinary {@link Schedule} (Emmi, Qadeer and Rakamarić,
 * "Delay-bounded scheduling", POPL 2011; Musuvathi and Qadeer, "Iterative context bounding", PLDI
 * 2007).
 *
 * <p>Schedules with no deviation come first, then all with one, and so on; so what is found has as
 * few as there can be. Of those with several come first those whose last two are near each other.
 * When the limit is reached, those that were performed are spread evenly.
 *
 * <p><b>Equal states are cut off.</b> Whenever no thread can run, a schedule that has deviated for
 * the last time looks whether another one was in the same state, and ends there if so: what follows
 * would be the same, and those that deviate later are made of the other one. Two states are the
 * same if the same events with the same causes have led to them, in whatever order otherwise
 * ({@link History}), and the same is to come. This leaves out nothing within the bound: the other
 * schedule deviates as often or less, and it goes on, or is cut off in favour of a third one in a
 * later state. So the scheduler's own state must be equal, too; without that a bound is not kept
 * (Coons, Musuvathi and McKinley, "Bounded partial-order reduction", OOPSLA 2013).
 *
 * <p>What is performed depends on the program alone, however busy the machine is: a few at a time
 * are performed by several threads, and these are cut off by what was there before all of them.
 */
final class Explorer {

  /** What is explored. */
  interface Program {

    /**
     * Performs one schedule.
     *
     * @param isNew as {@link Schedule} takes it
     */
    Attempt perform(List<Deviation> deviations, LongPredicate isNew);
  }

  /** A part of the schedules with one deviation more. */
  private enum Part {
    NEAR,
    FAR
  }

  /** A performed schedule, which is the beginning of others. */
  private record Parent(List<Deviation> deviations, byte[] widths) {

    private int first(Part part) {
      int first = deviations.isEmpty() ? 0 : deviations.getLast().point() + 1;
      return part == Part.NEAR ? first : nearEnd(first);
    }

    private int end(Part part) {
      return part == Part.NEAR ? nearEnd(first(part)) : widths.length;
    }

    /** All are near the beginning of the schedule that has no deviation. */
    private int nearEnd(int first) {
      return deviations.isEmpty()
          ? widths.length
          : Math.max(first, Math.min(first + NEAR, widths.length));
    }

    long children(Part part) {
      long children = 0;
      for (int point = first(part); point < end(part); point++) {
        children += widths[point] - 1;
      }
      return children;
    }

    List<Deviation> child(Part part, long number) {
      long left = number;
      int point = first(part);
      while (left >= widths[point] - 1) {
        left -= widths[point++] - 1;
      }
      return Lists.append(deviations, new Deviation(point, (int) left + 1));
    }
  }

  /** How many decisions are between two deviations that are near each other, at most. */
  private static final int NEAR = 12;

  private static final long ORDINARY_PAIRS = 20;
  private static final int AT_A_TIME = 16;
  private static final int MOST_PARENTS = 20_000;
  private static final int MOST_STATES = 4_000_000;

  private final Program program;
  private final Limit limit;
  private final List<Parent> parents = new ArrayList<>();
  private final Set<Long> states = new HashSet<>();
  private long performed;
  private long cutOff;
  private boolean stopped;
  private boolean forgotten;
  private int whole;

  private Explorer(Program program, Limit limit) {
    this.program = program;
    this.limit = limit;
  }

  /** When an exploration ends at the latest. */
  interface Limit {

    /** Whether it ends before one more schedule with so many deviations is performed. */
    boolean over(int deviations, long performed);

    /**
     * What every test run has time for: all schedules with one deviation, however many these are,
     * and some of those with two that are near each other.
     */
    static Limit ordinary() {
      var pairs = new AtomicLong();
      return (deviations, performed) -> deviations > 1 && pairs.incrementAndGet() > ORDINARY_PAIRS;
    }

    static Limit schedules(long most) {
      return (deviations, performed) -> performed >= most;
    }

    static Limit nanos(long most) {
      long start = System.nanoTime();
      return (deviations, performed) -> System.nanoTime() - start >= most;
    }
  }

  /**
   * What came of one schedule.
   *
   * @param decided what was decided otherwise than ordinarily, for people
   * @param widths how many choices there were at each point
   * @param cutOff whether it ended in a state that another one was in
   */
  record Attempt(
      List<Deviation> deviations,
      List<String> decided,
      byte[] widths,
      boolean cutOff,
      @Nullable SimulationFailure failure) {

    Attempt(Schedule schedule, @Nullable SimulationFailure failure) {
      this(
          schedule.deviations(), schedule.decided(), schedule.widths(), schedule.cutOff(), failure);
    }

    /** The same without a failure in which this is not said. */
    Attempt ifFailed(String by) {
      return failure == null || String.valueOf(failure.getMessage()).contains(by)
          ? this
          : new Attempt(deviations, decided, widths, cutOff, null);
    }
  }

  /**
   * What came of an exploration.
   *
   * @param performed how many schedules were performed
   * @param cutOff how many of them ended in a state that another one was in
   * @param whole up to how many deviations there is no schedule that was not performed
   * @param all whether there is none at all
   */
  record Findings(long performed, long cutOff, int whole, boolean all, @Nullable Attempt failure) {

    boolean failed() {
      return failure != null;
    }

    @Override
    public String toString() {
      if (failure == null) {
        return performed
            + " schedules, of which "
            + cutOff
            + " came to a state of another one; all"
            + (all ? " that there are" : " with up to " + whole + " deviations");
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
  static Findings explore(Program program, Limit limit) throws InterruptedException {
    return new Explorer(program, limit).explore();
  }

  private Findings explore() throws InterruptedException {
    var failure = perform(List.of(List.of()));
    var level = List.copyOf(parents);
    for (int deviations = 1; failure == null && !stopped && !level.isEmpty(); deviations++) {
      parents.clear();
      // What was forgotten was the beginning of some of these.
      boolean some = forgotten;
      failure = performChildren(level, deviations);
      whole = failure != null || stopped || some ? whole : deviations;
      level = List.copyOf(parents);
    }
    boolean all = failure == null && !stopped && !forgotten;
    return new Findings(performed, cutOff, whole, all, failure);
  }

  private @Nullable Attempt performChildren(List<Parent> level, int deviations)
      throws InterruptedException {
    for (var part : Part.values()) {
      var failure = performChildren(level, deviations, part);
      if (failure != null || stopped) {
        return failure;
      }
    }
    return null;
  }

  private @Nullable Attempt performChildren(List<Parent> level, int deviations, Part part)
      throws InterruptedException {
    var starts = new long[level.size()];
    long count = 0;
    for (int i = 0; i < starts.length; i++) {
      starts[i] = count;
      count += level.get(i).children(part);
    }
    long total = count;
    long stride = stride(total);
    for (long first = 0; first < total && !stopped; first += AT_A_TIME) {
      var some = new ArrayList<List<Deviation>>(AT_A_TIME);
      long end = Math.min(first + AT_A_TIME, total);
      for (long number = first; number < end && !stopped; number++) {
        stopped = limit.over(deviations, performed + some.size());
        if (!stopped) {
          some.add(child(level, part, starts, Math.floorMod(number * stride, total)));
        }
      }
      var failure = perform(some);
      if (failure != null) {
        return failure;
      }
    }
    return null;
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

  private static List<Deviation> child(List<Parent> level, Part part, long[] starts, long number) {
    int found = Arrays.binarySearch(starts, number);
    int parent = found >= 0 ? lastWith(starts, found) : -found - 2;
    return level.get(parent).child(part, number - starts[parent]);
  }

  /** Performs schedules; returns what came of the first that failed. */
  private @Nullable Attempt perform(List<List<Deviation>> schedules) throws InterruptedException {
    var attempts = new Attempt[schedules.size()];
    var seen = new ArrayList<Set<Long>>();
    schedules.forEach(schedule -> seen.add(new HashSet<>()));
    Seeds.<Attempt>failures(
        0,
        attempts.length,
        attempts.length,
        number -> {
          int i = (int) number;
          var own = seen.get(i);
          attempts[i] = program.perform(schedules.get(i), state -> isNew(state, own));
          return null;
        });
    @Nullable Attempt failure = null;
    for (int i = 0; i < attempts.length; i++) {
      var attempt = Objects.requireNonNull(attempts[i], "a schedule came to no end");
      note(attempt, seen.get(i));
      failure = failure != null || attempt.failure() == null ? failure : attempt;
    }
    return failure;
  }

  /** Whoever is told that a state is new goes on from there, and so may others beside it. */
  private boolean isNew(long state, Set<Long> own) {
    return !states.contains(state) && own.add(state);
  }

  private static int lastWith(long[] starts, int index) {
    int last = index;
    while (last + 1 < starts.length && starts[last + 1] == starts[index]) {
      last++;
    }
    return last;
  }

  private void note(Attempt attempt, Set<Long> seen) {
    performed++;
    cutOff += attempt.cutOff() ? 1 : 0;
    if (states.size() < MOST_STATES) {
      states.addAll(seen);
    }
    var parent = new Parent(attempt.deviations(), attempt.widths());
    if (parents.size() < MOST_PARENTS) {
      parents.add(parent);
    } else {
      forgotten |= parent.children(Part.NEAR) > 0;
    }
  }
}
