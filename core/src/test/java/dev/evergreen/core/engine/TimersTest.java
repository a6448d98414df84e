package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTimer;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.spi.Clock;
import dev.evergreen.core.spi.NodeId;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a grain's timer leaves with the clock when it has ended: nothing, however long it waits. */
@Timeout(60)
final class TimersTest {

  private static final NodeId A = WiredNodes.id("a");
  private static final Duration FIRST = Duration.ofMillis(1);
  private static final Duration PERIOD = Duration.ofHours(77);

  interface Clockwork extends Grain {
    void start();
  }

  /** A wait of the timer for its period. */
  private static final class Alarm {
    private final Thread setBy = Thread.currentThread();
    private final AtomicBoolean cancelled = new AtomicBoolean();
  }

  private final List<Alarm> alarms = new CopyOnWriteArrayList<>();
  private final WiredNodes wired = new WiredNodes(A);
  private volatile GrainTimer timer = () -> {};

  @AfterEach
  void stop() {
    wired.close();
  }

  private Clockwork clockwork(GrainContext<String> context) {
    return () -> timer = context.timer("t", FIRST, PERIOD, () -> {});
  }

  /**
   * Starts a timer.
   *
   * @param whenSet is told how many waits for the period there were before one that is being set,
   *     and how to end that
   */
  private NodeRuntime start(BiConsumer<Integer, Runnable> whenSet) {
    var usual = wired.timers;
    wired.timers =
        (nanos, task) -> nanos == PERIOD.toNanos() ? set(task, whenSet) : usual.apply(nanos, task);
    var types = GrainTypes.create().add(Clockwork.class, this::clockwork);
    var node = wired.start(A, WiredNodes.quick(), types);
    node.grains().get(Clockwork.class, "c").start();
    return node;
  }

  private Clock.Cancellable set(Runnable task, BiConsumer<Integer, Runnable> whenSet) {
    var alarm = new Alarm();
    int before = alarms.size();
    alarms.add(alarm);
    whenSet.accept(before, task);
    return () -> alarm.cancelled.set(true);
  }

  @Test
  void aTimerThatIsCancelledWhileItBeginsToWaitEnds() {
    start((before, task) -> timer.cancel());
    WiredNodes.await("its wait", () -> !alarms.isEmpty());
    WiredNodes.await("its end", () -> alarms.getFirst().cancelled.get());
  }

  /** The first of these waits is over before it is known how to cancel it. */
  @Test
  void aTimerThatWaitsAgainIsCancelledAsItWaitsNow() {
    var node =
        start(
            (before, task) -> {
              if (before == 0) {
                task.run();
                WiredNodes.await("the next wait", () -> alarms.size() == 2);
                WiredNodes.await("its thread", () -> !alarms.get(1).setBy.isAlive());
              }
            });
    WiredNodes.await("two waits", () -> alarms.size() == 2);
    WiredNodes.await("the thread of the first", () -> !alarms.getFirst().setBy.isAlive());
    assertFalse(alarms.get(1).cancelled.get());
    node.release(WiredNodes.everything());
    WiredNodes.await("the end of the second", () -> alarms.get(1).cancelled.get());
  }
}
