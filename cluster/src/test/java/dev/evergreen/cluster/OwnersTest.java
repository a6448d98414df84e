package dev.evergreen.cluster;

import static dev.evergreen.cluster.Await.await;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.typesafe.config.ConfigFactory;
import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.Storage;
import org.apache.pekko.actor.AbstractActor;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.Props;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What becomes of a node's part in sharding when the node leaves. */
final class OwnersTest {

  private static final NodeId SELF = new NodeId("a:1", 7);

  private static final class Alone implements Mandate {
    private final Storage storage = new MemoryStorage();

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
      return true;
    }

    @Override
    public void end() {}
  }

  /** In the place of sharding: gets questions, and answers none. */
  static final class Silent extends AbstractActor {
    @Override
    public Receive createReceive() {
      return receiveBuilder().matchAny(question -> {}).build();
    }
  }

  private final ActorSystem system =
      ActorSystem.create("owners", ConfigFactory.parseString("pekko.loglevel = WARNING"));

  @AfterEach
  void stop() {
    system.terminate();
    system.getWhenTerminated().toCompletableFuture().join();
  }

  private ActorRef leave(Partitions partitions) {
    var region = system.actorOf(Props.create(Silent.class, Silent::new));
    var owners = system.actorOf(Props.create(Owners.class, () -> new Owners(region, partitions)));
    owners.tell(Owners.Leave.NOW, ActorRef.noSender());
    return region;
  }

  @Test
  void whoLeavesAndOwnsNothingDoesNotWaitForAnswers() {
    var partitions = new Partitions(SELF, 2, new Alone());
    partitions.gain(0);
    var region = leave(partitions);
    // One that owns nothing ends meanwhile.
    var other = leave(new Partitions(SELF, 2, new Alone()));
    await("the end of the other one", other::isTerminated);
    assertFalse(region.isTerminated());
    partitions.lose(0);
    await("its end", region::isTerminated);
  }
}
