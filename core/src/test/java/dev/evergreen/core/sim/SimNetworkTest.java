package dev.evergreen.core.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.engine.EngineNode;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

final class SimNetworkTest {

  private static final NodeId A = new NodeId("a", 1);
  private static final NodeId B = new NodeId("b", 2);

  private final Scheduler scheduler =
      new Scheduler(
          new RandomPolicy(
              new SplittableRandom(1), new RandomPolicy.Pace(1_000, 0, 0, 0, false, 0, 100_000)),
          new Trace(true));
  private final SimNetwork network = new SimNetwork(scheduler, new SplittableRandom(2));
  private final List<Object> arrived = new ArrayList<>();
  private final SimNode a = node(A);
  private final SimNode b = node(B);

  /** A node that only notes what it is told. */
  private SimNode node(NodeId id) {
    var life = new Life(id.toString());
    var clock = new SimClock(scheduler, life, 1, 0, Duration.ZERO);
    var cluster =
        new Cluster(
            scheduler,
            new SplittableRandom(3),
            Scenario.of(1),
            network,
            new SimStorage(scheduler, new SplittableRandom(4), 0),
            address -> GrainTypes.create());
    var node = new SimNode(id, life, clock, new SimPlacement(id, cluster, 1));
    node.started(
        (EngineNode)
            Proxy.newProxyInstance(
                EngineNode.class.getClassLoader(),
                new Class<?>[] {EngineNode.class},
                (proxy, method, arguments) -> {
                  arrived.add(arguments[arguments.length - 1]);
                  return null;
                }));
    network.attach(node);
    return node;
  }

  private static List<Message> messages() {
    return LongStream.rangeClosed(1, 200).<Message>mapToObj(Message.PushAck::new).toList();
  }

  private void sendAll() {
    messages().forEach(message -> network.send(A, B, message));
    scheduler.sleep(20_000_000_000L);
  }

  @Test
  void inFineWeatherEveryMessageArrivesOnceAndInOrder() {
    scheduler.run(this::sendAll);
    assertEquals(messages(), arrived);
  }

  @Test
  void messagesAreLost() {
    network.weather(new Weather(0.5, 0, 0, 1, 1_000_000, 0, 0));
    scheduler.run(this::sendAll);
    assertTrue(arrived.size() > 50 && arrived.size() < 150, "arrived: " + arrived.size());
  }

  @Test
  void messagesArriveTwice() {
    network.weather(new Weather(0, 0.5, 0, 1, 1_000_000, 0, 0));
    scheduler.run(this::sendAll);
    assertEquals(messages(), arrived.stream().distinct().toList());
    assertTrue(arrived.size() > 250, "arrived: " + arrived.size());
  }

  @Test
  void messagesOvertakeEachOther() {
    network.weather(new Weather(0, 0, 0.5, 1, 1_000_000, 0, 0));
    scheduler.run(this::sendAll);
    assertEquals(200, arrived.size());
    assertNotEquals(messages(), arrived);
  }

  @Test
  void betweenNodesThatAreCutOffNothingPasses() {
    network.cut(A, B);
    scheduler.run(
        () -> {
          sendAll();
          assertEquals(List.of(), arrived);
          network.join(A, B);
          sendAll();
        });
    assertEquals(messages(), arrived);
  }

  @Test
  void aBrokenConnectionLosesWhatIsUnderWayAndBothAreTold() {
    scheduler.run(
        () -> {
          messages().forEach(message -> network.send(A, B, message));
          network.breakConnection(A, B);
          scheduler.sleep(1_000_000_000);
          assertEquals(2, arrived.size(), arrived.toString());
          assertTrue(arrived.contains(A) && arrived.contains(B), arrived.toString());
          arrived.clear();
          sendAll();
        });
    assertEquals(messages(), arrived);
  }

  @Test
  void messagesOfANodeThatIsGoneForGoodAreRefused() {
    b.refuse(A);
    scheduler.run(this::sendAll);
    assertEquals(List.of(), arrived);
  }

  @Test
  void messagesToADeadNodeVanishAndThoseToAPausedOneWait() {
    scheduler.run(
        () -> {
          scheduler.pause(b.life());
          sendAll();
          assertEquals(List.of(), arrived);
          scheduler.resume(b.life());
          scheduler.sleep(1_000_000_000);
          assertEquals(messages(), arrived);
          scheduler.kill(b.life());
          sendAll();
          assertEquals(200, arrived.size());
          assertTrue(a.serves());
        });
  }
}
