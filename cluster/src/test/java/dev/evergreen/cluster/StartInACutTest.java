package dev.evergreen.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.cluster.Namespaces.Cut;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A process that starts in a network namespace which is cut off; skipped where none can be made.
 */
@Timeout(value = 10, unit = TimeUnit.MINUTES)
final class StartInACutTest {

  @RegisterExtension static final SharedCluster shared = SharedCluster.inNamespaces();

  /** The more telling ones first. */
  static Stream<Cut> cuts() {
    return Stream.of(Cut.DROPPED, Cut.REFUSED, Cut.REFUSED_TO_IT, Cut.REFUSED_FROM_IT, Cut.STUCK)
        .limit(Cut.all() ? Long.MAX_VALUE : 2);
  }

  @ParameterizedTest
  @MethodSource("cuts")
  void theFirstSeedBeginsNoClusterBesideTheOthers(Cut how) throws Exception {
    shared.with(
        List.of(),
        cluster -> {
          cluster.drop("n1").kill();
          shared.network().cut("n1", how);
          cluster.launch("n1");
          var restarted = cluster.drop("n1");
          restarted.await(0, line -> line.startsWith("starting"));
          // Longer than Pekko waits for the others if it may give them up.
          long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
          while (System.nanoTime() - until < 0) {
            cluster.probe();
          }
          assertEquals(List.of(), restarted.toldSince(0, "started"));
          shared.network().heal("n1");
          cluster.take(restarted);
          cluster.awaitStarted("n1");
          cluster.assertAllTrue();
        });
  }
}
