package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * What {@link CrashTest} has, where nodes leave and join, or are paused for so long that the others
 * give them up. Their states are in PostgreSQL, and those of the others in a file.
 */
@Timeout(value = 60, unit = TimeUnit.MINUTES)
final class ChurnTest {

  private static final List<String> OPTIONS = List.of("postgres");

  @RegisterExtension static final SharedCluster shared = SharedCluster.onThisMachine();

  @Test
  void aNodeThatWasPausedUntilTheOthersGaveItUpIsFencedAndItsProcessExits() throws Exception {
    shared.with(
        OPTIONS,
        cluster -> {
          cluster.write();
          cluster.probe();
          var paused = cluster.drop("n2");
          int mark = paused.mark();
          paused.pause();
          cluster.probe();
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
        });
  }

  @Test
  void nodesLeaveAndJoinUnderLoadWithoutErrorsThatCannotBeRetried() throws Exception {
    shared.with(
        OPTIONS,
        cluster -> {
          var marks = new HashMap<NodeProcess, Integer>();
          cluster.nodes().forEach(node -> marks.put(node, node.mark()));
          cluster.write();
          var errors = new ArrayList<String>();
          for (var name : SharedCluster.NAMES) {
            cluster.probe();
            var leaving = cluster.drop(name);
            leaving.leave();
            errors.addAll(errors(leaving, marks));
            cluster.probe();
            cluster.start(name);
            cluster.node(name).tell("write");
          }
          cluster.still();
          cluster.assertAllTrue();
          cluster.nodes().forEach(node -> errors.addAll(errors(node, marks)));
          assertEquals(List.of(), errors);
          cluster
              .nodes()
              .forEach(node -> assertTrue(node.ask("state", "state").contains("ready=true")));
        });
  }

  /** Since the test began. */
  private static List<String> errors(NodeProcess node, Map<NodeProcess, Integer> marks) {
    return node.toldSince(marks.getOrDefault(node, 0), "trouble").stream()
        .filter(line -> !line.startsWith("trouble not-started"))
        .map(line -> node.name() + ": " + line)
        .toList();
  }
}
