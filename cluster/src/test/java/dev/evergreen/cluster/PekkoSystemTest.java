package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.typesafe.config.Config;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What Pekko is told. */
final class PekkoSystemTest {

  private static Config config(Duration stopGrace) {
    var settings =
        new ClusterSettings(
            "test",
            "127.0.0.1",
            "127.0.0.1",
            0,
            0,
            OptionalInt.empty(),
            true,
            128,
            new Seeds.None(),
            Duration.ofSeconds(60),
            Optional.empty(),
            false,
            false);
    return PekkoSystem.config(settings, 1, stopGrace);
  }

  /** Else another node would have the partition while they run. */
  @Test
  void runningTurnsHaveTheirGraceBeforePekkoLosesItsPatience() {
    for (var grace : List.of(Duration.ZERO, Duration.ofSeconds(5), Duration.ofMinutes(2))) {
      var config = config(grace);
      // Pekko ends what is not handed off 5 s sooner.
      var handOff = config.getDuration("pekko.cluster.sharding.handoff-timeout").minusSeconds(5);
      assertTrue(handOff.compareTo(grace.plusSeconds(5)) >= 0, handOff::toString);
      for (var phase :
          List.of("cluster-sharding-shutdown-region", "before-actor-system-terminate")) {
        var patience =
            config.getDuration("pekko.coordinated-shutdown.phases." + phase + ".timeout");
        assertTrue(patience.compareTo(grace) > 0, () -> phase + " " + patience);
      }
    }
    assertEquals(
        Duration.ofSeconds(15),
        config(Duration.ofSeconds(5)).getDuration("pekko.cluster.sharding.handoff-timeout"));
  }

  /** What the system property is set to, and what the error must name. */
  @ParameterizedTest
  @CsvSource({
    "pekko.cluster.downing-provider-class, '', dev.evergreen.cluster.Downing",
    "pekko.cluster.downing-provider-class, com.example.Mine, dev.evergreen.cluster.Downing",
    "pekko.cluster.split-brain-resolver.active-strategy, keep-oldest, keep-majority",
    "pekko.cluster.split-brain-resolver.active-strategy, down-all, keep-majority",
    "pekko.cluster.split-brain-resolver.keep-majority.role, '', grains",
    "pekko.cluster.split-brain-resolver.stable-after, 0 s, a time above 0",
    "pekko.cluster.split-brain-resolver.down-all-when-unstable, on, off",
    "pekko.cluster.split-brain-resolver.down-all-when-unstable, 10 s, off",
    "pekko.cluster.min-nr-of-members, 3, 1",
    "pekko.cluster.role.grains.min-nr-of-members, 2, 1",
    "pekko.cluster.run-coordinated-shutdown-when-down, off, on",
    "pekko.cluster.seed-node-timeout, 5 s, at least 60 s",
    "pekko.cluster.down-removal-margin, off, a time above 0",
    "pekko.cluster.down-removal-margin, 0 s, a time above 0",
    "pekko.cluster.multi-data-center.self-data-center, west, default",
    "pekko.cluster.configuration-compatibility-check.enforce-on-join, false, on",
    "pekko.cluster.configuration-compatibility-check.checkers.evergreen, '', SamePartitions",
    "pekko.cluster.failure-detector.implementation-class, org.apache.pekko.remote.PhiAccrualFailureDetector, CrashDetector",
    "pekko.cluster.failure-detector.implementation-class, '', CrashDetector",
    "pekko.cluster.sharding.passivation.strategy, default-strategy, none",
    "pekko.cluster.sharding.passivate-idle-entity-after, 2 m, null",
    "pekko.cluster.sharding.remember-entities, on, off",
    "pekko.cluster.sharding.state-store-mode, persistence, ddata",
    "pekko.actor.provider, local, cluster",
    "pekko.jvm-shutdown-hooks, on, off",
    "pekko.coordinated-shutdown.run-by-jvm-shutdown-hook, on, off",
    "pekko.cluster.sharding.handoff-timeout, 1 s, builder",
    "pekko.cluster.roles.0, mine, links-1",
    "pekko.remote.artery.bind.hostname, 0.0.0.0, 127.0.0.1",
    "evergreen.cluster.partitions, 64, 128",
  })
  void aSettingThatBreaksAPromiseIsRefusedByAnErrorThatNamesIt(
      String key, String given, String expected) {
    var failure =
        assertThrows(
            IllegalArgumentException.class,
            () -> Overridden.by(Map.of(key, given), () -> config(Duration.ofSeconds(5))));
    var setting = key.endsWith(".0") ? key.substring(0, key.length() - 2) : key;
    for (var part : List.of(setting, given, expected, "Take the system property away")) {
      assertTrue(String.valueOf(failure.getMessage()).contains(part), failure::toString);
    }
  }

  @Test
  void otherSettingsMayBeChanged() {
    var changed =
        Overridden.by(
            Map.of("pekko.cluster.failure-detector.acceptable-heartbeat-pause", "7 s"),
            () -> config(Duration.ofSeconds(5)));
    assertEquals(
        Duration.ofSeconds(7),
        changed.getDuration("pekko.cluster.failure-detector.acceptable-heartbeat-pause"));
  }
}
