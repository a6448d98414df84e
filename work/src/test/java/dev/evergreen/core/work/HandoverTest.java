package dev.evergreen.core.work;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** By threads and a clock that the test moves. */
final class HandoverTest {

  private final World world = new World();
  private final List<String> done = new ArrayList<>();
  private final Handover handover = new Handover(world, world);

  private Runnable work(String name) {
    return () -> done.add(name);
  }

  @Test
  void whatNoThreadCouldBeHadForGetsOneALittleLater() {
    world.refusesThreads = true;
    handover.start(work("a"));
    handover.start(work("b"));
    world.ring();
    assertEquals(1, world.alarms.size(), "there is no thread yet, and it is tried again");
    world.refusesThreads = false;
    world.ring();
    assertEquals(2 * Handover.AGAIN_NANOS, world.now);
    assertEquals(2, world.started.size(), "none has to wait for another");
    world.runNext();
    world.runNext();
    assertEquals(2, done.size());
    assertEquals(List.of(), world.alarms);
  }

  @Test
  void itIsTriedAgainAlsoTheNextTime() {
    for (int i = 1; i <= 3; i++) {
      world.refusesThreads = true;
      handover.start(work("a"));
      world.refusesThreads = false;
      world.ring();
      world.runNext();
      assertEquals(i, done.size());
    }
  }

  @Test
  void whoHasEndedItsWorkDoesWhatIsLeft() {
    handover.start(work("a"));
    world.refusesThreads = true;
    world.refusesTimers = true;
    handover.start(work("b"));
    handover.start(work("c"));
    world.runNext();
    assertEquals(List.of("a", "b", "c"), done);
    world.refusesThreads = false;
    world.refusesTimers = false;
    handover.start(work("d"));
    world.runNext();
    assertEquals(List.of("a", "b", "c", "d"), done);
  }

  @Test
  void whatWasStartedIsDoneOnceThoughTheStackEndedThen() {
    world.throwsAfterwards = true;
    handover.start(work("a"));
    world.throwsAfterwards = false;
    world.runNext();
    world.ring();
    while (!world.started.isEmpty()) {
      world.runNext();
    }
    assertEquals(List.of("a"), done);
  }

  /** Else who tries again has it done twice, at the same time. */
  @Test
  void whatThrowsWhereTheStackEndsIsNotDoneAndAllElseIsDoneOnce() throws Exception {
    world.refusesThreads = true;
    var accepted = new ArrayList<String>();
    var deep = new Thread(null, () -> startWhereTheStackEnds(accepted), "deep", 256 * 1_024);
    deep.start();
    deep.join();
    assertTrue(accepted.size() > 0 && accepted.size() < attempts, () -> accepted.size() + " done");
    world.refusesThreads = false;
    handover.start(work("last"));
    while (!world.started.isEmpty()) {
      world.runNext();
    }
    accepted.add("last");
    assertEquals(accepted.stream().sorted().toList(), done.stream().sorted().toList());
  }

  /** As where there is no memory to keep it. */
  @Test
  void whatIsLeftIsNotLostWhereItCannotEvenBeTriedAgain() throws Exception {
    world.refusesThreads = true;
    handover.start(work("a"));
    var again = world.alarms.removeFirst().task();
    var deep = new Thread(null, () -> whereTheStackEnds(again), "deep", 256 * 1_024);
    deep.start();
    deep.join();
    world.refusesThreads = false;
    handover.start(work("last")); // Whether it is to be tried again is a question of luck.
    while (!world.started.isEmpty()) {
      world.runNext();
    }
    assertEquals(List.of("a", "last"), done.stream().sorted().toList());
  }

  /** At its end, and then further and further from it until there is room. */
  @SuppressWarnings("InfiniteRecursion") // until the stack ends
  private static void whereTheStackEnds(Runnable something) {
    try {
      whereTheStackEnds(something);
    } catch (StackOverflowError e) {
      something.run();
    }
  }

  private static final int ATTEMPTS = 200;
  private int attempts;

  /** Where a call ends the stack, those before it try with a little more of it. */
  @SuppressWarnings("InfiniteRecursion") // until the stack ends
  private void startWhereTheStackEnds(List<String> accepted) {
    try {
      startWhereTheStackEnds(accepted);
    } catch (StackOverflowError e) {
      // The caller has more stack.
    }
    if (attempts < ATTEMPTS) {
      var name = NAMES.get(attempts++);
      try {
        handover.start(() -> done.add(name));
        accepted.add(name);
      } catch (StackOverflowError e) {
        // It is not done.
      }
    }
  }

  private static final List<String> NAMES =
      IntStream.range(0, ATTEMPTS).mapToObj(i -> "n" + i).toList();

  /** Nobody else may ever start or end any work there. */
  @Test
  void aThreadWaitsToTryAgainWhereNoTimerCanBeSet() {
    world.refusesTimers = true;
    world.refusals = 1;
    handover.start(work("a"));
    world.runNext();
    assertEquals(Handover.AGAIN_NANOS, world.now);
    world.runNext();
    assertEquals(List.of("a"), done);
    assertEquals(List.of(), world.started);
  }

  /** Its own work may take long, or need what is left. */
  @Test
  void whoStartsAnythingSeesThatWhatIsLeftIsTriedAgain() {
    world.refusesThreads = true;
    world.refusesTimers = true;
    handover.start(work("a"));
    world.refusesThreads = false;
    world.refusesTimers = false;
    handover.start(work("b"));
    world.ring();
    assertEquals(2, world.started.size());
    world.started.removeFirst();
    world.runNext();
    assertEquals(List.of("a"), done);
  }

  @Test
  void aThreadWaitsWhereNoTimerCanBeSet() {
    world.refusesTimers = true;
    handover.after(100, work("a"));
    world.runNext();
    assertEquals(100, world.now);
    assertEquals(List.of("a"), done);
  }

  @Test
  void whatIsCancelledIsNotDone() {
    handover.after(100, work("a")).cancel();
    assertEquals(List.of(), world.alarms);
    world.refusesTimers = true;
    handover.after(100, work("b")).cancel();
    world.runNext();
    assertEquals(List.of(), done);
    assertEquals(0, world.now, "nor is it waited for");
  }
}
