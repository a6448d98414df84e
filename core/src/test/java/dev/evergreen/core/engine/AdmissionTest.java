package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.SOON;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.engine.TestGrains.Gate;
import dev.evergreen.core.engine.TestGrains.GateGrain;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What the rule of {@link Admission} means for grains, wherever they are. */
@Timeout(60)
class AdmissionTest {

  private static final NodeId A = WiredNodes.id("a");
  private static final NodeId B = WiredNodes.id("b");

  /** Where the grains are whose keys begin with "a"; the others, and the callers, are on B. */
  enum Place {
    TOGETHER,
    APART
  }

  interface Peer extends Grain {
    @ReadOnly
    String name();

    /** Waits for the gate, then reads the other. */
    @ReadOnly
    String nameOf(String other);

    @ReadOnly
    String nameThrough(String other);

    /** A write. */
    String touched();

    /** A write that reads the other. */
    String copied(String other);

    /** A write that reads the last through the other. */
    String copiedThrough(String other, String last);
  }

  /** Who was inside, in order. */
  private static final List<String> ENTERED = new CopyOnWriteArrayList<>();

  private static final class PeerGrain implements Peer {
    private final GrainContext<String> context;

    PeerGrain(GrainContext<String> context) {
      this.context = context;
    }

    private Peer peer(String key) {
      return context.grains().get(Peer.class, key);
    }

    private String enters(String operation) {
      ENTERED.add(context.key() + "." + operation);
      return context.key();
    }

    @Override
    public String name() {
      return enters("name");
    }

    @Override
    public String nameOf(String other) {
      enters("nameOf");
      context.grains().get(Gate.class, context.key()).readWhenOpen();
      return peer(other).name();
    }

    @Override
    public String nameThrough(String other) {
      return peer(other).name();
    }

    @Override
    public String touched() {
      return enters("touched");
    }

    @Override
    public String copied(String other) {
      enters("copied");
      return peer(other).name();
    }

    @Override
    public String copiedThrough(String other, String last) {
      return peer(other).nameThrough(last);
    }
  }

  private final WiredNodes wired = new WiredNodes(B);
  private final NodeRuntime a = start(A);
  private final NodeRuntime b = start(B);

  private NodeRuntime start(NodeId id) {
    var types = TestGrains.types().add(Peer.class, PeerGrain::new);
    return wired.start(id, WiredNodes.quick().withCallTimeout(SOON), types);
  }

  private void place(Place place) {
    wired.hosts = grain -> place == Place.APART && grain.key().startsWith("a") ? A : B;
    ENTERED.clear();
    GateGrain.shut();
  }

  @AfterEach
  void stop() {
    GateGrain.open.countDown();
    wired.close();
  }

  private Peer peer(String key) {
    return b.grains().get(Peer.class, key);
  }

  private static <T> CompletableFuture<T> start(Supplier<T> call) {
    return CompletableFuture.supplyAsync(call, Thread::startVirtualThread);
  }

  private static <T> T get(CompletableFuture<T> call) throws Exception {
    return call.get(10, TimeUnit.SECONDS);
  }

  private int waitingAt(Class<?> type, String key) {
    GrainId id = b.models.model(type).id(key);
    var host = wired.hosts.apply(id).equals(A) ? a : b;
    var activation = host.activations.get(id);
    return activation == null ? 0 : activation.waiting();
  }

  private void awaitWaiting(String key, int turns) {
    WiredNodes.await(turns + " turns to wait", () -> waitingAt(Peer.class, key) == turns);
  }

  // No deadlock, no starvation

  @ParameterizedTest
  @EnumSource
  void grainsThatReadEachOtherDoNotWaitForEachOtherWhenEachHasAWriteWaiting(Place place)
      throws Exception {
    place(place);
    GateGrain.entered = new CountDownLatch(2);
    var readOfA = start(() -> peer("a").nameOf("b"));
    var readOfB = start(() -> peer("b").nameOf("a"));
    assertTrue(GateGrain.entered.await(20, TimeUnit.SECONDS));
    var writeA = start(() -> peer("a").touched());
    var writeB = start(() -> peer("b").touched());
    awaitWaiting("a", 1);
    awaitWaiting("b", 1);
    GateGrain.open.countDown();
    assertEquals("b", get(readOfA));
    assertEquals("a", get(readOfB));
    assertEquals("a", get(writeA));
    assertEquals("b", get(writeB));
  }

  /** The write that waits at b must not keep the copying a from what the older read waits for. */
  @ParameterizedTest
  @EnumSource
  void aWriteThatWaitsIsNoPartOfADeadlock(Place place) throws Exception {
    place(place);
    var read = start(() -> peer("b").nameOf("a"));
    GateGrain.entered.await();
    var write = start(() -> peer("b").touched());
    awaitWaiting("b", 1);
    var copy = start(() -> peer("a").copied("b"));
    awaitWaiting("b", 2);
    GateGrain.open.countDown();
    assertEquals("a", get(read));
    assertEquals("b", get(write));
    assertEquals("b", get(copy));
    assertEquals(List.of("b.nameOf", "a.copied", "b.name", "a.name", "b.touched"), ENTERED);
  }

  @Test
  void thatAnOlderChainWaitsIsToldAgainIfTheMessageIsLost() throws Exception {
    var lost = new AtomicBoolean();
    wired.wire =
        (from, to, message) -> {
          if (!(message instanceof Message.Hasten) || !lost.compareAndSet(false, true)) {
            wired.deliver(from, to, message);
          }
        };
    aWriteThatWaitsIsNoPartOfADeadlock(Place.APART);
    assertTrue(lost.get());
  }

  /** As above, with another grain between each two. */
  @ParameterizedTest
  @EnumSource
  void ageIsPassedOnThroughAllThatWaits(Place place) throws Exception {
    place(place);
    var read = start(() -> peer("b").nameOf("a2"));
    GateGrain.entered.await();
    var write = start(() -> peer("b").touched());
    awaitWaiting("b", 1);
    var last = start(() -> peer("a1").copiedThrough("b2", "b"));
    awaitWaiting("b", 2);
    var middle = start(() -> peer("a2").copiedThrough("b3", "a1"));
    awaitWaiting("a1", 1);
    GateGrain.open.countDown();
    assertEquals("a2", get(read));
    assertEquals("b", get(write));
    assertEquals("b", get(last));
    assertEquals("a1", get(middle));
  }

  @ParameterizedTest
  @EnumSource
  void aWriteIsNotPassedByReadsOfLaterChains(Place place) throws Exception {
    place(place);
    var read = start(() -> peer("b").nameOf("b2"));
    GateGrain.entered.await();
    var write = start(() -> peer("b").touched());
    awaitWaiting("b", 1);
    var later = start(() -> peer("a").nameThrough("b"));
    WiredNodes.await(
        "the later read", () -> waitingAt(Peer.class, "b") == 2 || ENTERED.contains("b.name"));
    GateGrain.open.countDown();
    assertEquals("b2", get(read));
    assertEquals("b", get(write));
    assertEquals("b", get(later));
    assertTrue(ENTERED.indexOf("b.touched") < ENTERED.indexOf("b.name"), ENTERED::toString);
  }
}
