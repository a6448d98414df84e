package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.assertNames;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.OutcomeUnknownException;
import dev.evergreen.core.StateNotSavedException;
import dev.evergreen.core.engine.TestGrains.Cell;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.core.spi.NodeGivenUpException;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.Storage;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is acknowledged when others may have taken over, and when they may. */
@Timeout(60)
final class AcknowledgementTest {

  private static final NodeId A = WiredNodes.id("a");

  private final Fenced storage = new Fenced();
  private final WiredNodes wired = new WiredNodes(A, storage);
  private final NodeRuntime node =
      wired.start(A, WiredNodes.quick().withStopGrace(Duration.ofMillis(50)));
  private final Cell cell = node.grains().get(Cell.class, "c");

  @AfterEach
  void stop() {
    storage.gate.countDown();
    wired.close();
  }

  /** A storage by a fence, in memory, whose saves can be made to wait. */
  private static final class Fenced implements Storage {
    private final MemoryStorage memory = new MemoryStorage();
    private final CountDownLatch saving = new CountDownLatch(1);
    private volatile CountDownLatch gate = new CountDownLatch(0);
    private volatile boolean fenced = true;
    private volatile boolean givenUp;

    @Override
    public Optional<Stored> load(GrainId grain) {
      return memory.load(grain);
    }

    @Override
    public long save(GrainId grain, long expected, byte[] state) {
      saving.countDown();
      try {
        gate.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      if (givenUp) {
        throw new NodeGivenUpException(grain, A);
      }
      return memory.save(grain, expected, state);
    }

    @Override
    public boolean fenced() {
      return fenced;
    }

    @Override
    public void close() {}
  }

  @Test
  void whatChangedNothingIsNotAcknowledgedUnlessTheNodeIsConfirmed() {
    cell.set("text");
    cell.touch();
    wired.confirmed = false;
    assertNames(assertThrows(StateNotSavedException.class, cell::touch), "Cell/c");
    assertNames(assertThrows(StateNotSavedException.class, () -> cell.set("text")), "Cell/c");
    assertEquals("text", cell.text());
    wired.confirmed = true;
    cell.touch();
  }

  @Test
  void aSaveBehindAFenceNeedsNoOtherConfirmationThanItself() {
    wired.confirmed = false;
    cell.set("text");
    assertEquals("text", cell.text());
    storage.fenced = false;
    assertThrows(StateNotSavedException.class, () -> cell.set("more"));
  }

  @Test
  void whatANodeThatWasGivenUpDoesIsForgotten() {
    cell.set("before");
    storage.givenUp = true;
    var failure = assertThrows(StateNotSavedException.class, () -> cell.set("after"));
    assertNames(failure, "forgotten");
    assertNames(failure, "given up");
    assertEquals("before", cell.text());
  }

  /** Else the next owner would load what was there before, and learn by a conflict. */
  @Test
  void aSaveThatOutlastsTheGraceEndsBeforeTheGrainIsReleased() throws Exception {
    storage.gate = new CountDownLatch(1);
    var set = aside(() -> cell.set("late"));
    storage.saving.await();
    var release = aside(() -> node.release(WiredNodes.everything()));
    // The caller is told when the grace is over, and the release goes on.
    var failure = assertThrows(ExecutionException.class, () -> set.get(20, TimeUnit.SECONDS));
    assertInstanceOf(OutcomeUnknownException.class, failure.getCause());
    WiredNodes.await("the end of the activation", () -> node.counts().activations() == 0);
    assertFalse(release.isDone());
    storage.gate.countDown();
    release.get(20, TimeUnit.SECONDS);
    assertTrue(storage.load(new GrainId("Cell", "c")).isPresent());
  }

  private static CompletableFuture<Void> aside(Runnable body) {
    return CompletableFuture.runAsync(body, task -> Thread.ofVirtual().start(task));
  }
}
