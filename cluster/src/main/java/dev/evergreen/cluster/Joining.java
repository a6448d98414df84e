package dev.evergreen.cluster;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.pekko.actor.Address;
import org.apache.pekko.cluster.Cluster;

/** How a node comes into a cluster. */
final class Joining {

  private static final long KNOCK_NANOS = 1_000_000_000;

  private Joining() {}

  /**
   * Joins by these addresses. The first of them begins a cluster when all others have answered that
   * they are in none. Nothing else proves it: whoever is silent may be cut off with a cluster that
   * lives, and who refuses connections may be a firewall. Blocks until this node takes part, and
   * asks anew every second meanwhile, so that no answer counts that is older.
   *
   * @param seeds none to begin a cluster
   * @param up completed when it does
   * @return false if it did not come about before the deadline
   * @throws IllegalStateException if the thread is interrupted, which it stays
   */
  static boolean join(
      Cluster cluster, List<Seeds.Address> seeds, CompletableFuture<?> up, long deadline) {
    var own = cluster.selfAddress();
    var addresses = seeds.stream().map(seed -> pekko(own, seed)).distinct().toList();
    while (System.nanoTime() - deadline < 0) {
      cluster.joinSeedNodes(addresses.isEmpty() ? List.of(own) : addresses);
      long again = System.nanoTime() + KNOCK_NANOS;
      if (await(up, again - deadline < 0 ? again : deadline)) {
        return true;
      }
    }
    return false;
  }

  private static boolean await(CompletableFuture<?> up, long deadline) {
    try {
      up.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while the node joined its cluster", e);
    } catch (ExecutionException | TimeoutException e) {
      return false;
    }
  }

  private static Address pekko(Address own, Seeds.Address seed) {
    return new Address(own.protocol(), own.system(), seed.host(), seed.port());
  }
}
