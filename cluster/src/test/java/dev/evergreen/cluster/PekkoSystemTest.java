package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.typesafe.config.Config;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

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
}
