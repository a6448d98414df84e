package dev.evergreen.cluster;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.MethodOrderer.OrderAnnotation;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Three processes that write to ledgers and track all of them, each a publisher and a subscriber,
 * one the coordinator of sharding; and one of them is killed, and started again. What design §4
 * promises holds afterwards, and no acknowledged write is lost.
 */
@Timeout(value = 60, unit = TimeUnit.MINUTES)
@TestMethodOrder(OrderAnnotation.class)
final class CrashTest {

  @RegisterExtension static final SharedCluster shared = SharedCluster.onThisMachine();

  /** How many kills a run makes; 2 in the ordinary run. */
  private static int kills() {
    return Integer.getInteger("evergreen.kills", 2);
  }

  @Test
  void afterAKillEveryTrackerIsRightAgainAndNoAcknowledgedWriteIsLost() throws Exception {
    killAgainAndAgain("shipped settings", List.of(), kills());
  }

  /** With pings in the place of a fence there is a margin, which is a short one then. */
  @Order(1) // the others share theirs
  @ParameterizedTest
  @ValueSource(strings = {"evidence", "evidence pings"})
  void withTheEvidenceOfDeadConnectionsItIsSooner(String options) throws Exception {
    killAgainAndAgain(options, List.of(options.split(" ", -1)), Math.max(1, kills() / 3));
  }

  private static void killAgainAndAgain(String what, List<String> options, int kills)
      throws Exception {
    shared.with(
        options,
        cluster -> {
          var seconds = new ArrayList<Double>();
          for (int kill = 1; kill <= kills; kill++) {
            var victim = cluster.oldest().name();
            cluster.write();
            cluster.probe();
            long killed = System.nanoTime();
            cluster.drop(victim).kill();
            cluster.probe();
            seconds.add((System.nanoTime() - killed) / 1e9);
            cluster.still();
            cluster.assertAllTrue();
            cluster.start(victim);
          }
          cluster.assertAllTrue();
          System.out.printf(
              "  %s: every tracker right again after %.1f s at most: %s%n",
              what,
              Collections.max(seconds),
              seconds.stream().map("%.1f"::formatted).collect(Collectors.joining(" ")));
        });
  }
}
