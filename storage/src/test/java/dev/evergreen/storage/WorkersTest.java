package dev.evergreen.storage;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What callers are told whom nobody serves. */
@Timeout(60)
final class WorkersTest {

  @Test
  void whoFindsNoRoomIsToldThatNothingWasDone() throws Exception {
    try (var workers = new Workers("test", "nowhere", Duration.ofMillis(500))) {
      var callers = new ArrayList<FutureTask<StorageException>>();
      for (int i = 0; i < Workers.CAPACITY; i++) {
        var caller = new FutureTask<>(() -> refusal(workers));
        Thread.startVirtualThread(caller);
        callers.add(caller);
      }
      for (var caller : callers) {
        assertSays("is unknown", caller.get()); // what it has asked still takes its place
      }
      assertSays("nothing was done", refusal(workers));
    }
  }

  private static StorageException refusal(Workers workers) {
    return assertThrows(
        StorageException.class,
        () -> workers.save(Callers.grain(0), Storage.NONE, new byte[0], null));
  }

  private static void assertSays(String part, StorageException refusal) {
    assertTrue(String.valueOf(refusal.getMessage()).contains(part), refusal::toString);
  }
}
