package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Grain;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Callers that call again and again keep the processors busy; others have their turn all the same.
 */
@Timeout(120)
class BusyGrainsTest {

  /** Says what it is told. */
  public interface Echo extends Grain {
    int say(int number);

    /** In memory. */
    final class InMemory implements Echo {
      @Override
      public int say(int number) {
        return number;
      }
    }
  }

  private volatile boolean over;

  @Test
  void callersInALoopKeepNobodyOut() throws Exception {
    var callers = new ArrayList<Thread>();
    try (var node =
        EmbeddedNode.builder().grain(Echo.class, context -> new Echo.InMemory()).start()) {
      for (int i = 0; i < 4 * Runtime.getRuntime().availableProcessors(); i++) {
        callers.add(callInALoop(node.grains().get(Echo.class, "echo " + i % 4)));
      }
      assertOthersRun();
      over = true;
      end(callers);
    }
  }

  private Thread callInALoop(Echo echo) {
    return Thread.startVirtualThread(
        () -> {
          for (int i = 0; !over; i++) {
            echo.say(i);
          }
        });
  }

  private static void assertOthersRun() throws InterruptedException {
    for (int i = 0; i < 20; i++) {
      var run = new CountDownLatch(1);
      Thread.startVirtualThread(run::countDown);
      assertTrue(run.await(30, TimeUnit.SECONDS), "the callers keep everybody out");
    }
  }

  private static void end(List<Thread> threads) throws InterruptedException {
    for (var thread : threads) {
      thread.join();
    }
  }
}
