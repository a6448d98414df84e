package dev.evergreen.cluster;

import com.typesafe.config.Config;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pekko.event.EventStream;
import org.apache.pekko.remote.PhiAccrualFailureDetector;

/**
 * Pekko's failure detector, which also believes the evidence that a process has ended: its
 * connections were reset and its host refuses new ones. Made by Pekko, one for each node that is
 * watched, by its name in the settings.
 */
public final class CrashDetector extends PhiAccrualFailureDetector {

  /** The addresses of dead processes, by the system whose instances watch them; until it ends. */
  private static final Map<EventStream, Set<String>> DEAD =
      Collections.synchronizedMap(new WeakHashMap<>());

  private final Set<String> dead;
  private volatile String address = "";

  /** Called by Pekko. */
  public CrashDetector(Config config, EventStream system) {
    super(config, system);
    this.dead = of(system);
  }

  /** The dead as one system knows them; changes are seen at once. */
  static Set<String> of(EventStream system) {
    return DEAD.computeIfAbsent(system, made -> ConcurrentHashMap.newKeySet());
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

  @Override
  public void setAddress(String watched) {
    super.setAddress(watched);
    address = watched;
  }

  @Override
  public boolean isAvailable() {
    return !dead.contains(address) && super.isAvailable();
  }
}
