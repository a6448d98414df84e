package dev.evergreen.cluster;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.pekko.actor.Address;
import org.apache.pekko.cluster.Cluster;

/** How a node comes into a cluster. */
final class Joining {

  private static final int CONNECT_MILLIS = 1_000;
  private static final long KNOCK_NANOS = 1_000_000_000;

  private Joining() {}

  /**
   * Joins by these addresses. The first of them begins a cluster if all others say that there is
   * none: nobody listens there, or a node that has not joined any. One that does not answer may be
   * cut off with a cluster that lives: then none is begun beside it. Blocks until this node takes
   * part, and looks again every second meanwhile.
   *
   * @param seeds none to begin a cluster
   * @param up completed when it does
   * @return false if it did not come about before the deadline
   * @throws IllegalStateException if the thread is interrupted, which it stays
   */
  static boolean join(
      Cluster cluster, List<Seeds.Address> seeds, CompletableFuture<?> up, long deadline) {
    var own = cluster.selfAddress();
    var others = seeds.stream().filter(seed -> !pekko(own, seed).equals(own)).toList();
    boolean begins = seeds.isEmpty() || pekko(own, seeds.getFirst()).equals(own);
    while (System.nanoTime() - deadline < 0) {
      if (begins) {
        beginOrJoin(cluster, others.parallelStream().filter(seed -> !isDown(seed)).toList());
      } else {
        cluster.joinSeedNodes(others.stream().map(seed -> pekko(own, seed)).toList());
      }
      long again = System.nanoTime() + KNOCK_NANOS;
      if (await(up, again - deadline < 0 ? again : deadline)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Pekko begins a cluster with itself, the first, when all others have answered that they have
   * none.
   */
  private static void beginOrJoin(Cluster cluster, List<Seeds.Address> others) {
    var own = cluster.selfAddress();
    if (others.isEmpty()) {
      cluster.join(own);
      return;
    }
    var addresses = new ArrayList<>(List.of(own));
    others.forEach(seed -> addresses.add(pekko(own, seed)));
    cluster.joinSeedNodes(addresses);
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

  /**
   * Whether the host itself says that nobody listens there. One that says nothing may be cut off
   * for the moment.
   */
  private static boolean isDown(Seeds.Address seed) {
    try (var socket = new Socket()) {
      socket.connect(new InetSocketAddress(seed.host(), seed.port()), CONNECT_MILLIS);
      return false;
    } catch (ConnectException e) {
      return true;
    } catch (IOException e) {
      return false;
    }
  }
}
