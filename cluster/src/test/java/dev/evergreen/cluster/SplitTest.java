package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.evergreen.cluster.Namespaces.Cut;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Three processes in network namespaces, the oldest of which is cut off from the two others, in
 * each of the ways that wires break; skipped where none can be made.
 */
@Timeout(value = 10, unit = TimeUnit.MINUTES)
final class SplitTest {

  private static final String[] NAMES = {"n1", "n2", "n3"};

  private final Path directory;

  SplitTest(@TempDir Path directory) {
    this.directory = directory;
  }

  /** The more telling ones first; all of them by {@code -Devergreen.cuts=12}. */
  static Stream<Arguments> splits() {
    return Stream.of(
            arguments(Cut.DROPPED, ""),
            arguments(Cut.REFUSED, ""),
            arguments(Cut.REFUSED, "evidence"),
            arguments(Cut.STUCK_TO_IT, ""),
            arguments(Cut.LOST_FROM_IT, ""),
            arguments(Cut.REFUSED_TO_IT, "evidence"),
            arguments(Cut.STUCK, ""),
            arguments(Cut.STUCK_FROM_IT, ""),
            arguments(Cut.LOST_TO_IT, ""),
            arguments(Cut.REFUSED_FROM_IT, "evidence"),
            arguments(Cut.DROPPED, "evidence"),
            arguments(Cut.STUCK, "evidence"))
        .limit(Cut.tried());
  }

  @ParameterizedTest
  @MethodSource("splits")
  void theLargerPartOfASplitClusterGoesOnAndTheSmallerEnds(Cut how, String option)
      throws Exception {
    var options = Stream.of(option).filter(word -> !word.isEmpty()).toList();
    try (var network = Namespaces.orSkip(NAMES);
        var cluster = new Processes(directory, options, network.places(), NAMES)) {
      cluster.start(NAMES);
      cluster.write();
      cluster.probe(1);
      var smaller = cluster.drop("n1"); // the oldest, which coordinates
      int mark = smaller.mark();
      network.cut("n1", how);
      cluster.probe(2);
      assertEquals(75, smaller.exitValue());
      assertEquals(
          LedgerNode.LEDGERS,
          smaller.toldSince(mark, "tracker-ended NodeStoppedException").size(),
          "trackers that ended with a clear exception");
      network.heal("n1");
      cluster.still();
      cluster.assertAllTrue();
      cluster.start("n1");
      cluster.assertAllTrue();
    }
  }
}
