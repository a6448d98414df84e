package dev.evergreen.core.sim;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.function.LongPredicate;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One run's decisions: everywhere the ordinary one, but at a few points.
 *
 * <p>Every decision is a choice out of some, numbered in the order in which the run comes to them;
 * choice 0 is the ordinary one: a thread goes on until it waits, then the one that is ready for
 * longest; messages arrive after all that is ready; nothing is late, repeated or lost. So the
 * deviations alone say what happens, in every process.
 */
final class Schedule implements Policy {

  /**
   * Another decision than the ordinary one.
   *
   * @param point the number of the decision
   * @param choice what is decided; not 0
   */
  record Deviation(int point, int choice) {

    static List<Deviation> parse(String text) {
      return text.lines()
          .flatMap(line -> List.of(line.split(",")).stream())
          .filter(part -> !part.isBlank())
          .map(part -> part.strip().split(":"))
          .map(part -> new Deviation(Integer.parseInt(part[0]), Integer.parseInt(part[1])))
          .toList();
    }

    static String text(List<Deviation> deviations) {
      return deviations.stream().map(Deviation::toString).collect(Collectors.joining(","));
    }

    @Override
    public String toString() {
      return point + ":" + choice;
    }
  }

  /** How long a thread gets no processor, and a late message is under way. */
  static final long LONG = Duration.ofSeconds(4).toNanos();

  private static final long TRAVEL = Duration.ofMillis(1).toNanos();
  private static final long MAX_STEPS = 200_000;

  private final List<Deviation> deviations;
  private final boolean loses;
  private final LongPredicate isNew;
  private final History history = new History();
  private final List<String> decided = new ArrayList<>();
  private final List<Byte> widths = new ArrayList<>();
  private final Set<SimThread> held = new HashSet<>();
  private @Nullable SimThread last;
  private long heldNames;
  private boolean over;
  private boolean delays;
  private boolean cutOff;

  /**
   * @param loses whether messages may be lost
   * @param isNew whether no run was in a state that has this number. The run ends where it is not:
   *     the other goes on for both
   */
  Schedule(List<Deviation> deviations, boolean loses, LongPredicate isNew) {
    this.deviations = deviations;
    this.loses = loses;
    this.isNew = isNew;
  }

  List<Deviation> deviations() {
    return deviations;
  }

  /** From now on all decisions are the ordinary ones. */
  void end() {
    over = true;
  }

  /** How many choices there were at each point, in order. */
  byte[] widths() {
    var all = new byte[widths.size()];
    for (int i = 0; i < all.length; i++) {
      all[i] = widths.get(i);
    }
    return all;
  }

  /** What was decided otherwise, for people. */
  List<String> decided() {
    return decided;
  }

  /** Whether it ended in a state that another run was in. */
  boolean cutOff() {
    return cutOff;
  }

  /** Whether anything was delayed or lost up to now. */
  boolean delays() {
    history.touchAll();
    return delays;
  }

  /** Something is delayed by what is performed. */
  void delay() {
    history.touchAll();
    delays = true;
  }

  /** Does something in the ordinary order, which is no part of what is explored. */
  void interrupt(Runnable task) {
    boolean before = over;
    over = true;
    history.alone(true);
    task.run();
    history.alone(before);
    over = before;
  }

  /** A decision of what a step does: a number below {@code width}. */
  int choose(int width, IntFunction<String> what) {
    int choice = decide(width, what);
    history.choose(choice);
    return choice;
  }

  /** A decision: a number below {@code width}. */
  private int decide(int width, IntFunction<String> what) {
    if (over || width < 2) {
      return 0;
    }
    int point = widths.size();
    widths.add((byte) Math.min(width, Byte.MAX_VALUE));
    if (decided.size() < deviations.size() && deviations.get(decided.size()).point == point) {
      int choice = Math.min(deviations.get(decided.size()).choice, width - 1);
      decided.add(what.apply(choice));
      return choice;
    }
    return 0;
  }

  /** What becomes of a message. */
  List<SimNetwork.Copy> post() {
    var inTime = new SimNetwork.Copy(TRAVEL, true);
    int choice = choose(loses ? 5 : 4, Schedule::postText);
    if (choice > 0) {
      delay();
    }
    return switch (choice) {
      case 0 -> List.of(inTime);
      case 1 -> List.of(new SimNetwork.Copy(20 * TRAVEL, false));
      case 2 -> List.of(new SimNetwork.Copy(LONG, false));
      case 3 -> List.of(inTime, new SimNetwork.Copy(LONG, false));
      default -> List.of();
    };
  }

  /** What becomes of a save. */
  SimStorage.Fate save() {
    return switch (choose(3, Schedule::saveText)) {
      case 0 -> SimStorage.Fate.DONE;
      case 1 -> SimStorage.Fate.FAILS;
      default -> SimStorage.Fate.DONE_BUT_FAILS;
    };
  }

  private static String saveText(int choice) {
    return choice == 1 ? "a save fails" : "a save takes effect, and is told to have failed";
  }

  private static String postText(int choice) {
    return switch (choice) {
      case 1 -> "a message is overtaken";
      case 2 -> "a message is late";
      case 3 -> "a message arrives again, late";
      default -> "a message is lost";
    };
  }

  @Override
  public Next next(List<SimThread> runnable, boolean due) {
    if (runnable.isEmpty()) {
      last = null;
      return Happen.EVENT;
    }
    var order = new ArrayList<>(runnable);
    order.sort(Comparator.comparing((SimThread t) -> t != last).thenComparing(t -> t.ready));
    int threads = order.size();
    var first = order.getFirst();
    // Once only, or else it could be held for ever.
    boolean holds = !held.contains(first);
    int choice = decide(threads + (due ? 1 : 0) + (holds ? 1 : 0), c -> text(order, due, c));
    if (choice < threads) {
      last = order.get(choice);
      return new Resume(runnable.indexOf(last));
    }
    if (due && choice == threads) {
      last = null;
      return Happen.EVENT;
    }
    held.add(first);
    heldNames += History.mix(first.identity, 1);
    delays = true;
    history.mark();
    return new Hold(runnable.indexOf(first), LONG);
  }

  private static String text(List<SimThread> order, boolean due, int choice) {
    var first = order.getFirst();
    if (choice < order.size()) {
      return order.get(choice) + " runs before " + first;
    }
    return due && choice == order.size()
        ? "what is due happens before " + first + " goes on"
        : first + " gets no processor for long";
  }

  @Override
  public History history() {
    return history;
  }

  @Override
  public boolean endsAtRest(LongSupplier state) {
    last = null;
    if (over || decided.size() < deviations.size()) {
      return false;
    }
    long delayed = History.mix(heldNames, delays ? 1 : 0);
    cutOff = !isNew.test(History.mix(state.getAsLong(), delayed));
    return cutOff;
  }

  @Override
  public long maxSteps() {
    return MAX_STEPS;
  }

  @Override
  public long stepNanos() {
    return 0;
  }

  @Override
  public boolean wakesWithoutReason() {
    return false;
  }

  @Override
  public boolean preempts() {
    return !over;
  }

  @Override
  public boolean preemptsOneIn(int places) {
    return !over;
  }

  @Override
  public void started(SimThread thread) {}

  @Override
  public long horizonNanos() {
    return over ? 0 : TRAVEL;
  }
}
