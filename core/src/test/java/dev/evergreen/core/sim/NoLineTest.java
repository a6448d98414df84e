package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.ActivationException;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.ResultTracker;
import dev.evergreen.core.spi.Message;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What a node tells another one while there is no connection, or no room: by virtual time. */
final class NoLineTest {

  private static final long MILLI = FewNodes.MILLI;

  /** Long before the renewal, which repairs what was never told. */
  private static final Duration SOON = Duration.ofSeconds(5);

  private static final int MANY = 200;

  /** Has a name while it can be activated. */
  interface Named extends Grain {
    @ReadOnly
    String name();
  }

  private boolean broken;

  private Named named(String key) {
    if (broken) {
      throw new IllegalStateException("broken");
    }
    return () -> key;
  }

  private final FewNodes nodes =
      new FewNodes(
          2,
          NodeSettings.DEFAULT,
          () ->
              GrainTypes.create().<String, Named>add(Named.class, context -> named(context.key())));

  /** Messages that told of grains that have moved, whether they left or not. */
  private final List<Message.Moved> moved = new ArrayList<>();

  private final List<ResultTracker<String>> names = new ArrayList<>();

  /** Grains of the second node are read by the first one. */
  private void whenRead(int count, Runnable test) {
    nodes.run(
        () -> {
          var reader = nodes.first().engine();
          var computations =
              nodes
                  .keysOnSecond(Named.class)
                  .limit(count)
                  .map(key -> reader.reactive(reader.grains().get(Named.class, key)::name))
                  .toList();
          computations.forEach(computation -> names.add(computation.tracker()));
          test.run();
          computations.forEach(ReactiveComputation::close);
        });
  }

  private void showsAll() {
    names.forEach(tracker -> tracker.next(Duration.ofMinutes(1)));
  }

  private void sleep(long millis) {
    nodes.scheduler.sleep(millis * MILLI);
  }

  /** Nothing that tells of grains that have moved leaves from now on, or it does again. */
  private void movedLeaves(boolean leaves) {
    nodes.network.unsent(
        message -> {
          if (message instanceof Message.Moved told) {
            moved.add(told);
          }
          return message instanceof Message.Moved && !leaves;
        });
  }

  /** As when a node that goes on hosting a part is to hand it over. */
  private void closeAllOnSecond() {
    nodes.second().engine().release(IntStream.range(1, nodes.partitions()).toArray());
  }

  @Test
  void whyThereIsNoResultIsToldAsSoonAsThereIsALine() {
    broken = true;
    whenRead(
        1,
        () -> {
          var name = names.getFirst();
          // The first question may wait for the answer. The second one does not: who asks it has
          // been heard, and is to be told.
          nodes.network.unsent(Message.Subscribe.class::isInstance);
          assertTrue(name.poll(Duration.ofMillis(1)).isEmpty());
          nodes.network.unsent(Message.Push.class::isInstance);
          assertTrue(name.poll(Duration.ofSeconds(3)).isEmpty());
          nodes.network.unsent(message -> false);
          assertThrows(ActivationException.class, () -> name.next(Duration.ofMillis(500)));
        });
  }

  /** Earlier ones answer questions that nobody asks any more. */
  @Test
  void ofSeveralReasonsWhyThereIsNoResultTheLatestIsTold() {
    broken = true;
    whenRead(
        1,
        () -> {
          asksWithoutWaiting();
          var asked = new ArrayList<Long>();
          var told = new ArrayList<Long>();
          var line = new AtomicBoolean();
          nodes.network.unsent(
              message -> {
                if (message instanceof Message.Subscribe subscribe) {
                  asked.add(subscribe.subscriptions().getFirst().generation());
                } else if (message instanceof Message.Push push && line.get()) {
                  push.updates().forEach(update -> told.add(update.generation()));
                }
                return message instanceof Message.Push && !line.get();
              });
          for (int i = 0; i < 10; i++) {
            nodes.first().engine().linkBroken(nodes.second().id());
            sleep(SOON.toMillis());
          }
          assertTrue(asked.size() > 5, asked::toString);
          long latest = asked.getLast();
          line.set(true);
          sleep(200);
          assertEquals(latest, told.getFirst());
        });
  }

  /**
   * The first question may wait for the answer. The next ones do not, and are answered by pushes.
   */
  private void asksWithoutWaiting() {
    nodes.network.unsent(Message.Subscribe.class::isInstance);
    names.forEach(name -> assertTrue(name.poll(Duration.ofMillis(1)).isEmpty()));
  }

  /** What does not leave was written in vain. */
  @Test
  void whileThereIsNoLineOneResultIsTriedAtATime() {
    whenRead(
        MANY,
        () -> {
          asksWithoutWaiting();
          var tried = new ArrayList<Integer>();
          nodes.network.unsent(
              message -> {
                if (message instanceof Message.Push push) {
                  tried.add(push.updates().size());
                }
                return message instanceof Message.Push;
              });
          sleep(SOON.toMillis());
          assertFalse(tried.isEmpty());
          int results = tried.stream().mapToInt(size -> size).sum();
          assertTrue(results < tried.size() + MANY, tried::toString);
          nodes.network.unsent(message -> false);
          names.forEach(name -> name.next(Duration.ofMillis(500)));
        });
  }

  @Test
  void aResultIsToldAsSoonAsThereIsALine() {
    whenRead(
        1,
        () -> {
          nodes.network.unsent(Message.Subscribe.class::isInstance);
          assertTrue(names.getFirst().poll(Duration.ofMillis(1)).isEmpty());
          nodes.network.unsent(Message.Push.class::isInstance);
          assertTrue(names.getFirst().poll(Duration.ofMillis(2_100)).isEmpty());
          nodes.network.unsent(message -> false);
          names.getFirst().next(Duration.ofMillis(500));
        });
  }

  @Test
  void thatManyHaveMovedIsToldTogetherAsSoonAsThereIsALine() {
    whenRead(
        MANY,
        () -> {
          showsAll();
          movedLeaves(false);
          closeAllOnSecond();
          sleep(5_000);
          assertTrue(moved.size() < 2 * MANY, () -> moved.size() + " messages");
          moved.clear();
          movedLeaves(true);
          sleep(500);
          assertEquals(1, moved.size());
          assertEquals(MANY, moved.getFirst().keys().size());
        });
  }

  @Test
  void thatAGrainHasMovedIsNotToldToWhoHasAskedForItAgain() {
    whenRead(
        1,
        () -> {
          showsAll();
          movedLeaves(false);
          closeAllOnSecond();
          nodes.first().engine().linkBroken(nodes.second().id());
          sleep(1_000);
          moved.clear();
          movedLeaves(true);
          sleep(SOON.toMillis());
          assertEquals(List.of(), moved);
        });
  }
}
