package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Three processes that write to ledgers and track all of them, each a publisher and a subscriber,
 * one the coordinator of sharding; and one of them is killed, paused, restarted. What design §4
 * promises holds afterwards, and no acknowledged write is lost.
 */
@Timeout(value = 60, unit = TimeUnit.MINUTES)
final class CrashTest {

  private static final String[] NAMES = {"n1", "n2", "n3"};

  private final Path directory;

  CrashTest(@TempDir Path directory) {
    this.directory = directory;
  }

  /** How many kills a run makes; 3 in the ordinary run. */
  private static int kills() {
    return Integer.getInteger("evergreen.kills", 3);
  }

  @Test
  void afterAKillEveryTrackerIsRightAgainAndNoAcknowledgedWriteIsLost() throws Exception {
    killAgainAndAgain("shipped settings", List.of(), kills());
  }

  /** With pings in the place of a fence there is a margin, which is a short one then. */
  @ParameterizedTest
  @ValueSource(strings = {"evidence", "evidence pings"})
  void withTheEvidenceOfDeadConnectionsItIsSooner(String options) throws Exception {
    killAgainAndAgain(options, List.of(options.split(" ", -1)), Math.max(1, kills() / 3));
  }

  private void killAgainAndAgain(String what, List<String> options, int kills) throws Exception {
    try (var cluster = new Processes(directory, options, NAMES)) {
      cluster.start(NAMES);
      var seconds = new ArrayList<Double>();
      for (int kill = 1; kill <= kills; kill++) {
        // The first in turn is the oldest of all, which coordinates.
        var victim = NAMES[(kill - 1) % NAMES.length];
        cluster.write();
        cluster.probe(2L * kill - 1);
        long killed = System.nanoTime();
        cluster.drop(victim).kill();
        cluster.probe(2L * kill);
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
    }
  }

  @Test
  void aNodeThatWasPausedUntilTheOthersGaveItUpIsFencedAndItsProcessExits() throws Exception {
    try (var cluster = new Processes(directory, List.of(), NAMES)) {
      cluster.start(NAMES);
      cluster.write();
      cluster.probe(1);
      var paused = cluster.drop("n2");
      int mark = paused.mark();
      paused.pause();
      cluster.probe(2);
      cluster.awaitReady();
      paused.resume();
      assertEquals(75, paused.exitValue());
      assertEquals(
          LedgerNode.LEDGERS,
          paused.toldSince(mark, "tracker-ended NodeStoppedException").size(),
          "trackers that ended with a clear exception");
      cluster.still();
      cluster.assertAllTrue();
      cluster.start("n2");
      cluster.assertAllTrue();
    }
  }

  @Test
  void nodesLeaveAndJoinUnderLoadWithoutErrorsThatCannotBeRetried() throws Exception {
    try (var cluster = new Processes(directory, List.of(), NAMES)) {
      cluster.start(NAMES);
      cluster.write();
      long probe = 0;
      var errors = new ArrayList<String>();
      for (var name : NAMES) {
        cluster.probe(++probe);
        var leaving = cluster.drop(name);
        leaving.leave();
        errors.addAll(errors(leaving));
        cluster.probe(++probe);
        cluster.start(name);
        cluster.node(name).tell("write");
      }
      cluster.still();
      cluster.assertAllTrue();
      cluster.nodes().forEach(node -> errors.addAll(errors(node)));
      assertEquals(List.of(), errors);
      Arrays.stream(NAMES)
          .forEach(
              name -> assertTrue(cluster.node(name).ask("state", "state").contains("ready=true")));
    }
  }

  private static List<String> errors(NodeProcess node) {
    return node.toldSince(0, "trouble").stream()
        .filter(line -> !line.startsWith("trouble not-started"))
        .map(line -> node.name() + ": " + line)
        .toList();
  }
}
