package dev.evergreen.core.work;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.spi.RealTime;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class BatonTest {

  @Test
  void tasksGetItInTheOrderInWhichTheyAskedForIt() {
    try (var time = RealTime.create()) {
      var baton = new Baton(time);
      var tasks = List.<Tasks.Task>of(next -> {}, next -> {}, next -> {});
      assertTrue(baton.acquireFor(next -> {}));
      tasks.forEach(task -> assertFalse(baton.acquireFor(task)));
      tasks.forEach(task -> assertSame(task, baton.release()));
      assertNull(baton.release());
      assertTrue(baton.acquireFor(next -> {}));
    }
  }

  @Test
  void threadsAndTasksGetItInOneOrder() throws Exception {
    try (var time = RealTime.create()) {
      var baton = new Baton(time);
      var order = new ArrayList<String>();
      baton.acquire();
      var threads = new ArrayList<Thread>();
      for (var name : List.of("first", "second")) {
        var thread =
            Thread.startVirtualThread(
                () -> {
                  baton.acquire();
                  order.add(name);
                  var task = baton.release();
                  if (task != null) {
                    task.run(new Tasks());
                  }
                });
        threads.add(thread);
        while (thread.getState() != Thread.State.WAITING) {
          Thread.onSpinWait();
        }
        assertFalse(
            baton.acquireFor(
                next -> {
                  order.add("after " + name);
                  assertNull(baton.release());
                }));
      }
      assertNull(baton.release());
      for (var thread : threads) {
        thread.join();
      }
      assertEquals(List.of("first", "after first", "second", "after second"), order);
    }
  }

  /** Else it would not wait, and the next wait of the user would not end. */
  @Test
  void whoIsInterruptedWhileItWaitsForItGetsItAndStaysInterrupted() throws Exception {
    try (var time = RealTime.create()) {
      var baton = new Baton(time);
      baton.acquire();
      var interrupted = new CompletableFuture<Boolean>();
      var thread =
          Thread.startVirtualThread(
              () -> {
                baton.acquire();
                interrupted.complete(Thread.interrupted());
              });
      while (thread.getState() != Thread.State.WAITING) {
        Thread.onSpinWait();
      }
      thread.interrupt();
      assertNull(baton.release());
      assertTrue(interrupted.get());
    }
  }
}
