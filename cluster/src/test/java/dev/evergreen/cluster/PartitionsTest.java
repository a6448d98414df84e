package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.spi.GoneNodes;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.core.spi.NodeId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class PartitionsTest {

  private static final int COUNT = 8;
  private static final GrainId GRAIN = new GrainId("Cell", "c");

  private final Partitions partitions =
      new Partitions(
          node("a"),
          COUNT,
          new PingedMandate(
              new MemoryStorage(),
              new Tenure(
                  node("a"),
                  Duration.ofSeconds(1),
                  Duration.ofSeconds(1),
                  (to, token) -> {},
                  RealWorkers.REAL),
              RealWorkers.REAL,
              () -> {}));
  private final List<Integer> asked = new ArrayList<>();
  private final int partition = partitions.of(GRAIN);

  PartitionsTest() {
    partitions.askAt(asked::add);
  }

  /** Another object each time, as they come out of messages. */
  private static NodeId node(String name) {
    return new NodeId(name + ":1", 7);
  }

  @Test
  void anOwnerThatIsNotKnownIsAskedFor() {
    assertNull(partitions.locate(GRAIN));
    assertEquals(List.of(partition), asked);
    partitions.hint(partition, node("b"));
    assertEquals(node("b"), partitions.locate(GRAIN));
    assertFalse(partitions.isHere(GRAIN));
  }

  @Test
  void aHintThatProvedWrongIsForgottenAndAskedForOnce() {
    partitions.hint(partition, node("b"));
    partitions.notThere(GRAIN, node("b"));
    partitions.notThere(GRAIN, node("b"));
    assertEquals(List.of(partition), asked);
    assertFalse(partitions.isKnown(partition));
  }

  @Test
  void aHintThatWasReplacedMeanwhileIsKept() {
    partitions.hint(partition, node("b"));
    partitions.hint(partition, node("c"));
    partitions.notThere(GRAIN, node("b"));
    assertEquals(node("c"), partitions.locate(GRAIN));
    assertEquals(List.of(), asked);
  }

  @Test
  void whatANodeThatIsGoneOwnedIsAskedFor() {
    for (int i = 0; i < COUNT; i++) {
      partitions.hint(i, node(i % 2 == 0 ? "b" : "c"));
    }
    partitions.forget(node("b"));
    assertEquals(List.of(0, 2, 4, 6), asked);
    assertTrue(partitions.isKnown(1));
  }

  /** It answered while it left, and the answer was late. */
  @Test
  void aHintOfANodeThatIsGoneIsNotTaken() {
    partitions.forget(node("b"));
    partitions.hint(partition, node("b"));
    assertFalse(partitions.isKnown(partition));
    assertEquals(List.of(), asked, "it would be asked again without a pause");
  }

  @Test
  void ofThoseThatAreGoneTheLatestAreRemembered() {
    partitions.forget(node("b"));
    for (int i = 1; i <= GoneNodes.MOST; i++) {
      partitions.forget(node("n" + i));
    }
    partitions.hint(partition, node("n1"));
    assertFalse(partitions.isKnown(partition));
    partitions.hint(partition, node("b"));
    assertTrue(partitions.isKnown(partition));
  }

  @Test
  void noHintTakesAPartitionFromThisNode() {
    partitions.gain(partition);
    partitions.hint(partition, node("b"));
    partitions.notThere(GRAIN, node("a"));
    assertTrue(partitions.isHere(GRAIN));
    assertEquals(1, partitions.owned());
  }

  @Test
  void aPartitionIsLostOnceAndItsNextOwnerAskedFor() {
    partitions.gain(partition);
    assertTrue(partitions.lose(partition));
    assertFalse(partitions.lose(partition));
    assertEquals(List.of(partition), asked);
  }

  @Test
  void noHintMakesThisNodeAnOwner() {
    partitions.hint(partition, node("a"));
    assertFalse(partitions.isHere(GRAIN));
  }
}
