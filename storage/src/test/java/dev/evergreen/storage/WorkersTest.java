package dev.evergreen.storage;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import java.time.Duration;
import java.util.ArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What callers are told whom nobody serves. */
@Timeout(60)
final class WorkersTest {

  @Test
  void whoFindsNoRoomIsToldThatNothingWasDone() throws InterruptedException {
    try (var workers = new Workers("test", "nowhere", Duration.ofMillis(500))) {
      var callers = new ArrayList<Thread>();
      for (int i = 0; i < Workers.CAPACITY; i++) {
        callers.add(Thread.startVirtualThread(() -> assertTold(workers, "is unknown")));
      }
      for (var caller : callers) {
        caller.join(); // what it has asked still takes its place
      }
      assertTold(workers, "nothing was done");
    }
  }

  private static void assertTold(Workers workers, String part) {
    var failure =
        assertThrows(
            StorageException.class,
            () -> workers.save(Callers.grain(0), Storage.NONE, new byte[0], null));
    assertTrue(String.valueOf(failure.getMessage()).contains(part), failure::toString);
  }
}
