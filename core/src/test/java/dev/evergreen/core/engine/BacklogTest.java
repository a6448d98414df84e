package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

final class BacklogTest {

  private final Backlog backlog = new Backlog(2);
  private final AtomicInteger acknowledged = new AtomicInteger();

  @Test
  void whileMuchWaitsPushesAreAcknowledgedLate() {
    backlog.runScheduled();
    backlog.acknowledge(acknowledged::incrementAndGet);
    assertEquals(1, acknowledged.get());
    backlog.runScheduled();
    backlog.acknowledge(acknowledged::incrementAndGet);
    assertEquals(1, acknowledged.get());
    backlog.runBegins();
    assertEquals(2, acknowledged.get());
  }

  /** Whoever waited would have to send again, since nothing is left that would tell him. */
  @Test
  void noneWaitsWhenTheLastRunHasBegun() {
    backlog.runScheduled();
    backlog.runScheduled();
    for (int i = 0; i < 5; i++) {
      backlog.acknowledge(acknowledged::incrementAndGet);
    }
    backlog.runBegins();
    assertEquals(1, acknowledged.get());
    backlog.runBegins();
    assertEquals(5, acknowledged.get());
  }

  @Test
  void oneThatFailsKeepsNoRunFromBeginning() {
    backlog.runScheduled();
    backlog.runScheduled();
    backlog.acknowledge(
        () -> {
          throw new IllegalStateException("a link with a fault");
        });
    backlog.acknowledge(acknowledged::incrementAndGet);
    backlog.runBegins();
    backlog.runBegins();
    assertEquals(1, acknowledged.get());
  }
}
