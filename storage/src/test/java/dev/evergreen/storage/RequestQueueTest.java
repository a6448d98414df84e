package dev.evergreen.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.spi.GrainId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

/** The queue with real threads, in many short rounds. */
class RequestQueueTest {

  private static final int ROUNDS = 400;
  private static final int PRODUCERS = 4;
  private static final int PUTS = 12;
  private static final int CAPACITY = 3;
  private static final Duration SOON = Duration.ofSeconds(20);

  /** One life of a queue: producers that are more than it has room for, and two takers. */
  private static final class Round {
    private final RequestQueue<Request.Save> queue = new RequestQueue<>(CAPACITY);
    private final Queue<Request.Save> accepted = new ConcurrentLinkedQueue<>();
    private final Queue<Request.Save> refused = new ConcurrentLinkedQueue<>();
    private final Queue<List<Request.Save>> taken = new ConcurrentLinkedQueue<>();

    private void put(int producer) {
      for (int i = 0; i < PUTS; i++) {
        var id = new GrainId("producer" + producer, "key");
        var request = new Request.Save(id, i, new byte[1], null);
        try {
          (queue.put(request, Long.MAX_VALUE) ? accepted : refused).add(request);
        } catch (InterruptedException | TimeoutException e) {
          throw new AssertionError(e);
        }
      }
    }

    private void take() {
      for (var batch = queue.take(2, 10); !batch.isEmpty(); batch = queue.take(2, 10)) {
        taken.add(batch);
      }
    }

    private void run(boolean closesEarly) throws InterruptedException {
      var takers = new ArrayList<Thread>();
      var producers = new ArrayList<Thread>();
      for (int t = 0; t < 2; t++) {
        takers.add(Thread.ofPlatform().daemon().start(this::take));
      }
      for (int p = 0; p < PRODUCERS; p++) {
        int producer = p;
        producers.add(Thread.startVirtualThread(() -> put(producer)));
      }
      if (closesEarly) {
        queue.close();
      }
      join(producers, "a producer waits for room");
      queue.close();
      join(takers, "a taker waits for requests");
    }

    private void join(List<Thread> threads, String trouble) throws InterruptedException {
      for (var thread : threads) {
        assertTrue(
            thread.join(SOON),
            () -> trouble + "; " + accepted.size() + " were put, " + taken.size() + " batches");
      }
    }
  }

  @Test
  void everyRequestIsTakenOnceAndInOrder() throws InterruptedException {
    for (int i = 0; i < ROUNDS; i++) {
      var round = new Round();
      round.run(false);
      assertEquals(PRODUCERS * PUTS, round.accepted.size());
      assertTakenOnce(round);
      for (var batch : round.taken) {
        assertInOrder(batch);
      }
    }
  }

  @Test
  void whatWasPutBeforeItClosedIsTakenAndNothingElse() throws InterruptedException {
    int refused = 0;
    for (int i = 0; i < ROUNDS; i++) {
      var round = new Round();
      round.run(true);
      assertTakenOnce(round);
      refused += round.refused.size();
    }
    assertTrue(refused > 0, "no queue was closed early");
  }

  private static void assertTakenOnce(Round round) {
    var all = round.taken.stream().flatMap(List::stream).map(Named::of).toList();
    Set<Named> once = new HashSet<>(all);
    assertEquals(all.size(), once.size(), "one was taken twice");
    assertEquals(new HashSet<>(round.accepted.stream().map(Named::of).toList()), once);
  }

  private static void assertInOrder(List<Request.Save> batch) {
    for (int i = 1; i < batch.size(); i++) {
      var before = Named.of(batch.get(i - 1));
      var after = Named.of(batch.get(i));
      assertTrue(
          !before.producer().equals(after.producer()) || before.number() < after.number(),
          () -> after + " was taken after " + before);
    }
  }

  private record Named(String producer, long number) {
    static Named of(Request.Save request) {
      return new Named(request.grain().toString(), request.expected());
    }
  }
}
