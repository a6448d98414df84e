package dev.evergreen.cluster;

import static dev.evergreen.cluster.Await.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.typesafe.config.ConfigFactory;
import dev.evergreen.core.EngineNode;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.spi.Engine;
import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.RealTime;
import dev.evergreen.core.spi.Storage;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.Props;
import org.apache.pekko.pattern.Patterns;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When a node owns a partition that sharding gives it. */
@Timeout(60)
final class PartitionActorTest {

  private static final NodeId SELF = new NodeId("a:1", 7);
  private static final int PARTITION = 3;

  private final CompletableFuture<Boolean> mayOwn = new CompletableFuture<>();
  private final CompletableFuture<Boolean> asked = new CompletableFuture<>();
  private final Storage storage = new MemoryStorage();
  private final Partitions partitions =
      new Partitions(
          SELF,
          8,
          new Mandate() {
            @Override
            public Storage storage() {
              return storage;
            }

            @Override
            public boolean confirmed() {
              return true;
            }

            @Override
            public boolean takeOver() {
              asked.complete(true);
              return mayOwn.join();
            }

            @Override
            public void end() {}
          });
  private final RealTime time = RealTime.create();
  private final EngineNode node =
      EngineNode.start(
          new Engine(SELF, time, time, (to, message) -> false, partitions, storage, new Random(1)),
          GrainTypes.create(),
          NodeSettings.DEFAULT);
  private final ActorSystem system =
      ActorSystem.create("partitions", ConfigFactory.parseString("pekko.loglevel = WARNING"));
  private final ActorRef actor =
      system.actorOf(
          Props.create(PartitionActor.class, () -> new PartitionActor(node, partitions, SELF)),
          Integer.toString(PARTITION));

  @AfterEach
  void stop() {
    mayOwn.complete(false);
    system.terminate();
    system.getWhenTerminated().toCompletableFuture().join();
    node.close();
    time.close();
  }

  private CompletableFuture<Object> ask() {
    return Patterns.ask(actor, PARTITION, Duration.ofSeconds(50)).toCompletableFuture();
  }

  @Test
  void whatAnotherHadIsNotOwnedBeforeThatOneCanAcknowledgeNothingMore() throws Exception {
    var answer = ask();
    assertTrue(asked.get(20, TimeUnit.SECONDS));
    assertFalse(partitions.isMine(PARTITION));
    assertFalse(answer.isDone());
    mayOwn.complete(true);
    assertEquals(Owners.answer(SELF, PARTITION), answer.get(20, TimeUnit.SECONDS));
    assertTrue(partitions.isMine(PARTITION));
    assertEquals(Owners.answer(SELF, PARTITION), ask().get(20, TimeUnit.SECONDS));
  }

  @Test
  void whoNeverMayOwnsNothing() throws Exception {
    mayOwn.complete(false);
    assertTrue(asked.get(20, TimeUnit.SECONDS));
    var answer = ask();
    actor.tell(PartitionActor.HandOff.BEGIN, ActorRef.noSender());
    await("the end of the actor", actor::isTerminated);
    assertFalse(partitions.isMine(PARTITION));
    assertFalse(answer.isDone());
  }

  @Test
  void whatIsTakenAwayBeforeItIsOwnedIsNotOwnedLater() throws Exception {
    assertTrue(asked.get(20, TimeUnit.SECONDS));
    actor.tell(PartitionActor.HandOff.BEGIN, ActorRef.noSender());
    await("the end of the actor", actor::isTerminated);
    mayOwn.complete(true);
    assertFalse(partitions.isMine(PARTITION));
  }
}
