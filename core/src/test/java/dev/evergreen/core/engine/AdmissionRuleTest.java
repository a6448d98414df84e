package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.work.Tasks;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The rule of {@link Admission}, without nodes and threads: random chains enter and leave a few
 * places, and after every step the rule's promises are looked for.
 */
class AdmissionRuleTest {

  private static final int SEEDS = Integer.getInteger("evergreen.admission.seeds", 300);
  private static final int STEPS = 400;
  private static final int MOST_CHAINS = 12;
  private static final int MOST_DEEP = 6;

  /**
   * A call chain, or a branch of one: the turns that it is inside of, and the one that it waits
   * for, if it waits. It does not go on either while it has branches.
   */
  private static final class CallChain {
    final @Nullable CallChain parent;
    final List<CallChain> branches = new ArrayList<>();
    final List<Member> members = new ArrayList<>();

    CallChain(@Nullable CallChain parent) {
      this.parent = parent;
    }

    Member top() {
      return members.getLast();
    }

    boolean waits() {
      return !members.isEmpty() && !top().room.isInside(top());
    }

    boolean runs() {
      return branches.isEmpty() && !waits();
    }

    CallChain root() {
      return parent == null ? this : parent.root();
    }

    /** The turns that have led to where it is, the first one first. */
    List<Member> way() {
      var way = parent == null ? new ArrayList<Member>() : parent.way();
      way.addAll(members);
      return way;
    }

    boolean isAt(Admission<Member> place) {
      return way().stream().anyMatch(member -> member.room == place);
    }

    @Override
    public String toString() {
      return members + (branches.isEmpty() ? "" : " then " + branches);
    }
  }

  private final class Member extends Admission.Entrant<Member> {
    final CallChain chain;
    final Admission<Member> room;
    final boolean readOnly;

    /** The turns that have led to this one. */
    final List<Member> way;

    long began;

    Member(CallChain chain, Admission<Member> place, boolean readOnly, long began) {
      this.chain = chain;
      this.room = place;
      this.readOnly = readOnly;
      this.began = began;
      this.way = chain.way();
    }

    @Override
    boolean readOnly() {
      return readOnly;
    }

    @Override
    long began() {
      return way.stream().mapToLong(member -> member.began).reduce(began, Math::min);
    }

    @Override
    void hasten(long older, Tasks next) {
      if (older < began) {
        began = older;
        room.hastened(this, next);
        waiting.stream()
            .filter(other -> other.way.contains(this))
            .forEach(other -> next.add(then -> other.hasten(older, then)));
      }
    }

    boolean excludes(Member other) {
      return !(readOnly && other.readOnly);
    }

    /** Whether its chain is inside already, and waits there for this turn. */
    boolean comesBack() {
      return way.stream().anyMatch(member -> member.room == room);
    }

    /** Others that have come back, for another call, and that exclude this one. */
    List<Member> besideIt() {
      return room.inside().stream()
          .filter(other -> other.comesBack() && other.excludes(this) && !way.contains(other))
          .toList();
    }

    @Override
    public String toString() {
      return (readOnly ? "reads " : "writes ") + places.indexOf(room) + " since " + began();
    }
  }

  private final List<Admission<Member>> places = new ArrayList<>();
  private final List<CallChain> chains = new ArrayList<>();
  private final List<Member> waiting = new ArrayList<>();
  private final Tasks tasks = new Tasks();
  private SplittableRandom random = new SplittableRandom(0);
  private long time;
  private int deadlocks;
  private boolean comesBack;
  private int heldUp;

  // One place

  private static final class Fixed extends Admission.Entrant<Fixed> {
    private final boolean readOnly;
    private final long began;
    private long hastened = Long.MAX_VALUE;

    Fixed(boolean readOnly, long began) {
      this.readOnly = readOnly;
      this.began = began;
    }

    @Override
    boolean readOnly() {
      return readOnly;
    }

    @Override
    long began() {
      return Math.min(began, hastened);
    }

    @Override
    void hasten(long older, Tasks next) {
      hastened = older;
    }
  }

  @Test
  void theOldestEntersFirstAndReadsAreInsideTogether() {
    var admission = new Admission<Fixed>();
    var tasks = new Tasks();
    var inside = new Fixed(true, 5);
    admission.await(inside, tasks);
    assertEquals(inside, admission.next());
    admission.enter(inside);
    var write = new Fixed(false, 6);
    var youngRead = new Fixed(true, 7);
    var oldRead = new Fixed(true, 4);
    admission.await(youngRead, tasks);
    admission.await(write, tasks);
    admission.await(oldRead, tasks);
    assertEquals(3, admission.waiting());
    assertEquals(oldRead, admission.next());
    admission.enter(oldRead);
    assertNull(admission.next());
    assertTrue(admission.leave(inside));
    assertTrue(admission.leave(oldRead));
    assertEquals(write, admission.next());
    admission.enter(write);
    assertTrue(admission.isWritten());
    assertNull(admission.next());
    admission.leave(write);
    assertEquals(youngRead, admission.next());
    assertTrue(admission.withdraw(youngRead));
    assertNull(admission.next());
    assertTrue(admission.isEmpty());
    assertFalse(admission.leave(youngRead));
  }

  @Test
  void turnsOfOneAgeDoNotWaitForEachOthersPlace() {
    var admission = new Admission<Fixed>();
    var tasks = new Tasks();
    admission.enter(new Fixed(true, 1));
    admission.await(new Fixed(false, 2), tasks);
    var read = new Fixed(true, 2);
    admission.await(read, tasks);
    admission.await(new Fixed(true, 3), tasks);
    assertEquals(read, admission.next());
    admission.enter(read);
    assertNull(admission.next());
  }

  @Test
  void whoIsInsideBecomesAsOldAsWhoWaits() {
    var admission = new Admission<Fixed>();
    var tasks = new Tasks();
    var inside = new Fixed(false, 5);
    admission.enter(inside);
    admission.await(new Fixed(true, 6), tasks);
    assertNull(tasks.poll());
    admission.await(new Fixed(true, 3), tasks);
    var task = Objects.requireNonNull(tasks.poll());
    task.run(tasks);
    assertEquals(3, inside.began());
    assertNull(tasks.poll());
  }

  // Many places

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void chainsNeverWaitInACircleForTheirPlacesOnly(boolean tiesInAge) {
    for (int seed = 0; seed < SEEDS; seed++) {
      run(seed, tiesInAge);
    }
    assertTrue(deadlocks > 0, "writes that write each other must occur");
  }

  /** Chains branch, and come back to where they are inside, as they may if that is re-entrant. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void norDoThoseThatComeBackInSeveralBranches(boolean tiesInAge) {
    comesBack = true;
    for (int seed = 0; seed < SEEDS; seed++) {
      run(seed, tiesInAge);
    }
    assertTrue(heldUp > 0, "some must wait for others that came back");
  }

  private void run(int seed, boolean tiesInAge) {
    random = new SplittableRandom(seed);
    places.clear();
    int count = 2 + random.nextInt(4);
    for (int i = 0; i < count; i++) {
      places.add(new Admission<>());
    }
    for (int step = 0; step < STEPS; step++) {
      time += tiesInAge ? random.nextInt(2) : 1;
      step(step < STEPS / 2);
      settle();
      check(seed, step);
    }
    while (!chains.isEmpty()) {
      step(false);
      settle();
      check(seed, STEPS);
    }
    assertTrue(places.stream().allMatch(Admission::isEmpty));
  }

  private void step(boolean begins) {
    var running = chains.stream().filter(CallChain::runs).toList();
    if (begins && chains.size() < MOST_CHAINS && random.nextInt(3) == 0) {
      var chain = new CallChain(null);
      chains.add(chain);
      call(chain, any(places), random.nextInt(3) > 0, time);
    } else if (running.isEmpty()) {
      // Only time limits go on from here.
      deadlocks += chains.isEmpty() ? 0 : 1;
      if (!chains.isEmpty()) {
        giveUp(any(chains));
      }
    } else {
      goOn(any(running));
    }
  }

  private void goOn(CallChain chain) {
    var open = places.stream().filter(place -> comesBack || !chain.isAt(place)).toList();
    boolean deep = chain.way().size() > MOST_DEEP;
    if (!open.isEmpty() && !deep && random.nextInt(2) == 0) {
      if (comesBack && random.nextInt(3) == 0) {
        branch(chain, open);
      } else {
        callAny(chain, chain.top(), open);
      }
    } else if (random.nextInt(20) == 0) {
      giveUp(chain);
    } else {
      leave(chain);
    }
  }

  private void branch(CallChain chain, List<Admission<Member>> open) {
    var caller = chain.top();
    for (int i = 0; i < 2; i++) {
      var branch = new CallChain(chain);
      chain.branches.add(branch);
      chains.add(branch);
      callAny(branch, caller, open);
    }
  }

  private void callAny(CallChain chain, Member caller, List<Admission<Member>> open) {
    call(chain, any(open), caller.readOnly || random.nextBoolean(), Long.MAX_VALUE);
  }

  private void call(CallChain chain, Admission<Member> place, boolean reads, long began) {
    var member = new Member(chain, place, reads, began);
    chain.members.add(member);
    if (member.comesBack() && member.besideIt().isEmpty()) {
      checkMayComeBack(member);
      place.enter(member);
    } else {
      heldUp += member.comesBack() ? 1 : 0;
      waiting.add(member);
      place.await(member, tasks);
    }
  }

  private void leave(CallChain chain) {
    var member = chain.members.removeLast();
    assertTrue(member.room.leave(member));
    if (chain.members.isEmpty()) {
      end(chain);
    }
  }

  private void end(CallChain chain) {
    chains.remove(chain);
    if (chain.parent != null) {
      chain.parent.branches.remove(chain);
    }
  }

  /** A time limit ends what waits, and then everything. */
  private void giveUp(CallChain chain) {
    List.copyOf(chain.branches).forEach(this::giveUp);
    if (chain.waits()) {
      var member = chain.members.removeLast();
      assertTrue(member.room.withdraw(member));
      waiting.remove(member);
    }
    while (!chain.members.isEmpty()) {
      leave(chain);
    }
    end(chain);
  }

  private <T> T any(List<T> list) {
    return list.get(random.nextInt(list.size()));
  }

  /** Ages are passed on, and all enter who may. */
  private void settle() {
    boolean changed = true;
    while (changed) {
      changed = false;
      for (var task = tasks.poll(); task != null; task = tasks.poll()) {
        task.run(tasks);
        changed = true;
      }
      for (var member : List.copyOf(waiting)) {
        if (member.comesBack() && member.besideIt().isEmpty()) {
          checkMayComeBack(member);
          member.room.enter(member);
          waiting.remove(member);
          changed = true;
        }
      }
      for (var place : places) {
        for (var next = place.next(); next != null; next = place.next()) {
          checkMayEnter(next);
          place.enter(next);
          waiting.remove(next);
          changed = true;
        }
      }
    }
  }

  /** Whoever excludes it and is inside waits for it. */
  private void checkMayComeBack(Member entering) {
    for (var inside : entering.room.inside()) {
      assertTrue(
          !entering.excludes(inside) || entering.way.contains(inside),
          () -> entering + " comes back beside " + inside);
    }
  }

  private void checkMayEnter(Member entering) {
    for (var inside : entering.room.inside()) {
      assertFalse(entering.excludes(inside), () -> entering + " enters beside " + inside);
    }
    for (var other : waiting) {
      assertFalse(
          waitsForPlaceOf(entering, other), () -> entering + " passes " + other + " in " + chains);
    }
  }

  private boolean waitsForPlaceOf(Member member, Member other) {
    return other.room == member.room
        && waiting.contains(other)
        && other.began() < member.began()
        && other.excludes(member);
  }

  private void check(int seed, int step) {
    for (var member : waiting) {
      assertTrue(
          waitsFor(member, true).size() > 0,
          () -> "seed " + seed + ", step " + step + ": " + member + " waits for nothing");
      var families = waitsFor(member, false).stream().map(CallChain::root).toList();
      for (var other : waitsFor(member, true)) {
        if (!families.contains(other.root())) {
          assertFalse(
              leadsBack(other, member.chain),
              () -> "seed " + seed + ", step " + step + ": a circle by order, " + chains);
        }
      }
    }
  }

  /**
   * The chains that a waiting turn waits for; with those that are merely before it in the order.
   */
  private Set<CallChain> waitsFor(Member member, boolean order) {
    var others = new LinkedHashSet<CallChain>();
    if (member.comesBack()) {
      member.besideIt().forEach(other -> others.add(other.chain));
      return others;
    }
    for (var inside : member.room.inside()) {
      if (inside.excludes(member)) {
        others.add(inside.chain);
      }
    }
    if (order) {
      waiting.stream()
          .filter(other -> waitsForPlaceOf(member, other))
          .forEach(other -> others.add(other.chain));
    }
    return others;
  }

  private boolean leadsBack(CallChain from, CallChain to) {
    var seen = new LinkedHashSet<CallChain>();
    var open = new ArrayDeque<CallChain>(List.of(from));
    for (@Nullable CallChain chain = open.poll(); chain != null; chain = open.poll()) {
      if (chain == to) {
        return true;
      }
      if (seen.add(chain)) {
        open.addAll(chain.branches);
        if (chain.waits()) {
          open.addAll(waitsFor(chain.top(), true));
        }
      }
    }
    return false;
  }
}
