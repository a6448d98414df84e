package dev.evergreen.core;

import static dev.evergreen.core.TestGrains.SOON;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.TestGrains.Gate;
import dev.evergreen.core.TestGrains.GateGrain;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Who may pass a write that waits. */
class AdmissionTest {

  interface Peer extends Grain {
    @ReadOnly
    String name();

    /** Waits for the gate, then reads the other. */
    @ReadOnly
    String nameOf(String other);

    /** A write. */
    String touched();
  }

  private static final class PeerGrain implements Peer {
    private final GrainContext<String> context;

    PeerGrain(GrainContext<String> context) {
      this.context = context;
    }

    @Override
    public String name() {
      return context.key();
    }

    @Override
    public String nameOf(String other) {
      context.grains().get(Gate.class, context.key()).readWhenOpen();
      return context.grains().get(Peer.class, other).name();
    }

    @Override
    public String touched() {
      return context.key();
    }
  }

  private final Node node = TestGrains.node().grain(Peer.class, PeerGrain::new).start();

  @AfterEach
  void stop() {
    node.close();
  }

  private Peer peer(String key) {
    return node.grains().withTimeout(SOON).get(Peer.class, key);
  }

  @Test
  void grainsThatReadEachOtherDoNotWaitForEachOtherWhenEachHasAWriteWaiting() throws Exception {
    GateGrain.entered = new CountDownLatch(2);
    GateGrain.open = new CountDownLatch(1);
    var a = start(() -> peer("a").nameOf("b"));
    var b = start(() -> peer("b").nameOf("a"));
    assertTrue(GateGrain.entered.await(20, TimeUnit.SECONDS));
    var writeA = start(() -> peer("a").touched());
    var writeB = start(() -> peer("b").touched());
    while (node.counts().calls() < 4) {
      Thread.sleep(1);
    }
    GateGrain.open.countDown();
    assertEquals("b", a.get(10, TimeUnit.SECONDS));
    assertEquals("a", b.get(10, TimeUnit.SECONDS));
    assertEquals("a", writeA.get(10, TimeUnit.SECONDS));
    assertEquals("b", writeB.get(10, TimeUnit.SECONDS));
  }

  private static CompletableFuture<String> start(Supplier<String> call) {
    var result = new CompletableFuture<String>();
    Thread.startVirtualThread(() -> result.completeAsync(call, Runnable::run));
    return result;
  }
}
