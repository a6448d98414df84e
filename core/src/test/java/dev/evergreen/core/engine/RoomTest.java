package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.WiredNodes.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.core.spi.RealTime;
import dev.evergreen.core.spi.Threads;
import dev.evergreen.core.work.Room;
import dev.evergreen.core.work.Workers;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class RoomTest {

  private final RealTime time = RealTime.create();
  private final List<Thread> woken = new CopyOnWriteArrayList<>();
  private final Workers workers = new Workers(time, new HeldBack(), () -> 0);
  private final Room room = new Room(workers, 2);

  @AfterEach
  void stop() {
    time.close();
  }

  /** Threads that are woken only when the test says so. */
  private final class HeldBack implements Threads {
    @Override
    public Thread start(Runnable task) {
      return time.start(task);
    }

    @Override
    public void park() {
      LockSupport.park();
    }

    @Override
    public void parkNanos(long nanos) {
      LockSupport.park();
    }

    @Override
    public void unpark(Thread thread) {
      woken.add(thread);
    }
  }

  private Thread waiting() {
    var thread = Thread.ofPlatform().daemon().start(() -> room.enter(workers.never()));
    await("its waiting", () -> thread.getState() == Thread.State.WAITING);
    return thread;
  }

  /** Two that leave wake the same one, who is the first until it has entered. */
  @Test
  void whoEntersWakesTheNextAsThereMayBeRoomForIt() throws Exception {
    room.enterAnyway();
    room.enterAnyway();
    var first = waiting();
    var second = waiting();
    room.leave();
    room.leave();
    assertEquals(List.of(first, first), woken);
    LockSupport.unpark(first);
    first.join();
    assertEquals(List.of(first, first, second), woken);
    LockSupport.unpark(second);
    second.join();
  }
}
