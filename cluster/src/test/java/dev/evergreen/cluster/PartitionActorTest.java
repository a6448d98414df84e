package dev.evergreen.cluster;

import static dev.evergreen.cluster.Await.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.typesafe.config.ConfigFactory;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.engine.CoreRuntime;
import dev.evergreen.core.engine.EngineNode;
import dev.evergreen.core.spi.Engine;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.NodeObserver;
import dev.evergreen.core.spi.RealTime;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.Tracing;
import java.time.Duration;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.pattern.Patterns;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When a node owns a partition that sharding gives it. */
@Timeout(60)
final class PartitionActorTest {

  private static final NodeId SELF = new NodeId("a:1", 7);
  private static final int PARTITION = 0;

  private final CompletableFuture<Boolean> mayOwn = new CompletableFuture<>();
  private final CompletableFuture<Boolean> asked = new CompletableFuture<>();
  private final CompletableFuture<Boolean> saving = new CompletableFuture<>();
  private final CompletableFuture<Boolean> maySave = new CompletableFuture<>();
  private volatile boolean saved;
  private final Storage storage = new SlowStorage(new MemoryStorage());
  private final Partitions partitions =
      new Partitions(
          SELF,
          2,
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
      CoreRuntime.start(
          new Engine(SELF, time, time, (to, message) -> false, partitions, storage, new Random(1)),
          GrainTypes.create().add(Ledger.class, Ledger.InState::new),
          NodeSettings.DEFAULT.withStopGrace(Duration.ZERO),
          Tracing.NONE,
          NodeObserver.Provider.NONE);
  private final ActorSystem system =
      ActorSystem.create(
          "partitions",
          ConfigFactory.parseResources(PekkoSystem.class, "pekko.conf")
              .withoutPath("pekko")
              .withFallback(ConfigFactory.parseString("pekko.loglevel = WARNING")));
  private final ActorRef actor =
      system.actorOf(PartitionActor.props(node, partitions, SELF), Integer.toString(PARTITION));

  /** Its saves wait for a word. */
  private final class SlowStorage implements Storage {
    private final Storage storage;

    SlowStorage(Storage storage) {
      this.storage = storage;
    }

    @Override
    public Optional<Stored> load(GrainId grain) {
      return storage.load(grain);
    }

    @Override
    public long save(GrainId grain, long expected, byte[] state) {
      saving.complete(true);
      maySave.join();
      long revision = storage.save(grain, expected, state);
      saved = true;
      return revision;
    }

    @Override
    public void close() {
      storage.close();
    }
  }

  @AfterEach
  void stop() {
    mayOwn.complete(false);
    maySave.complete(true);
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

  /** Sharding stops it when it loses patience, and when it has ended others have the partition. */
  @Test
  void itDoesNotEndWhileWhatItsGrainsDidIsBeingSaved() throws Exception {
    mayOwn.complete(true);
    await("owning it", () -> partitions.isMine(PARTITION));
    var ledger =
        Stream.iterate("l", key -> key + "l")
            .filter(key -> partitions.of(new GrainId("Ledger", key)) == PARTITION)
            .findFirst()
            .orElseThrow();
    Thread.ofVirtual().start(() -> node.grains().get(Ledger.class, ledger).put("w", 1));
    assertTrue(saving.get(20, TimeUnit.SECONDS));
    actor.tell(PartitionActor.HandOff.BEGIN, ActorRef.noSender());
    await("losing it", () -> !partitions.isMine(PARTITION));
    system.stop(actor);
    // One that has nothing to wait for ends meanwhile.
    var other = system.actorOf(PartitionActor.props(node, partitions, SELF), "1");
    Patterns.gracefulStop(other, Duration.ofSeconds(20)).toCompletableFuture().join();
    assertFalse(actor.isTerminated());
    maySave.complete(true);
    await("the end of the actor", actor::isTerminated);
    assertTrue(saved);
  }
}
