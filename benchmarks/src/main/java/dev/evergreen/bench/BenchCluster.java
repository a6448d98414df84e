package dev.evergreen.bench;

import com.typesafe.config.ConfigFactory;
import dev.evergreen.cluster.ClusterNode;
import dev.evergreen.cluster.Member;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.spi.LinkCounts;
import dev.evergreen.reports.NodeReport;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A cluster of this process, which measures, and child processes, which host grains. Children end
 * with it.
 */
final class BenchCluster implements AutoCloseable {

  /** Of a cluster, unless it is told another number. */
  private static final int PARTITIONS = 128;

  /** How long a cache without readers stays: short, so that first reads can be measured again. */
  static final Duration GRACE = Duration.ofMillis(1);

  /** A busy machine is no dead node. */
  private static final String PATIENCE_NAME =
      "pekko.cluster.failure-detector.acceptable-heartbeat-pause";

  private static final String PATIENCE = "60s";

  /** Of children. */
  static final List<String> JVM_OPTIONS =
      List.of(
          "--enable-native-access=ALL-UNNAMED",
          "--sun-misc-unsafe-memory-access=allow",
          "-XX:+ExitOnOutOfMemoryError",
          "-D" + PATIENCE_NAME + "=" + PATIENCE);

  /** Who takes part. */
  enum Role {
    /** This process hosts grains, too. */
    HOST,
    /** This process only calls. */
    CALLER,
    /** As {@link #CALLER}; and there is a cluster of Pekko's own beside it. */
    CALLER_WITH_PEKKO
  }

  private final ClusterNode node;
  private final @Nullable PekkoAsk pekko;
  private final List<HostProcess> hosts = new ArrayList<>();

  private BenchCluster(ClusterNode node, @Nullable PekkoAsk pekko) {
    this.node = node;
    this.pekko = pekko;
  }

  /** A node that can host all grains of the experiments. */
  static ClusterNode.Builder describe() {
    return ClusterNode.builder()
        .name("bench")
        .grain(RemoteEcho.class, RemoteEcho.RemoteEchoGrain::new)
        .grain(Item.class, Item.ItemGrain::new)
        .grain(View.class, View.ViewGrain::new)
        .grain(Writer.class, Writer.WriterGrain::new)
        .tracing(TracedCalls.tracing())
        .settings(NodeSettings.DEFAULT.withCacheGrace(GRACE).withIdleAfter(Duration.ofHours(1)))
        .memoryOfEachProcess();
  }

  /**
   * Starts a cluster and waits until every grain can be called from here.
   *
   * @param processes how many there are with this one, at least 2
   */
  static BenchCluster start(int processes, Role role) throws IOException {
    System.setProperty(PATIENCE_NAME, PATIENCE);
    ConfigFactory.invalidateCaches();
    var builder = describe().listen("127.0.0.1", 0);
    var node = (role == Role.HOST ? builder : builder.hostsNoGrains()).start();
    var cluster = new BenchCluster(node, role == Role.CALLER_WITH_PEKKO ? new PekkoAsk() : null);
    try {
      cluster.startHosts(processes - 1);
      return cluster;
    } catch (IOException | RuntimeException e) {
      cluster.close();
      throw e;
    }
  }

  private void startHosts(int count) throws IOException {
    var address = pekko == null ? "-" : pekko.address();
    for (int i = 0; i < count; i++) {
      hosts.add(HostProcess.start(node.self().address(), address));
    }
    hosts.forEach(HostProcess::awaitReady);
    while (node.members().size() <= count || !node.ready() || !allReady() || !hasItsShare()) {
      LockSupport.parkNanos(Duration.ofMillis(50).toNanos());
    }
  }

  /** Grains that move later would forget their observers, which are in no state. */
  private boolean hasItsShare() {
    var hosting = node.members().stream().filter(Member::hosts).toList();
    boolean hosts = hosting.stream().anyMatch(member -> member.id().equals(node.self()));
    return !hosts || Math.abs(node.ownedPartitions() - PARTITIONS / hosting.size()) <= 1;
  }

  private boolean allReady() {
    return hosts.stream().allMatch(host -> host.ask("state")[1].equals("true"));
  }

  ClusterNode node() {
    return node;
  }

  List<HostProcess> hosts() {
    return hosts;
  }

  /** Pekko's cluster. */
  PekkoAsk pekko() {
    if (pekko == null) {
      throw new IllegalStateException("this cluster has none of Pekko's beside it");
    }
    return pekko;
  }

  LinkCounts links() {
    return NodeReport.of(node).links();
  }

  /** The processor time of this process so far, in nanoseconds. */
  static long ownNanos() {
    return ProcessHandle.current().info().totalCpuDuration().orElse(Duration.ZERO).toNanos();
  }

  /** The processor time of all hosts so far, in nanoseconds. */
  long hostNanos() {
    return hosts.stream().mapToLong(host -> host.processorTime().toNanos()).sum();
  }

  /** The used heap of all hosts. */
  long hostHeap() {
    return hosts.stream().mapToLong(host -> Long.parseLong(host.ask("heap")[1])).sum();
  }

  /** How many subscriptions the hosts have. */
  long hostSubscriptions() {
    return hosts.stream().mapToLong(host -> Long.parseLong(host.ask("state")[2])).sum();
  }

  /** Waits until nobody reads anything any more. */
  void awaitNothingHeld() {
    while (node.counts().caches() > 0 || hostSubscriptions() > 0) {
      LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
    }
  }

  @Override
  public void close() {
    try {
      node.close();
      if (pekko != null) {
        pekko.close();
      }
    } finally {
      hosts.forEach(HostProcess::close);
    }
  }
}
