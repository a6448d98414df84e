package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.evergreen.cluster.Namespaces.Cut;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Three processes in network namespaces, the oldest of which is cut off from the two others, in
 * each of the ways that wires break; skipped where none can be made.
 */
@Timeout(value = 10, unit = TimeUnit.MINUTES)
final class SplitTest {

  @RegisterExtension static final SharedCluster shared = SharedCluster.inNamespaces();

  /**
   * The more telling ones first, those of other settings apart; all by {@code -Devergreen.cuts=12}.
   */
  static Stream<Arguments> splits() {
    return Stream.of(
            arguments(Cut.REFUSED, "evidence"),
            arguments(Cut.DROPPED, ""),
            arguments(Cut.REFUSED, ""),
            arguments(Cut.STUCK_TO_IT, ""),
            arguments(Cut.LOST_FROM_IT, ""),
            arguments(Cut.STUCK, ""),
            arguments(Cut.STUCK_FROM_IT, ""),
            arguments(Cut.LOST_TO_IT, ""),
            arguments(Cut.REFUSED_TO_IT, "evidence"),
            arguments(Cut.REFUSED_FROM_IT, "evidence"),
            arguments(Cut.DROPPED, "evidence"),
            arguments(Cut.STUCK, "evidence"))
        .limit(Cut.tried());
  }

  @ParameterizedTest
  @MethodSource("splits")
  void theLargerPartOfASplitClusterGoesOnAndTheSmallerEnds(Cut how, String option)
      throws Exception {
    shared.with(
        Stream.of(option).filter(word -> !word.isEmpty()).toList(),
        cluster -> {
          cluster.write();
          cluster.probe();
          var name = cluster.oldest().name();
          var smaller = cluster.drop(name);
          int mark = smaller.mark();
          shared.network().cut(name, how);
          cluster.probe();
          assertEquals(75, smaller.exitValue());
          assertEquals(
              LedgerNode.LEDGERS,
              smaller.toldSince(mark, "tracker-ended NodeStoppedException").size(),
              "trackers that ended with a clear exception");
          shared.network().heal(name);
          cluster.still();
          cluster.assertAllTrue();
          cluster.start(name);
          cluster.assertAllTrue();
        });
  }
}
