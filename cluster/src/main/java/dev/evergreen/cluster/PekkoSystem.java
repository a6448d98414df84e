package dev.evergreen.cluster;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigException;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigParseOptions;
import com.typesafe.config.ConfigValueFactory;
import dev.evergreen.cluster.links.LinkSecurity;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.BootstrapSetup;
import org.apache.pekko.actor.setup.ActorSystemSetup;
import org.jspecify.annotations.Nullable;

/** Makes Pekko's actor system for a node. */
final class PekkoSystem {

  private static final String MARGIN = "pekko.cluster.down-removal-margin";
  private static final String TRANSPORT = "pekko.remote.artery.transport";
  private static final String BIND = "pekko.remote.artery.bind.hostname";
  private static final String PHASE = "pekko.coordinated-shutdown.phases.%s.timeout";

  /**
   * What a hand-off may take beyond the grace of running turns; Pekko keeps 5 s of it. Short, since
   * nobody has the partition so long if its owner dies meanwhile.
   */
  private static final Duration HAND_OFF = Duration.ofSeconds(10);

  private static final Duration PHASE_TIME = Duration.ofSeconds(15);

  private PekkoSystem() {}

  /**
   * @param linkPort which the others are told
   * @param stopGrace how long running turns may go on when their partition is handed off
   */
  static ActorSystem start(
      ClusterSettings settings, int linkPort, Duration stopGrace, @Nullable LinkSecurity security) {
    var setup =
        ActorSystemSetup.create(BootstrapSetup.create(config(settings, linkPort, stopGrace)));
    if (security != null) {
      setup = setup.withSetup(new ArteryTls.Security(security));
    }
    return ActorSystem.create(settings.name(), setup);
  }

  /** How long after a node was given up others get what it had. */
  static Duration downRemovalMargin(ActorSystem system) {
    return downRemovalMargin(system.settings().config());
  }

  private static Duration downRemovalMargin(Config config) {
    Duration margin;
    try {
      margin = config.getDuration(MARGIN);
    } catch (ConfigException e) {
      margin = Duration.ZERO;
    }
    if (!margin.isPositive()) {
      throw new IllegalArgumentException(
          MARGIN + " must be a time above 0, but is " + config.getValue(MARGIN).unwrapped());
    }
    return margin;
  }

  /** Whatever system properties say: nothing is open that shall be closed. */
  private static Config checked(Config config, ClusterSettings settings) {
    downRemovalMargin(config);
    var transport = config.getString(TRANSPORT);
    if (settings.security().isPresent() && !transport.equals("tls-tcp")) {
      throw new IllegalArgumentException(
          TRANSPORT + " must be tls-tcp for a node with keys, but is " + transport);
    }
    settings.checkReach(config.getString(BIND));
    return config;
  }

  /** System properties come first, then what follows from the settings, then {@code pekko.conf}. */
  static Config config(ClusterSettings settings, int linkPort, Duration stopGrace) {
    var roles = new ArrayList<>(List.of(Member.linkRole(linkPort)));
    if (settings.hosts()) {
      roles.add(Member.HOSTS);
    }
    Map<String, Object> ours = new HashMap<>();
    ours.put("pekko.remote.artery.canonical.hostname", settings.host());
    ours.put("pekko.remote.artery.canonical.port", settings.port());
    ours.put(BIND, settings.bindHost());
    ours.put("pekko.cluster.roles", roles);
    ours.put(SamePartitions.KEY, settings.partitions());
    // What is handed off too slowly Pekko gives to others although turns still run.
    ours.put("pekko.cluster.sharding.handoff-timeout", stopGrace.plus(HAND_OFF));
    ours.put(PHASE.formatted("cluster-sharding-shutdown-region"), stopGrace.plus(PHASE_TIME));
    ours.put(PHASE.formatted("before-actor-system-terminate"), stopGrace.plus(PHASE_TIME));
    if (settings.crashEvidence()) {
      ours.put(
          "pekko.cluster.failure-detector.implementation-class", CrashDetector.class.getName());
      // Who is surely dead needs no time to notice it.
      ours.put(MARGIN, "100 ms");
    }
    if (settings.security().isPresent()) {
      ours.put(TRANSPORT, "tls-tcp");
      ours.put("pekko.remote.artery.ssl.ssl-engine-provider", ArteryTls.class.getName());
    }
    Config overrides = ConfigFactory.empty();
    for (var entry : ours.entrySet()) {
      overrides =
          overrides.withValue(entry.getKey(), ConfigValueFactory.fromAnyRef(entry.getValue()));
    }
    var shipped =
        ConfigFactory.parseResources(
            PekkoSystem.class, "pekko.conf", ConfigParseOptions.defaults().setAllowMissing(false));
    return checked(ConfigFactory.load(overrides.withFallback(shipped)), settings);
  }
}
