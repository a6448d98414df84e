package dev.evergreen.cluster;

import static dev.evergreen.cluster.Await.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.typesafe.config.ConfigFactory;
import dev.evergreen.core.spi.NodeId;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.Done;
import org.apache.pekko.actor.AbstractActor;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.Props;
import org.apache.pekko.cluster.Cluster;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a node is told of the others' ends, with Pekko's own cluster. */
@Timeout(120)
final class MembersTest {

  /** One thread decides, so that nothing is told while several are being given up. */
  private static final String SETTINGS =
      """
      pekko {
        loglevel = OFF
        stdout-loglevel = OFF
        actor.provider = cluster
        actor.internal-dispatcher {
          executor = thread-pool-executor
          thread-pool-executor.fixed-pool-size = 1
        }
        remote.artery.canonical { hostname = 127.0.0.1, port = 0 }
        cluster {
          jmx.enabled = off
          gossip-interval = 100 ms
          leader-actions-interval = 100 ms
        }
      }\
      """;

  private final List<ActorSystem> systems = new ArrayList<>();

  /** What was told, one entry each time. */
  private final Queue<Set<NodeId>> givenUp = new ConcurrentLinkedQueue<>();

  private final Queue<NodeId> judged = new ConcurrentLinkedQueue<>();

  private final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();

  private final ConcurrentHashMap<NodeId, Member> known = new ConcurrentHashMap<>();

  private volatile Runnable whenJudged = () -> {};

  @AfterEach
  void stop() {
    systems.forEach(ActorSystem::terminate);
    systems.forEach(system -> system.getWhenTerminated().toCompletableFuture().join());
  }

  private final class Told implements Members.Listener {
    @Override
    public void changed() {}

    @Override
    public void belongs(Member member) {}

    @Override
    public void missed(Map<NodeId, Set<NodeId>> missedBy) {}

    @Override
    public void unreachable(Member member) {}

    @Override
    public void judged(NodeId node) {
      judged.add(node);
      whenJudged.run();
    }

    @Override
    public void givenUp(Set<NodeId> nodes) {
      givenUp.add(nodes);
    }

    @Override
    public void gone(Set<NodeId> nodes) {}

    @Override
    public void downed() {}
  }

  /** Gives nodes up in one go, as Pekko's resolver of split brains does. */
  private static final class Judge extends AbstractActor {
    @Override
    public Receive createReceive() {
      return receiveBuilder().match(Set.class, this::giveUp).build();
    }

    private void giveUp(Set<?> dead) {
      var cluster = Cluster.get(getContext().getSystem());
      for (var member : cluster.state().getMembers()) {
        if (dead.contains(Member.idOf(member))) {
          cluster.down(member.address());
        }
      }
    }
  }

  private Cluster join() {
    var system =
        ActorSystem.create(
            "test", ConfigFactory.parseString(SETTINGS).withFallback(ConfigFactory.load()));
    systems.add(system);
    var cluster = Cluster.get(system);
    cluster.join(Cluster.get(systems.getFirst()).selfAddress());
    return cluster;
  }

  private ActorRef follow(Cluster cluster) {
    return systems
        .getFirst()
        .actorOf(
            Props.create(
                MemberEvents.class,
                () -> new MemberEvents(cluster, known, new Told(), failures::add)));
  }

  @Test
  void whoBelongsIsKnownWhileTheEventsOfItAreStillOnTheirWay() throws Exception {
    var cluster = join();
    var following = follow(cluster);
    var other = Member.idOf(join().selfUniqueAddress());
    await("both", () -> known.values().stream().filter(Member::isUp).count() == 2);
    var rosters =
        systems.getFirst().actorOf(Props.create(Rosters.class, () -> new Rosters(cluster)));
    assertTrue(whoBelongs(rosters).contains(other));
    var go = new CountDownLatch(1);
    whenJudged =
        () -> {
          try {
            go.await();
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
        };
    cluster.down(Cluster.get(systems.getLast()).selfAddress());
    await("its being judged", () -> judged.contains(other));
    assertEquals(Set.of(Member.idOf(cluster.selfUniqueAddress())), whoBelongs(rosters));
    assertTrue(givenUp.isEmpty());
    var told = new CompletableFuture<Done>();
    following.tell(new MemberEvents.AllTold(told), ActorRef.noSender());
    var toldOf = told.thenApply(done -> List.copyOf(givenUp));
    go.countDown();
    assertEquals(List.of(Set.of(other)), toldOf.get(30, TimeUnit.SECONDS));
  }

  /** What it was told last is lost: it must not go on as if it knew all. */
  @Test
  void whoFailsAtAnEventSaysSoAndTellsNothingMore() {
    var cluster = join();
    var following = follow(cluster);
    var other = Member.idOf(join().selfUniqueAddress());
    await("both", () -> known.values().stream().filter(Member::isUp).count() == 2);
    var failure = new AssertionError("a listener's, which Pekko takes more seriously");
    whenJudged =
        () -> {
          throw failure;
        };
    cluster.down(Cluster.get(systems.getLast()).selfAddress());
    await("its end", following::isTerminated);
    assertEquals(List.of(failure), List.copyOf(failures));
    assertEquals(List.of(other), List.copyOf(judged));
    assertTrue(givenUp.isEmpty());
  }

  private static Set<NodeId> whoBelongs(ActorRef rosters) throws Exception {
    var answer = new CompletableFuture<Roster>();
    rosters.tell(new Rosters.WhoBelongs(answer), ActorRef.noSender());
    return answer.get(30, TimeUnit.SECONDS).members();
  }

  @Test
  void nodesThatAreGivenUpTogetherAreToldOfOnce() {
    follow(join());
    var dead = new HashSet<NodeId>();
    for (int i = 0; i < 3; i++) {
      dead.add(Member.idOf(join().selfUniqueAddress()));
    }
    var survivor = Member.idOf(join().selfUniqueAddress());
    await("all members", () -> known.values().stream().filter(Member::isUp).count() == 5);
    systems
        .getFirst()
        .actorOf(
            Props.create(Judge.class, Judge::new).withDispatcher("pekko.actor.internal-dispatcher"))
        .tell(dead, ActorRef.noSender());
    await("their ends", () -> givenUp.stream().mapToInt(Set::size).sum() == 3);
    assertEquals(List.of(dead), List.copyOf(givenUp));
    assertEquals(dead, Set.copyOf(judged));
    assertEquals(2, known.size());
    // One by itself is told of at once: there is nothing more to come.
    Cluster.get(systems.getFirst()).down(Cluster.get(systems.getLast()).selfAddress());
    await("its end", () -> givenUp.size() == 2);
    assertEquals(List.of(dead, Set.of(survivor)), List.copyOf(givenUp));
  }
}
