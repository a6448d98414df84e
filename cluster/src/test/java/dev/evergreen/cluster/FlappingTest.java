package dev.evergreen.cluster;

import static dev.evergreen.cluster.Await.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.typesafe.config.Config;
import dev.evergreen.storage.SqliteStorage;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.event.EventStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Nodes that are missed and heard of again without an end. */
@Timeout(120)
final class FlappingTest {

  /** By the nodes' addresses. */
  private static volatile Set<String> missed = Set.of();

  /** The witness's, which hears nothing of those that are missed. */
  public static final class Deaf extends CrashDetector {
    private volatile String watched = "";

    public Deaf(Config config, EventStream system) {
      super(config, system);
    }

    @Override
    public void setAddress(String address) {
      super.setAddress(address);
      watched = address;
    }

    @Override
    public boolean isAvailable() {
      return missed.stream().noneMatch(watched::endsWith) && super.isAvailable();
    }
  }

  private static final String STABLE_AFTER = "pekko.cluster.split-brain-resolver.stable-after";

  /** No step of the test takes so long, also on a busy machine. */
  private static final Map<String, String> SETTINGS = Map.of(STABLE_AFTER, "6 s");

  private static final Map<String, String> OF_THE_WITNESS =
      Map.of(
          STABLE_AFTER,
          "6 s",
          "pekko.cluster.failure-detector.implementation-class",
          Deaf.class.getName());

  /** Twice as long as Pekko waits before it downs all if it is not told otherwise. */
  private static final long FLAPPING_NANOS = TimeUnit.SECONDS.toNanos(21);

  private final List<ClusterNode> nodes = new ArrayList<>();
  private final Queue<String> fenced = new ConcurrentLinkedQueue<>();

  private ClusterNode start(
      Map<String, String> properties, SqliteStorage storage, String... seeds) {
    var builder =
        ClusterNode.builder()
            .name("test")
            .listen("127.0.0.1", 0)
            .grain(Ledger.class, Ledger.InState::new)
            .storage(storage)
            .whenFenced(fenced::add);
    var node =
        Overridden.by(
            properties, () -> (seeds.length == 0 ? builder : builder.seeds(seeds)).start());
    nodes.add(node);
    return node;
  }

  private void miss(ClusterNode witness, String... addresses) {
    missed = Set.of(addresses);
    await(
        "being missed: " + missed,
        () ->
            !fenced.isEmpty()
                || witness.members().stream()
                    .allMatch(
                        member -> member.reachable() != missed.contains(member.id().address())));
  }

  @Test
  void nobodyIsGivenUpWhileNodesComeAndGo(@TempDir Path directory) {
    try (var storage = SqliteStorage.open(directory.resolve("states.db"))) {
      try {
        var witness = start(OF_THE_WITNESS, storage);
        var one = start(SETTINGS, storage, witness.self().address()).self().address();
        var other = start(SETTINGS, storage, witness.self().address()).self().address();
        await("all members", () -> nodes.stream().allMatch(node -> node.members().size() == 3));
        await("being ready", () -> nodes.stream().allMatch(ClusterNode::ready));
        long until = System.nanoTime() + FLAPPING_NANOS;
        while (System.nanoTime() - until < 0) {
          // Some node is missed all the time.
          miss(witness, one);
          miss(witness, one, other);
          miss(witness, other);
          miss(witness, one, other);
        }
        miss(witness);
        assertEquals(List.of(), List.copyOf(fenced));
        for (var node : nodes) {
          node.grains().get(Ledger.class, "l").put(node.self().address(), 1);
        }
      } finally {
        missed = Set.of();
        nodes.reversed().forEach(ClusterNode::close);
      }
    }
  }
}
