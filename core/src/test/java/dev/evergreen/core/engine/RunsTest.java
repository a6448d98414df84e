package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.work.Tasks;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Which runs begin, and for how long a write waits for them, by a clock that the test sets. */
class RunsTest {

  private static final long MILLI = HandClock.MILLI;
  private static final long LONGEST = 100;

  private final WiredNodes wired = new WiredNodes(WiredNodes.id("a"));
  private final Propagation parts =
      ((LiveComputation<Integer>)
              wired.start(WiredNodes.id("a"), NodeSettings.DEFAULT).reactive(() -> 1))
          .root()
          .parts;
  private final HandClock clock = new HandClock();
  private final Runs runs = new Runs(clock.workers(), Duration.ofMillis(LONGEST));
  private final Watched one = new Watched();
  private final Watched other = new Watched();

  @AfterEach
  void stop() {
    wired.close();
  }

  /** What runs when it is marked. */
  private final class Watched extends Summary {
    private boolean over;

    Watched() {
      super(RunsTest.this.parts, null);
    }

    @Override
    public @Nullable CallKey key() {
      return null;
    }

    @Override
    Integer compute() {
      return 1;
    }

    @Override
    void accept(Run run, @Nullable Outcome outcome, Tasks next) {}

    @Override
    boolean over() {
      return over;
    }

    @Override
    @Nullable List<Cache> computedFrom(boolean isList) {
      return null;
    }

    @Override
    public void schedule(Tasks next) {}

    @Override
    public void standingChanged() {}

    /** As when a write has ended, or something that it has read is another. */
    void change() {
      mark(null);
      runs.await(this);
    }
  }

  private void at(long millis) {
    clock.passTo(millis * MILLI);
  }

  /** For how many milliseconds a write is held up. */
  private long held() {
    return runs.protectedFor() / MILLI;
  }

  private Summary.Run begin() {
    return Objects.requireNonNull(runs.begin());
  }

  private boolean ended(Summary.Run run) {
    boolean wanted = runs.ended(run);
    synchronized (run.summary().guard) {
      run.summary().ended(run, false);
    }
    return wanted;
  }

  /** Writes interrupt runs of these, one after the other, until they are to be protected. */
  private void interrupt(Watched... summaries) {
    for (var summary : summaries) {
      summary.change();
    }
    for (int i = 0; i < 3; i++) {
      for (var summary : summaries) {
        assertSame(summary, begin().summary());
      }
      runs.makeWay();
    }
  }

  @Test
  void theyBeginInTheOrderInWhichTheyWereAwaited() {
    one.change();
    other.change();
    assertSame(one, begin().summary());
    assertEquals(1, runs.due());
    assertSame(other, begin().summary());
    assertEquals(0, runs.due());
    assertNull(runs.begin());
  }

  /** One that is under way comes back when it ends. */
  @Test
  void whatCannotBeginKeepsNobody() {
    one.change();
    begin();
    one.change();
    other.change();
    assertSame(other, begin().summary());
  }

  @Test
  void whatIsOverDoesNotRun() {
    one.change();
    other.change();
    one.over = true;
    assertSame(other, begin().summary());
  }

  /** What was interrupted before that is forgotten. */
  @Test
  void whoHasAResultIsInterruptedThreeTimesAnew() {
    interrupt(one);
    var run = begin();
    ended(run);
    synchronized (one.guard) {
      one.accepted(Edges.NONE);
    }
    one.change();
    assertEquals(0, begin().discardedBefore());
  }

  @Test
  void whatIsUnderWayRunsAgainAfterAWrite() {
    one.change();
    var run = begin();
    runs.makeWay();
    assertTrue(run.discarded());
    assertFalse(ended(run));
    var again = begin();
    assertSame(one, again.summary());
    assertEquals(1, again.discardedBefore());
    assertTrue(ended(again));
  }

  @Test
  void aWriteWaitsForNoneThatWasNotInterrupted() {
    one.change();
    assertEquals(0, held());
    begin();
    at(10 * LONGEST);
    assertEquals(0, held());
  }

  @Test
  void aWriteWaitsForOneThatWasInterruptedThreeTimes() {
    interrupt(one);
    assertEquals(0, held());
    var run = begin();
    assertEquals(LONGEST, held());
    at(60);
    assertEquals(40, held());
    ended(run);
    assertEquals(0, held());
  }

  @Test
  void whileOneIsProtectedAllOthersMayRun() {
    interrupt(one);
    other.change();
    ended(begin());
    assertEquals(LONGEST, held());
    ended(begin());
    assertEquals(0, held());
  }

  @Test
  void aWriteWaitsForSeveralNoLongerThanForOne() {
    interrupt(one, other);
    ended(begin());
    at(50);
    begin();
    assertEquals(50, held());
    at(LONGEST);
    assertEquals(0, held());
  }

  /** As one that came back to where its chain is inside, which waits for nobody. */
  @Test
  void aWriteThatDoesNotWaitEndsTheProtectionUntilTheNextRun() {
    interrupt(one);
    begin();
    at(50);
    runs.makeWay();
    assertEquals(0, held());
    begin();
    assertEquals(LONGEST, held());
  }

  @Test
  void aWriteWaitsForThoseThatWritesHaveKeptFromBeginning() {
    one.change();
    runs.makeWay();
    at(50);
    runs.makeWay();
    at(LONGEST - 1);
    assertEquals(0, held());
    at(LONGEST);
    assertEquals(LONGEST, held());
    at(150);
    assertEquals(50, held());
  }

  @Test
  void thereWritesComeAtOnceAgainForAsLong() {
    one.change();
    runs.makeWay();
    at(LONGEST);
    assertEquals(LONGEST, held());
    at(2 * LONGEST);
    runs.makeWay();
    assertEquals(0, held());
    at(3 * LONGEST - 1);
    assertEquals(0, held());
    at(3 * LONGEST);
    assertEquals(LONGEST, held());
  }

  /** Nobody waited when that was written. */
  @Test
  void aWriteBeforeTheFirstIsAwaitedHoldsNothingBack() {
    runs.makeWay();
    at(2 * LONGEST);
    one.change();
    assertEquals(0, held());
  }

  /** However long it takes. */
  @Test
  void whatHasBegunIsNotHeldBack() {
    one.change();
    runs.makeWay();
    begin();
    at(2 * LONGEST);
    assertEquals(0, held());
  }

  @Test
  void whatIsNotAwaitedAnyMoreIsNotHeldBack() {
    one.change();
    runs.makeWay();
    runs.withdraw(one);
    at(2 * LONGEST);
    one.change();
    assertEquals(0, held());
  }

  /** It ends between two writes, and others do not even begin. */
  @Test
  void oneThatEndsIsNoComfortForOthers() {
    one.change();
    other.change();
    runs.makeWay();
    assertTrue(ended(begin()));
    at(LONGEST);
    assertEquals(LONGEST, held());
  }

  @Test
  void fewAreDueAtATime() {
    for (int i = 0; i < 1_000; i++) {
      new Watched().change();
    }
    assertEquals(32, runs.due());
  }

  @Test
  void whenAllHaveBegunNoneIsHeldBack() {
    one.change();
    runs.makeWay();
    begin();
    at(60);
    other.change();
    runs.makeWay();
    at(LONGEST);
    assertEquals(0, held());
    at(60 + LONGEST);
    assertEquals(LONGEST, held());
  }

  @Test
  void whenSomeHaveBegunOthersAreHeldBack() {
    one.change();
    other.change();
    runs.makeWay();
    at(60);
    assertTrue(ended(begin()));
    at(LONGEST);
    assertEquals(LONGEST, held());
  }

  @Test
  void whatIsWithdrawnIsNotHeldBack() {
    one.change();
    runs.makeWay();
    runs.withdraw(one);
    assertEquals(0, runs.due());
    runs.withdraw(one);
    at(LONGEST);
    other.change();
    assertEquals(0, held());
    assertEquals(1, runs.due());
  }

  @Test
  void aRunThatNobodyWantsAnyMoreHasNoResult() {
    one.change();
    var run = begin();
    run.discard();
    assertFalse(ended(run));
    assertEquals(0, held());
  }

  @Test
  void fewAreDueHoweverManyWait() {
    for (int i = 0; i < 40; i++) {
      new Watched().change();
    }
    assertEquals(32, runs.due());
    begin();
    runs.makeWay();
    assertEquals(32, runs.due());
  }

  // Whatever comes

  /** For how long in milliseconds a write, and a run, takes at most. */
  private static final int WRITE = 30;

  private static final int RUN = 40;

  /**
   * It is interrupted three times, after having waited, and begins for the last time when the time
   * that others are protected for is nearly over.
   */
  private static final long MOST_MILLIS = 3 * (RUN + WRITE) + 3 * LONGEST + WRITE + RUN;

  private static final int SUMMARIES = 8;
  private static final int SPELLS = 300;
  private static final int SPELL = 1_000;

  /** Writes and runs of one activation, at random, that begin as the activation has them. */
  private final class Rush {
    private final SplittableRandom random = new SplittableRandom(1);

    /** The runs that are under way, with when they end. */
    private final Map<Summary.Run, Long> ends = new LinkedHashMap<>();

    /** The summaries that are to run, with since when. */
    private final Map<Summary, Long> due = new LinkedHashMap<>();

    private final List<Watched> summaries = Stream.generate(Watched::new).limit(SUMMARIES).toList();

    private long now;
    private boolean inside;
    private long writeEnds;
    private long nextWrite;
    private long heldSince = -1;
    private int interruptions;

    void spell(int pause, int mark) {
      for (int i = 0; i < SPELL; i++) {
        at(++now);
        endWrite();
        endRuns();
        if (random.nextInt(mark) == 0) {
          change(summaries.get(random.nextInt(SUMMARIES)));
        }
        beginWrite(pause);
        beginRuns();
        due.forEach(
            (summary, since) ->
                assertTrue(now - since <= MOST_MILLIS, () -> "no result since " + since));
      }
    }

    private void endWrite() {
      if (inside && now >= writeEnds) {
        inside = false;
        summaries.forEach(this::change);
      }
    }

    private void change(Watched summary) {
      summary.change();
      due.putIfAbsent(summary, now);
    }

    private void endRuns() {
      for (var run : List.copyOf(ends.keySet())) {
        if (now >= Objects.requireNonNull(ends.get(run))) {
          ends.remove(run);
          endRun(run);
        }
      }
    }

    private void endRun(Summary.Run run) {
      if (!ended(run)) {
        interruptions++;
        return;
      }
      var summary = run.summary();
      due.remove(summary);
      synchronized (summary.guard) {
        summary.accepted(Edges.NONE);
        if (summary.marked) {
          due.put(summary, now);
          runs.await(summary);
        }
      }
    }

    private void beginWrite(int pause) {
      if (inside || now < nextWrite) {
        return;
      }
      if (runs.protectedFor() > 0) {
        heldSince = heldSince < 0 ? now : heldSince;
        assertTrue(now - heldSince <= LONGEST, () -> "a write waits since " + heldSince);
        return;
      }
      runs.makeWay();
      inside = true;
      heldSince = -1;
      writeEnds = now + 1 + random.nextInt(WRITE);
      nextWrite = writeEnds + random.nextInt(pause);
    }

    private void beginRuns() {
      while (!inside && runs.due() > 0) {
        var run = runs.begin();
        if (run != null) {
          ends.put(run, now + 1 + random.nextInt(RUN));
        }
      }
    }
  }

  /** One write after the other, and pauses shorter and longer than a run. */
  @Test
  void neitherWaitsForTheOtherForLongWhateverComes() {
    var rush = new Rush();
    for (int spell = 0; spell < SPELLS; spell++) {
      int pause = spell % 3 == 0 ? 1 : 1 + rush.random.nextInt(2 * RUN);
      rush.spell(pause, 1 + rush.random.nextInt(20));
    }
    assertTrue(rush.interruptions > 0, "some runs are interrupted");
  }
}
