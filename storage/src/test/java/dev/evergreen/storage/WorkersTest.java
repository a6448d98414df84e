package dev.evergreen.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
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

  /** It goes on before that, and may change what it gave. */
  @Test
  void whatAnInterruptedCallerGaveIsSavedAsItWasThen() throws Exception {
    var saved = new LinkedBlockingQueue<Byte>();
    try (var workers = new Workers("test", "nowhere", Duration.ofSeconds(60))) {
      var state = new byte[] {1};
      var caller = new FutureTask<>(() -> refusal(workers, state));
      var thread = Thread.ofPlatform().start(caller);
      while (thread.getState() != Thread.State.TIMED_WAITING) {
        Thread.onSpinWait();
      }
      thread.interrupt();
      assertSays("it may still happen", caller.get());
      state[0] = 2;
      workers.startSaving(1, 1, batch -> batch.forEach(save -> saved.add(save.state()[0])));
      assertEquals((byte) 1, saved.take());
    }
  }

  private static StorageException refusal(Workers workers) {
    return refusal(workers, new byte[0]);
  }

  private static StorageException refusal(Workers workers, byte[] state) {
    return assertThrows(
        StorageException.class, () -> workers.save(Callers.grain(0), Storage.NONE, state, null));
  }

  private static void assertSays(String part, StorageException refusal) {
    assertTrue(String.valueOf(refusal.getMessage()).contains(part), refusal::toString);
  }
}
