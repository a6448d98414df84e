package dev.evergreen.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class PollCallsTest {

  private final Scratch scratch = new Scratch();
  private final int epoll = PollCalls.open(scratch);

  @AfterEach
  void close() {
    FileCalls.close(scratch, epoll);
  }

  @Test
  void anEventTellsWhatHappenedAndToWhat() throws IOException {
    long data = 0x1122334455667788L;
    try (var pair = SocketPair.open()) {
      assertEquals(0, PollCalls.add(scratch, epoll, pair.client(), PollCalls.EPOLLIN, 3));
      assertEquals(0, PollCalls.await(scratch, epoll, 0));
      int events = PollCalls.EPOLLOUT | PollCalls.EPOLLET;
      assertEquals(0, PollCalls.change(scratch, epoll, pair.client(), events, data));
      assertEquals(1, PollCalls.await(scratch, epoll, -1));
      assertEquals(PollCalls.EPOLLOUT, scratch.eventFlags(0));
      assertEquals(data, scratch.eventData(0));
      assertEquals(0, PollCalls.await(scratch, epoll, 0), "an edge is told once");
    }
  }

  @Test
  void severalEventsComeTogether() throws IOException {
    try (var one = SocketPair.open();
        var two = SocketPair.open()) {
      assertEquals(0, PollCalls.add(scratch, epoll, one.client(), PollCalls.EPOLLOUT, 1));
      assertEquals(0, PollCalls.add(scratch, epoll, two.client(), PollCalls.EPOLLOUT, 1L << 40));
      assertEquals(2, PollCalls.await(scratch, epoll, 0));
      assertEquals((1L << 40) + 1, scratch.eventData(0) + scratch.eventData(1));
    }
  }

  @Test
  void aSignalEndsAWait() {
    int event = PollCalls.openEvent(scratch);
    int events = PollCalls.EPOLLIN | PollCalls.EPOLLET;
    assertEquals(0, PollCalls.add(scratch, epoll, event, events, 1));
    Thread.ofPlatform().start(() -> PollCalls.signal(event));
    assertEquals(1, PollCalls.await(scratch, epoll, -1));
    assertEquals(0, PollCalls.await(scratch, epoll, 0));
    PollCalls.signal(event);
    assertEquals(1, PollCalls.await(scratch, epoll, -1), "each signal is an edge");
    FileCalls.close(scratch, event);
  }

  @Test
  void aWaitEndsAtItsTimeAndNotBefore() {
    for (long nanos : new long[] {1, 1_000, 3_000_000, 1_001_000_000}) {
      long begin = System.nanoTime();
      assertEquals(0, PollCalls.await(scratch, epoll, nanos));
      assertTrue(System.nanoTime() - begin >= nanos, () -> "a wait of " + nanos + " ns");
    }
  }

  @Test
  void theSlackOfTimersIsSet() {
    assertEquals(0, PollCalls.timerSlack(scratch, 1));
    // Zero is the thread's first one again.
    assertEquals(0, PollCalls.timerSlack(scratch, 0));
  }
}
