package dev.evergreen.cluster;

import com.typesafe.config.Config;
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

  /** The margin of nodes that were only not heard of, where Pekko's is shorter. */
  private static final String FULL_MARGIN = "evergreen.cluster.down-removal-margin";

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

  /** How long after a node was given up others get what it had, if its process has surely ended. */
  static Duration marginByEvidence(ActorSystem system) {
    return system.settings().config().getDuration(PekkoRules.MARGIN);
  }

  /** The same for a node that was only not heard of. */
  static Duration marginOtherwise(ActorSystem system) {
    return system.settings().config().getDuration(FULL_MARGIN);
  }

  /**
   * System properties come first, then what follows from the settings, then {@code pekko.conf}.
   *
   * @throws IllegalArgumentException if a system property breaks what Evergreen promises
   */
  static Config config(ClusterSettings settings, int linkPort, Duration stopGrace) {
    var roles =
        new ArrayList<>(List.of(Member.linkRole(linkPort), Member.joinRole(settings.joinWithin())));
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
      // Who is surely dead needs no time to notice it; for others Tenure keeps the full margin.
      ours.put(PekkoRules.MARGIN, "100 ms");
    }
    if (settings.security().isPresent()) {
      ours.put(TRANSPORT, "tls-tcp");
      ours.put("pekko.remote.artery.ssl.ssl-engine-provider", ArteryTls.class.getName());
    }
    var shipped =
        ConfigFactory.parseResources(
            PekkoSystem.class, "pekko.conf", ConfigParseOptions.defaults().setAllowMissing(false));
    var given = ConfigFactory.systemProperties();
    ours.put(FULL_MARGIN, given.withFallback(shipped).getValue(PekkoRules.MARGIN));
    Config overrides = ConfigFactory.empty();
    for (var entry : ours.entrySet()) {
      overrides =
          overrides.withValue(entry.getKey(), ConfigValueFactory.fromAnyRef(entry.getValue()));
    }
    var config = ConfigFactory.load(overrides.withFallback(shipped));
    PekkoRules.check(config, overrides, settings);
    return config;
  }
}
