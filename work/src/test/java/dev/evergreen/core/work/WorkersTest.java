package dev.evergreen.core.work;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.CallInterruptedException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** By threads that run when the test says so. */
final class WorkersTest {

  private final World world = new World();
  private final Workers workers = world.workers();
  private final List<String> done = new ArrayList<>();

  private Tasks.Task says(String what) {
    return _ -> done.add(what);
  }

  private static Tasks.Task fails() {
    return _ -> {
      throw new IllegalStateException("says the test");
    };
  }

  /** A task that others prepare for. */
  private static Tasks.Task prepared(Tasks.Task task, boolean itself) {
    return new Tasks.Task() {
      @Override
      public boolean prepare() {
        return itself;
      }

      @Override
      public void run(Tasks next) {
        task.run(next);
      }
    };
  }

  private static Tasks of(Tasks.Task... tasks) {
    var all = new Tasks();
    List.of(tasks).forEach(all::add);
    return all;
  }

  @Test
  void whatSomebodyElseHasYetIsRunByThat() {
    workers.fork(of(prepared(says("taken"), false), says("free")));
    workers.start(prepared(says("taken"), false));
    world.runAll();
    assertEquals(List.of("free"), done);
  }

  @Test
  void aTaskThatCannotBePreparedCostsNoOtherItsThread() {
    var cannot =
        new Tasks.Task() {
          @Override
          public boolean prepare() {
            throw new StackOverflowError("says the test");
          }

          @Override
          public void run(Tasks next) {}
        };
    assertThrows(StackOverflowError.class, () -> workers.fork(of(cannot, says("other"))));
    world.runAll();
    assertEquals(List.of("other"), done);
  }

  @Test
  void whatATaskMadePossibleIsDoneThoughItFails() {
    Tasks.Task failing =
        next -> {
          next.add(says("possible"));
          fails().run(next);
        };
    workers.start(failing);
    assertThrows(IllegalStateException.class, world::runAll);
    world.runAll();
    assertThrows(IllegalStateException.class, () -> workers.now(failing));
    world.runAll();
    assertEquals(List.of("possible", "possible"), done);
  }

  @Test
  void aThreadThatATaskHasInterruptedIsNotSoForTheNext() {
    workers.start(
        next -> {
          Thread.currentThread().interrupt();
          next.add(_ -> done.add("interrupted " + Thread.currentThread().isInterrupted()));
        });
    world.runAll();
    assertEquals(List.of("interrupted false"), done);
    assertFalse(Thread.interrupted());
  }

  @Test
  void whoIsInterruptedWhileItWaitsIsToldAndStaysSo() {
    Thread.currentThread().interrupt();
    assertThrows(
        CallInterruptedException.class,
        () -> workers.await(() -> false, workers.nanos() + 1, false));
    assertTrue(Thread.interrupted());
  }

  @Test
  void whoWaitsForWorkThatIsNotWantedAnyMoreIsWoken() {
    var cancellation = new Cancellation();
    cancellation.parked().add(Thread.currentThread());
    cancellation.cancel(workers);
    assertTrue(cancellation.cancelled());
    assertEquals(List.of(Thread.currentThread()), world.woken);
  }

  @Test
  void aTimerForManyIsSetOnceAndAgainWhereItCouldNotBe() {
    var timer = new OneTimer(workers);
    world.stackEnds = true;
    assertThrows(StackOverflowError.class, () -> timer.after(10, says("rings")));
    world.stackEnds = false;
    timer.after(10, says("rings"));
    timer.after(10, says("rings"));
    assertEquals(1, world.alarms.size());
    world.ring();
    assertFalse(timer.isSet());
    timer.after(10, says("rings"));
    world.ring();
    world.runAll();
    assertEquals(List.of("rings", "rings"), done);
  }

  /** One that is refused takes none of those with it that were to ask in the same moment. */
  @Test
  void whoJoinedOneForWhomThereWasNoTimerAsksAllTheSame() {
    var asked = new ArrayList<String>();
    var joins = new ArrayList<Runnable>();
    var retries =
        new Retries<String>(
            workers, Duration.ofSeconds(1), _ -> 0, (these, _) -> asked.addAll(these));
    world.whenTimerIsWanted =
        () -> {
          world.whenTimerIsWanted = () -> {};
          joins.forEach(Runnable::run);
          world.stackEnds = true;
        };
    joins.add(() -> retries.later("other"));
    assertThrows(StackOverflowError.class, () -> retries.later("first"));
    world.stackEnds = false;
    world.runAll();
    assertEquals(List.of("other"), asked);
    retries.later("first");
    world.ring();
    world.runAll();
    assertEquals(List.of("other", "first"), asked);
  }
}
