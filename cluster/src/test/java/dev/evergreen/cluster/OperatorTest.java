package dev.evergreen.cluster;

import static dev.evergreen.cluster.Await.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.cluster.links.LinkSettings;
import dev.evergreen.core.Grain;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.storage.SqliteStorage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What an operator sees and does. */
@Timeout(120)
final class OperatorTest {

  private final List<ClusterNode> nodes = new ArrayList<>();
  private final Queue<String> fenced = new ConcurrentLinkedQueue<>();
  private final SqliteStorage storage;

  OperatorTest(@TempDir Path directory) {
    this.storage = SqliteStorage.open(directory.resolve("states.db"));
  }

  @AfterEach
  void stop() {
    nodes.reversed().forEach(ClusterNode::close);
    storage.close();
  }

  private ClusterNode start(String... seeds) {
    return start(describe(seeds));
  }

  private ClusterNode start(ClusterNode.Builder builder) {
    var node = builder.start();
    nodes.add(node);
    return node;
  }

  private ClusterNode.Builder describe(String... seeds) {
    var builder =
        ClusterNode.builder()
            .name("test")
            .listen("127.0.0.1", 0)
            .operator(0)
            .grain(Ledger.class, Ledger.InState::new)
            .storage(storage)
            .whenFenced(fenced::add);
    return seeds.length == 0 ? builder : builder.seeds(seeds);
  }

  /** Sends a request as it stands, and returns the whole answer. */
  private static String ask(ClusterNode node, String request, String... more) throws IOException {
    int port = node.operatorPort().orElseThrow();
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      var body = more.length == 0 ? "" : more[0];
      var text =
          "%s HTTP/1.1\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n%s"
              .formatted(
                  request,
                  body.length(),
                  more.length < 2 ? "Host: 127.0.0.1:" + port + "\r\n" : more[1],
                  body);
      socket.getOutputStream().write(text.getBytes(StandardCharsets.UTF_8));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static boolean isRefused(ClusterNode node) {
    try {
      ask(node, "GET /members");
      return false;
    } catch (ConnectException e) {
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  @Test
  void membersAreListedOneIsGivenUpAndOneLeaves() throws Exception {
    var first = start();
    var second = start(first.self().address());
    var third = start(first.self().address());
    await("each other", () -> nodes.stream().allMatch(node -> node.members().size() == 3));
    await("being ready", () -> nodes.stream().allMatch(ClusterNode::ready));
    var listed = ask(first, "GET /members");
    assertTrue(listed.contains(first.self() + " is ready and owns "), listed);
    for (var node : nodes) {
      assertTrue(listed.contains(node.self() + " up reachable hosts"), listed);
    }

    assertTrue(ask(first, "POST /down", "10.0.0.9:1").contains("'10.0.0.9:1' is no member"));
    assertTrue(ask(first, "POST /down", first.self().address()).contains("is this node"));
    assertTrue(ask(first, "POST /down", third.self().address()).contains("is given up"));
    await("its end", () -> !third.live() && !fenced.isEmpty());
    await("its being gone", () -> first.members().size() == 2 && second.members().size() == 2);
    second.grains().get(Ledger.class, "l").put("second", 1);

    assertTrue(ask(second, "POST /drain").contains(second.self() + " has left"));
    assertFalse(second.live());
    // While its port is being closed, who has just come is cut off.
    await("its port being closed", () -> isRefused(second));
    await("being alone", () -> first.members().size() == 1 && first.ownedPartitions() == 128);
    assertEquals(1L, first.grains().get(Ledger.class, "l").entries().get("second"));
    assertEquals(1, fenced.size());
  }

  /**
   * Of two the one with the lower address is the majority, unless an operator says otherwise. A
   * guest has no part in that: if it gave up that one, the other would end, too.
   */
  @Test
  void ofTwoNodesThatHostGrainsEitherMayBeGivenUp() throws Exception {
    var first = start(describe().listen("127.0.0.2", 0));
    var lower = start(first.self().address());
    var guest = start(describe(first.self().address()).hostsNoGrains());
    await("all being ready", () -> nodes.stream().allMatch(ClusterNode::ready));
    lower.grains().get(Ledger.class, "l").put("before", 1);

    for (var host : List.of(first, lower)) {
      var answer = ask(guest, "POST /down", host.self().address());
      assertTrue(answer.contains("400 ") && answer.contains("only the other of ["), answer);
    }
    assertTrue(nodes.stream().allMatch(ClusterNode::live));
    assertTrue(ask(first, "POST /down", guest.self().address()).contains("is given up"));
    assertTrue(ask(first, "POST /down", lower.self().address()).contains("is given up"));
    await("their end", () -> !lower.live() && !guest.live() && fenced.size() == 2);
    await("their being gone", () -> first.members().size() == 1 && first.ownedPartitions() == 128);
    assertTrue(first.live());
    var ledger = first.grains().get(Ledger.class, "l");
    ledger.put("after", 2);
    assertEquals(Map.of("before", 1L, "after", 2L), ledger.entries());
    var next = start(first.self().address());
    await("being ready", next::ready);
  }

  interface Held extends Grain {
    void hold();
  }

  /** Holds its turn until it may go on. */
  private record HeldGrain(CountDownLatch held, CountDownLatch mayGoOn) implements Held {
    @Override
    public void hold() {
      held.countDown();
      try {
        mayGoOn.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  @Test
  void allWhoDrainANodeAreAnsweredWhenItHasLeft() throws Exception {
    var held = new CountDownLatch(1);
    var mayGoOn = new CountDownLatch(1);
    var first = start(describe().grain(Held.class, context -> () -> {}));
    var leaving =
        start(
            describe(first.self().address())
                .grain(Held.class, context -> new HeldGrain(held, mayGoOn))
                .settings(NodeSettings.DEFAULT.withStopGrace(Duration.ofSeconds(60))));
    await("both being ready", () -> nodes.stream().allMatch(ClusterNode::ready));
    // With so many of 128, one of 64 grains is there but for one run in 50,000.
    await("its having partitions", () -> leaving.ownedPartitions() >= 20);
    var calls = new ArrayList<CompletableFuture<Void>>();
    for (int i = 0; i < 64; i++) {
      var grain = first.grains().get(Held.class, "h" + i);
      calls.add(CompletableFuture.runAsync(grain::hold, Thread::startVirtualThread));
    }
    held.await();

    var drains = new ArrayList<CompletableFuture<String>>();
    drains.add(drain(leaving));
    await("the first drain", () -> !leaving.ready());
    drains.add(drain(leaving));
    drains.add(drain(leaving));
    var closing = CompletableFuture.runAsync(leaving::close);
    var members = ask(leaving, "GET /members");
    assertTrue(members.contains(leaving.self() + " is not ready"), members);
    assertTrue(drains.stream().noneMatch(CompletableFuture::isDone) && !closing.isDone());
    mayGoOn.countDown();

    for (var drain : drains) {
      assertTrue(drain.get().contains(leaving.self() + " has left"), drain.get());
    }
    closing.get();
    for (var call : calls) {
      call.get();
    }
    await("being alone", () -> first.members().size() == 1 && first.ownedPartitions() == 128);
    assertTrue(fenced.isEmpty());
  }

  private static CompletableFuture<String> drain(ClusterNode node) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            return ask(node, "POST /drain");
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        },
        Thread::startVirtualThread);
  }

  @Test
  void whoIsGivenUpWhileItJoinsDoesNotStartAndLeavesNothingBehind() throws Exception {
    var first = start();
    await("being ready", first::ready);
    // The links refuse each other, so that it is let in and then waits for connections.
    var joining =
        describe(first.self().address())
            .joinWithin(Duration.ofMinutes(10))
            .links(shipped -> LinkSettings.of("another"));
    var starting = CompletableFuture.supplyAsync(joining::start);
    await("its being let in", () -> first.members().size() == 2);
    var other =
        first.members().stream()
            .map(member -> member.id().address())
            .filter(address -> !address.equals(first.self().address()))
            .findAny()
            .orElseThrow();

    assertTrue(ask(first, "POST /down", other).contains("is given up"));
    var failure = assertThrows(CompletionException.class, starting::join);
    var reason = String.valueOf(failure.getMessage());
    assertTrue(reason.contains("could not join the cluster"), reason);
    assertTrue(reason.contains("as it was stopped: "), reason);
    await("its being told", () -> fenced.size() == 1);
    await("being alone", () -> first.members().size() == 1 && first.ownedPartitions() == 128);
    var next = start(first.self().address());
    await("being ready", next::ready);
  }

  @Test
  void nobodyElseIsServed() throws Exception {
    var node = start();
    await("being ready", node::ready);
    int port = node.operatorPort().orElseThrow();
    for (var headers :
        List.of(
            "Host: evil.example:" + port + "\r\n",
            "Host: 127.0.0.1:" + port + "\r\nOrigin: http://127.0.0.1:" + port + "\r\n",
            "Host: localhost\r\nSec-Fetch-Site: none\r\n")) {
      assertTrue(ask(node, "POST /drain", "", headers).startsWith("HTTP/1.1 403"), headers);
    }
    assertTrue(ask(node, "GET /drain").startsWith("HTTP/1.1 404"));
    assertTrue(node.live() && node.ready());
    for (var network : Collections.list(NetworkInterface.getNetworkInterfaces())) {
      for (var address : Collections.list(network.getInetAddresses())) {
        if (!address.isLoopbackAddress()) {
          assertThrows(IOException.class, () -> new Socket(address, port).close());
        }
      }
    }
    var silent = ClusterNode.builder().listen("127.0.0.1", 0).memoryOfEachProcess().start();
    nodes.add(silent);
    assertTrue(silent.operatorPort().isEmpty());
  }
}
