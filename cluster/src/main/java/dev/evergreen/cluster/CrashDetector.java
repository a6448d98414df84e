package dev.evergreen.cluster;

import com.typesafe.config.Config;
import dev.evergreen.core.spi.NodeId;
import java.util.Collection;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pekko.event.EventStream;
import org.apache.pekko.remote.PhiAccrualFailureDetector;

/**
 * Pekko's failure detector, which also believes what the links know: that a process has ended, as
 * its connections were reset and its host refuses new ones; or that a node is heard of by Pekko
 * alone, so that calls do not reach the grains that it has. Made by Pekko, one for each node that
 * is watched, by its name in the settings, which may name a class that extends it.
 */
public class CrashDetector extends PhiAccrualFailureDetector {

  /** Each as {@code host:port}, by the system whose instances watch them; until it ends. */
  private static final Map<EventStream, Set<String>> MISSED =
      Collections.synchronizedMap(new WeakHashMap<>());

  private final Set<String> missed;
  private volatile String address = "";

  /** Called by Pekko. */
  public CrashDetector(Config config, EventStream system) {
    super(config, system);
    this.missed = of(system);
  }

  /** Whom the links of one system miss, each as {@code host:port}; changes are seen at once. */
  static Set<String> of(EventStream system) {
    return MISSED.computeIfAbsent(system, made -> ConcurrentHashMap.newKeySet());
  }

  /**
   * Whether a node may act on evidence: if it is connected to more than half of the cluster, itself
   * included. The smaller part of a split cluster, where the network refuses connections, would
   * otherwise declare the larger one dead. Of two nodes each may.
   *
   * @param connected the other nodes that it has a connection to
   * @param members the nodes of the cluster, itself and the one in question included
   */
  static boolean mayJudge(int connected, int members) {
    return members <= 2 || 2 * (connected + 1) > members;
  }

  /**
   * Whether all who are heard miss a node, too: then it is dead, and not only a wire to it cut. Of
   * two that miss each other, while others hear both, neither is to give up the other by itself.
   *
   * @param heard those who decide, but for this node, the one in question, and whom this node
   *     misses
   * @param missedBy who misses whom
   * @param members how many are in the cluster, whether they decide or not
   */
  static boolean allMiss(
      NodeId other, Collection<NodeId> heard, Map<NodeId, Set<NodeId>> missedBy, int members) {
    // In larger clusters not each is watched by all.
    return members > FewestDown.ALL_WATCHED
        || missedBy.getOrDefault(other, Set.of()).containsAll(heard);
  }

  @Override
  public void setAddress(String watched) {
    super.setAddress(watched);
    address = watched.substring(watched.indexOf('@') + 1);
  }

  @Override
  public boolean isAvailable() {
    return !missed.contains(address) && super.isAvailable();
  }
}
